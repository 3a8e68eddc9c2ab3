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
  const { n, width } = entry, narrow = width <= 4 && !entry.wide;
  const out = narrow ? new Int32Array(n) : new Float64Array(n);
  let sum = 0;
  for (let i = 0; i < n; i++) {
    let value;
    if (width <= 4) {
      let raw = 0;
      for (let plane = 0; plane < width; plane++) raw |= bytes[offset + plane * n + i] << (8 * plane);
      value = (raw >>> 1) ^ -(raw & 1);
    } else {
      let raw = 0, weight = 1;
      for (let plane = 0; plane < width; plane++, weight *= 256) raw += bytes[offset + plane * n + i] * weight;
      value = raw % 2 ? -(raw + 1) / 2 : raw / 2;
    }
    if (entry.delta) { sum += value; out[i] = sum; } else out[i] = value;
  }
  return out;
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
