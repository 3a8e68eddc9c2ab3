// The latency scatter: shapes while they are distinguishable, else a grid of cells in which the worst outcome wins.

import { Ink } from "./canvas.js";
import { describe, hideCard, showCard } from "./details.js";
import { BADNESS, lowerBound, OUTCOMES } from "./operations.js";
import { logAxis, makePlot } from "./plots.js";
import { pin, reveal } from "./selection.js";
import { View } from "./view.js";

export function scatterChart(data) {
  const { ops } = data;
  const count = ops.t.length;
  if (!count) {
    document.getElementById("c-scatter").parentElement.hidden = true;
    return;
  }
  let top = 1;
  let bottom = Infinity;
  for (let i = 0; i < count; i++)
    if (ops.d[i] > 0) {
      top = Math.max(top, ops.d[i]);
      bottom = Math.min(bottom, ops.d[i]);
    }
  const scale = {
    distr: 3,
    range: () => [
      10 ** Math.floor(Math.log10(Math.max(bottom / 1000, 0.01))),
      10 ** Math.ceil(Math.log10(Math.max(top / 1000, 1.01))),
    ],
  };
  const plot = makePlot(
    data,
    "c-scatter",
    240,
    [{ label: "latency", show: true, points: { show: false }, paths: () => null }],
    [
      [0, View.end],
      [Math.max(bottom, 10) / 1000, top / 1000],
    ],
    { scale, axis: logAxis, scatter: (u, context, ratio) => drawScatter(data, u, context, ratio) },
  );
  scatterPointer(data, plot);
}

// The operation whose mark is nearest to the pointer, within 8 pixels; the worse one of two on the same spot.
function scatterAt(data, u, x, y) {
  const { ops } = data;
  const scale = ((View.to - View.from) / u.over.clientWidth) * 1e6;
  const at = View.from * 1e6 + x * scale;
  const reach = 8;
  const yTop = Math.log10(u.scales.y.max);
  const perPixel = (yTop - Math.log10(u.scales.y.min)) / u.over.clientHeight;
  let best = -1;
  let nearest = reach * reach;
  for (let i = lowerBound(ops.t, at - reach * scale), last = lowerBound(ops.t, at + reach * scale); i < last; i++) {
    if (ops.d[i] < 0) continue;
    const dx = (ops.t[i] - at) / scale;
    const dy = (yTop - Math.log10(Math.max(ops.d[i], 1) / 1000)) / perPixel - y;
    const away = dx * dx + dy * dy - BADNESS[ops.o[i]] * 0.1;
    if (away < nearest) {
      best = i;
      nearest = away;
    }
  }
  return best;
}

function scatterPointer(data, plot) {
  const { over } = plot;
  const at = (event) => {
    const box = over.getBoundingClientRect();
    return scatterAt(data, plot, event.clientX - box.left, event.clientY - box.top);
  };
  let down = null;
  over.addEventListener("pointermove", (event) => {
    const i = event.buttons ? -1 : at(event);
    over.style.cursor = i < 0 ? "" : "pointer";
    showCard(i < 0 ? null : describe(i), event.clientX, event.clientY);
  });
  over.addEventListener("pointerdown", (event) => {
    down = event.clientX;
  });
  over.addEventListener("pointerup", (event) => {
    const i = down !== null && Math.abs(event.clientX - down) <= 3 ? at(event) : -1;
    down = null;
    if (i >= 0) {
      hideCard();
      pin(i);
      reveal(i);
    }
  });
  over.addEventListener("pointerleave", hideCard);
}

function drawScatter(data, u, context, ratio) {
  const { ops } = data;
  const box = u.bbox;
  const first = lowerBound(ops.t, View.from * 1e6);
  const last = lowerBound(ops.t, View.to * 1e6);
  const yTop = Math.log10(u.scales.y.max);
  const yBottom = Math.log10(u.scales.y.min);
  const across = box.width / ((View.to - View.from) * 1e6);
  const start = View.from * 1e6;
  const down = box.height / (yTop - yBottom);
  context.beginPath();
  context.rect(box.left, box.top, box.width, box.height);
  context.clip();
  if (last - first > 20000) {
    drawDense(ops, context, box, { start, across, yTop, down }, first, last, Math.max(2, Math.round(1.5 * ratio)));
    return;
  }
  const x = (i) => box.left + (ops.t[i] - start) * across;
  const y = (i) => box.top + (yTop - Math.log10(Math.max(ops.d[i], 1) / 1000)) * down;
  for (const outcome of [0, 2, 1]) {
    context.fillStyle = context.strokeStyle = Ink[OUTCOMES[outcome] + (outcome ? "-ink" : "")];
    context.globalAlpha = outcome ? 1 : 0.75;
    context.lineWidth = ratio;
    for (let i = first; i < last; i++)
      if (ops.o[i] === outcome && ops.d[i] >= 0) mark(context, data.names.f[ops.f[i]], outcome, x(i), y(i), 2 * ratio);
  }
}

// Kind by form (read round, write square, otherwise a triangle); info and fail are hollow as well as coloured.
function mark(context, kind, outcome, x, y, r) {
  context.beginPath();
  if (kind === "read") context.arc(x, y, r, 0, 7);
  else if (kind === "write") context.rect(x - r, y - r, 2 * r, 2 * r);
  else {
    context.moveTo(x, y - r * 1.3);
    context.lineTo(x + r * 1.2, y + r);
    context.lineTo(x - r * 1.2, y + r);
    context.closePath();
  }
  if (outcome === 0) context.fill();
  else context.stroke();
}

// The heights of latencies by their leading bits, 64 steps an octave (a third of a pixel): no logarithm an operation.
function rowTable(yTop, down, cell) {
  const rows = new Int32Array(32 * 64);
  for (let place = 0; place < rows.length; place++) {
    const octave = place >> 6;
    const microseconds = 2 ** octave * (1 + ((place & 63) + 0.5) / 64);
    rows[place] = Math.floor(((yTop - Math.log10(microseconds / 1000)) * down) / cell);
  }
  return rows;
}

function drawDense(ops, context, box, { start, across, yTop, down }, first, last, cell) {
  const columns = Math.ceil(box.width / cell);
  const rows = Math.ceil(box.height / cell);
  const worst = new Uint8Array(columns * rows);
  const many = new Uint16Array(columns * rows);
  const { t, d, o } = ops;
  const heights = rowTable(yTop, down, cell);
  const scale = across / cell;
  for (let i = first; i < last; i++) {
    const took = d[i];
    if (took < 0) continue;
    const octave = took < 1 ? 0 : 31 - Math.clz32(took);
    const cx = ((t[i] - start) * scale) | 0;
    const cy =
      heights[took < 1 ? 0 : (octave << 6) + ((octave >= 6 ? took >> (octave - 6) : took << (6 - octave)) & 63)];
    if (cx < 0 || cy < 0 || cx >= columns || cy >= rows) continue;
    const place = cy * columns + cx;
    const bad = BADNESS[o[i]];
    if (bad > worst[place]) worst[place] = bad;
    if (many[place] < 65535) many[place]++;
  }
  const colours = [null, Ink.ok, Ink["fail-ink"], Ink["info-ink"]];
  for (let bad = 1; bad <= 3; bad++) {
    context.fillStyle = colours[bad];
    for (let place = 0; place < worst.length; place++) {
      if (worst[place] !== bad) continue;
      context.globalAlpha = bad > 1 ? 1 : Math.min(1, 0.35 + many[place] / 12);
      context.fillRect(box.left + (place % columns) * cell, box.top + ((place / columns) | 0) * cell, cell, cell);
    }
  }
}
