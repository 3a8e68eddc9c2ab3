"use strict";
// The packed data: base64 of deflate of [u32 head length | head JSON | byte planes]. See reports/pack.py.
function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function column(entry, bytes, offset) {
  const { n, width } = entry, narrow = width <= 4 && !entry.wide, out = narrow ? new Int32Array(n) : new Float64Array(n);
  if (width > 4) widen(out, bytes, offset, n, width);
  else {
    for (let plane = 0; plane < width; plane++)
      for (let i = 0, place = offset + plane * n, shift = 8 * plane; i < n; i++) out[i] |= bytes[place + i] << shift;
    for (let i = 0; i < n; i++) { const raw = out[i] | 0; out[i] = (raw >>> 1) ^ -(raw & 1); }
  }
  if (entry.delta) for (let i = 1; i < n; i++) out[i] += out[i - 1];
  return out;
}

// More than 32 bits: what is exact in a double, without its bit operations.
function widen(out, bytes, offset, n, width) {
  for (let i = 0; i < n; i++) {
    let raw = 0, weight = 1;
    for (let plane = 0; plane < width; plane++, weight *= 256) raw += bytes[offset + plane * n + i] * weight;
    out[i] = raw % 2 ? -(raw + 1) / 2 : raw / 2;
  }
}

async function unpack(text) {
  const bytes = await inflate(bytesOfBase64(text.trim()));
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const columns = {};
  let offset = 4 + length;
  for (const entry of head.columns) {
    columns[entry.name] = column(entry, bytes, offset);
    offset += entry.n * entry.width;
  }
  return { ops: columns, ...head.data };
}

function textOfValue(data, letter, i) {
  const { ops, names } = data, kind = ops[letter + "k"][i], a = ops[letter + "a"][i], b = ops[letter + "b"][i];
  if (kind === 1) return String(a);
  if (kind === 2) return `${a} → ${b}`;
  if (kind === 3) return names.texts[a] ?? "…";
  if (kind === 4) return `absent → ${b}`;
  return "";
}

function nameOf(data, column, i) { const code = data.ops[column][i]; return code < 0 ? "" : data.names[column][code]; }

function plainKey(text) { return text.length > 1 && text[0] === '"' && text.at(-1) === '"' ? text.slice(1, -1) : text; }
