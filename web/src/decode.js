// Decodes the packed data: base64 of deflate of [u32 head length | head JSON | byte planes]. See reports/page/pack.py.

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function column(entry, bytes, offset) {
  const { n, width, delta } = entry;
  if (width > 4 || entry.wide) return wideColumn(entry, bytes, offset);
  const out = new Int32Array(n);
  const at = (plane) => bytes.subarray(offset + plane * n, offset + (plane + 1) * n);
  const [a, b, c, d] = [0, 1, 2, 3].map((plane) => (plane < width ? at(plane) : null));
  if (width === 1) for (let i = 0; i < n; i++) out[i] = (a[i] >>> 1) ^ -(a[i] & 1);
  else if (width === 2)
    for (let i = 0; i < n; i++) {
      const raw = a[i] | (b[i] << 8);
      out[i] = (raw >>> 1) ^ -(raw & 1);
    }
  else
    for (let i = 0; i < n; i++) {
      const raw = a[i] | (b[i] << 8) | (c[i] << 16) | (d ? d[i] << 24 : 0);
      out[i] = (raw >>> 1) ^ -(raw & 1);
    }
  if (delta) for (let i = 1, sum = out[0]; i < n; i++) out[i] = sum = (sum + out[i]) | 0;
  return out;
}

// Numbers of more than 32 bits, as doubles, which are exact up to 2 ** 53; bit operations would cut them.
function wideColumn({ n, width, delta }, bytes, offset) {
  const out = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let raw = 0;
    let weight = 1;
    for (let plane = 0; plane < width; plane++, weight *= 256) raw += bytes[offset + plane * n + i] * weight;
    out[i] = raw % 2 ? -(raw + 1) / 2 : raw / 2;
  }
  if (delta) for (let i = 1; i < n; i++) out[i] += out[i - 1];
  return out;
}

// A column is unpacked when it is first read: the first drawing needs only half of them.
function later(columns, name, make) {
  Object.defineProperty(columns, name, {
    configurable: true,
    enumerable: true,
    get() {
      const value = make();
      Object.defineProperty(columns, name, { value, enumerable: true });
      return value;
    },
  });
}

// The process of each operation: of each row of the timeline only its changes are stored.
function processes({ lane, p1, ps }) {
  const out = new Int32Array(lane.length);
  const current = [];
  for (let i = 0, next = 0; i < out.length; i++) {
    if (p1[i]) current[lane[i]] = ps[next++];
    out[i] = current[lane[i]];
  }
  return out;
}

export async function unpack(text) {
  const bytes = await inflate(bytesOfBase64(text.trim()));
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const columns = {};
  let offset = 4 + length;
  for (const entry of head.columns) {
    const from = offset;
    later(columns, entry.name, () => column(entry, bytes, from));
    offset += entry.n * entry.width;
  }
  if ("lane" in columns) later(columns, "p", () => processes(columns));
  return { ops: columns, ...head.data };
}
