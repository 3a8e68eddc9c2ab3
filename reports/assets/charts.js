"use strict";
// The line charts and the latency scatter, by uPlot; all of them on the shared time axis.
const Charts = { plots: [], syncing: false };

function axes(options) {
  return [
    { stroke: () => Ink.quiet, grid: { show: false }, ticks: { stroke: () => Ink.rule, size: 4 }, font: Ink.font, size: 28,
      splits: (u) => timeTicks(u.width - GUTTER - MARGIN),
      values: (_, ticks) => ticks.map((tick) => timeText(tick, ticks.length > 1 ? ticks[1] - ticks[0] : 1)) },
    { stroke: () => Ink.quiet, grid: { stroke: () => Ink.rule, width: 1 }, ticks: { show: false }, font: Ink.font, size: GUTTER, ...options },
  ];
}

function makePlot(data, id, height, series, values, more) {
  const host = document.getElementById(id);
  const plot = new uPlot({
    width: Math.max(host.clientWidth, 200), height, padding: [8, MARGIN, 0, 0], pxAlign: 1,
    cursor: { sync: { key: "run", setSeries: false }, drag: { x: true, y: false, setScale: false }, points: { show: !more.scatter }, y: Boolean(more.scatter) },
    scales: { x: { time: false, range: () => [View.from, View.to] }, y: more.scale ?? { range: (_, low, high) => [0, Math.max(high, 1) * 1.05] } },
    axes: axes(more.axis), series: [{ label: "second", value: (_, v) => v === null || v === undefined ? "–" : v.toFixed(2) }, ...series],
    legend: { show: !more.scatter, live: true },
    hooks: {
      drawClear: [(u) => {
        const ratio = uPlot.pxRatio, context = u.ctx, box = u.bbox;
        (more.background ?? drawBands)(context, data, (seconds) => u.valToPos(seconds, "x", true), box.left, box.left + box.width, box.top, box.height);
        drawPhases(context, data, (seconds) => u.valToPos(seconds, "x", true), box.left, box.left + box.width, box.top, box.height, ratio);
        if (more.scatter) { context.save(); more.scatter(u, context, ratio); context.restore(); }
      }],
      draw: [(u) => {
        const box = u.bbox, toX = (seconds) => u.valToPos(seconds, "x", true);
        namePhases(u.ctx, data, toX, box.left, box.left + box.width, box.top, uPlot.pxRatio);
        drawViolationMarks(u.ctx, data, toX, box.left, box.left + box.width, box.top, box.height, uPlot.pxRatio);
      }],
      setSelect: [(u) => {
        if (u.select.width > 4) View.set(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
      setCursor: [(u) => {
        if (Charts.syncing || !u.over.matches(":hover")) return;
        Charts.syncing = true;
        View.point(u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null);
        Charts.syncing = false;
      }],
    },
  }, values, host);
  plot.over.addEventListener("dblclick", () => View.whole());
  plot.over.addEventListener("pointerleave", () => View.point(null));
  Charts.plots.push({ plot, host, height });
  drawKeys(plot);
  return plot;
}

// The legend shows each line as it is drawn, dashes too: colour alone does not tell quantiles, or replicas in print.
function drawKeys(plot) {
  plot.root.querySelectorAll(".u-legend .u-series").forEach((row, place) => {
    const { stroke, dash, width } = plot.series[place], marker = row.querySelector(".u-marker");
    if (!marker || typeof stroke !== "function") return;
    const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg"), drawn = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const set = (element, values) => { for (const [name, value] of Object.entries(values)) element.setAttribute(name, value); };
    set(picture, { viewBox: "0 0 28 10", class: "line-key", "aria-hidden": "true" });
    set(drawn, { x1: 0, x2: 28, y1: 5, y2: 5, stroke: stroke(plot, place), "stroke-width": width, "stroke-dasharray": (dash ?? []).join(" ") || "none" });
    picture.append(drawn);
    marker.replaceChildren(picture);
  });
}

function line(label, colour, more) {
  return { label, stroke: colour, width: 1.25, points: { show: false }, spanGaps: false, value: (_, v) => v === null || v === undefined ? "–" : v.toLocaleString("en", { maximumFractionDigits: 1 }), ...more };
}

function logScale() {
  return { distr: 3, range: (_, low, high) => [Math.max(10 ** Math.floor(Math.log10(Math.max(low, 0.01))), 0.01), 10 ** Math.ceil(Math.log10(Math.max(high, 1.01)))] };
}

const decades = (_, ticks) => ticks.map((tick) => Math.abs(Math.log10(tick) % 1) < 1e-6 ? tick : null);
const logAxis = { filter: decades, grid: { stroke: () => Ink.rule, width: 1, filter: decades }, values: (_, ticks) => ticks.map((tick) => Math.abs(Math.log10(tick) % 1) < 1e-6 ? tick.toLocaleString("en") : null) };

function initCharts(data) {
  const { rates, quantiles, progress } = data;
  scatterChart(data);
  if (rates) makePlot(data, "c-rate", 170, OUTCOMES.map((name) => line(name, () => Ink[name + "-ink"], { dash: name === "ok" ? [] : name === "info" ? [6, 3] : [2, 3], paths: uPlot.paths.stepped({ align: 1 }) })),
    [rates.time.map((t) => t - rates.width / 2), ...rates.rows], {});
  if (quantiles) makePlot(data, "c-quantiles", 170, quantiles.names.map((name, i) => line(name, () => Ink["ok-ink"], { width: [2, 1.25, 1, 1][i], dash: [[], [8, 3], [4, 3], [1, 3]][i] })),
    [quantiles.time, ...quantiles.rows], { scale: logScale(), axis: logAxis });
  if (progress) progressCharts(data, progress);
  hideEmpty(["c-rate", "c-quantiles", "c-applied", "c-lag"]);
  shareView();
}

// Every chart follows the shared window and the shared cursor.
function shareView() {
  View.listeners.push(() => { for (const { plot } of Charts.plots) plot.setScale("x", { min: View.from, max: View.to }); });
  View.cursorListeners.push((seconds) => {
    if (Charts.syncing || !Charts.plots.length) return;
    Charts.syncing = true;
    for (const { plot } of Charts.plots)
      plot.setCursor(seconds === null ? { left: -10, top: -10 } : { left: plot.valToPos(seconds, "x"), top: 10 }, false);
    Charts.syncing = false;
  });
}

// Replicas often have the same index: what is drawn first is wider and each has a dash of its own, so that lines on top
// of each other show both.
const NODE_DASHES = [[], [14, 5], [7, 5], [], [5, 7]], NODE_WIDTHS = [5, 4, 3.25, 2.5, 2.5];

function progressCharts(data, progress) {
  const series = () => data.nodes.map((node, i) => line(node.name, () => node.colour, { width: NODE_WIDTHS[Math.min(i, NODE_WIDTHS.length - 1)], dash: NODE_DASHES[i % NODE_DASHES.length] }));
  const thousands = (kind) => [progress.time, ...progress[kind].map((row) => row.map((v) => v === null ? null : v / 1000))];
  const plot = makePlot(data, "c-applied", 190, series(), thousands("applied"), {});
  makePlot(data, "c-lag", 150, series(), [progress.time, ...progress.lag], {});
  document.getElementById("progress-kind").addEventListener("input", (event) => plot.setData(thousands(event.target.value)));
}

function hideEmpty(ids) {
  for (const id of ids) { const host = document.getElementById(id); if (!host.firstChild) host.parentElement.hidden = true; }
}

function resizeCharts() { for (const { plot, host, height } of Charts.plots) { plot.setSize({ width: Math.max(host.clientWidth, 200), height }); drawKeys(plot); } }

// Shapes while they can be told apart; a grid of small cells, in which the worst outcome wins, when they cannot.
function scatterChart(data) {
  const { ops } = data, count = ops.t.length;
  if (!count) { document.getElementById("c-scatter").parentElement.hidden = true; return; }
  let top = 1, bottom = Infinity;
  for (let i = 0; i < count; i++) if (ops.d[i] > 0) { top = Math.max(top, ops.d[i]); bottom = Math.min(bottom, ops.d[i]); }
  const scale = { distr: 3, range: () => [10 ** Math.floor(Math.log10(Math.max(bottom / 1000, 0.01))), 10 ** Math.ceil(Math.log10(Math.max(top / 1000, 1.01)))] };
  const plot = makePlot(data, "c-scatter", 240, [{ label: "latency", show: true, points: { show: false }, paths: () => null }],
    [[0, View.end], [Math.max(bottom, 10) / 1000, top / 1000]],
    { scale, axis: logAxis, scatter: (u, context, ratio) => drawScatter(data, u, context, ratio) });
  scatterPointer(data, plot);
}

// The operation whose mark is nearest to the pointer, within 8 pixels; the worse one of two on the same spot.
function scatterAt(data, u, x, y) {
  const { ops } = data, scale = (View.to - View.from) / u.over.clientWidth * 1e6, at = View.from * 1e6 + x * scale, reach = 8;
  const yTop = Math.log10(u.scales.y.max), perPixel = (yTop - Math.log10(u.scales.y.min)) / u.over.clientHeight;
  let best = -1, nearest = reach * reach;
  for (let i = lowerBound(ops.t, at - reach * scale), last = lowerBound(ops.t, at + reach * scale); i < last; i++) {
    if (ops.d[i] < 0) continue;
    const dx = (ops.t[i] - at) / scale, dy = (yTop - Math.log10(Math.max(ops.d[i], 1) / 1000)) / perPixel - y, away = dx * dx + dy * dy - BADNESS[ops.o[i]] * 0.1;
    if (away < nearest) { best = i; nearest = away; }
  }
  return best;
}

function scatterPointer(data, plot) {
  const { over } = plot, at = (event) => { const box = over.getBoundingClientRect(); return scatterAt(data, plot, event.clientX - box.left, event.clientY - box.top); };
  let down = null;
  over.addEventListener("pointermove", (event) => {
    const i = event.buttons ? -1 : at(event);
    over.style.cursor = i < 0 ? "" : "pointer";
    showCard(i < 0 ? null : describe(i), event.clientX, event.clientY);
  });
  over.addEventListener("pointerdown", (event) => { down = event.clientX; });
  over.addEventListener("pointerup", (event) => {
    const i = down !== null && Math.abs(event.clientX - down) <= 3 ? at(event) : -1;
    down = null;
    if (i >= 0) { hideCard(); Details.pins = [i, ...Details.pins.filter((other) => other !== i)].slice(0, Details.most); reveal(i); }
  });
  over.addEventListener("pointerleave", hideCard);
}

function drawScatter(data, u, context, ratio) {
  const { ops } = data, box = u.bbox, first = lowerBound(ops.t, View.from * 1e6), last = lowerBound(ops.t, View.to * 1e6);
  const yTop = Math.log10(u.scales.y.max), yBottom = Math.log10(u.scales.y.min);
  const across = box.width / ((View.to - View.from) * 1e6), start = View.from * 1e6, down = box.height / (yTop - yBottom);
  context.beginPath(); context.rect(box.left, box.top, box.width, box.height); context.clip();
  if (last - first > 20000) { drawDense(ops, context, box, { start, across, yTop, down }, first, last, Math.max(2, Math.round(1.5 * ratio))); return; }
  const x = (i) => box.left + (ops.t[i] - start) * across, y = (i) => box.top + (yTop - Math.log10(Math.max(ops.d[i], 1) / 1000)) * down;
  for (const outcome of [0, 2, 1]) {
    context.fillStyle = context.strokeStyle = Ink[OUTCOMES[outcome] + (outcome ? "-ink" : "")];
    context.globalAlpha = outcome ? 1 : 0.75;
    context.lineWidth = ratio;
    for (let i = first; i < last; i++) if (ops.o[i] === outcome && ops.d[i] >= 0) mark(context, data.names.f[ops.f[i]], outcome, x(i), y(i), 2 * ratio);
  }
}

// Kind by form (read round, write square, otherwise a triangle); info and fail are hollow as well as coloured.
function mark(context, kind, outcome, x, y, r) {
  context.beginPath();
  if (kind === "read") context.arc(x, y, r, 0, 7);
  else if (kind === "write") context.rect(x - r, y - r, 2 * r, 2 * r);
  else { context.moveTo(x, y - r * 1.3); context.lineTo(x + r * 1.2, y + r); context.lineTo(x - r * 1.2, y + r); context.closePath(); }
  if (outcome === 0) context.fill(); else context.stroke();
}

// The heights of latencies by their leading bits, 64 steps an octave (a third of a pixel): no logarithm an operation.
function rowTable(yTop, down, cell) {
  const rows = new Int32Array(32 * 64);
  for (let place = 0; place < rows.length; place++) {
    const octave = place >> 6, microseconds = 2 ** octave * (1 + ((place & 63) + 0.5) / 64);
    rows[place] = Math.floor((yTop - Math.log10(microseconds / 1000)) * down / cell);
  }
  return rows;
}

function drawDense(ops, context, box, { start, across, yTop, down }, first, last, cell) {
  const columns = Math.ceil(box.width / cell), rows = Math.ceil(box.height / cell), worst = new Uint8Array(columns * rows), many = new Uint16Array(columns * rows);
  const { t, d, o } = ops, heights = rowTable(yTop, down, cell), scale = across / cell;
  for (let i = first; i < last; i++) {
    const took = d[i];
    if (took < 0) continue;
    const octave = took < 1 ? 0 : 31 - Math.clz32(took), cx = (t[i] - start) * scale | 0;
    const cy = heights[took < 1 ? 0 : (octave << 6) + ((octave >= 6 ? took >> (octave - 6) : took << (6 - octave)) & 63)];
    if (cx < 0 || cy < 0 || cx >= columns || cy >= rows) continue;
    const place = cy * columns + cx, bad = BADNESS[o[i]];
    if (bad > worst[place]) worst[place] = bad;
    if (many[place] < 65535) many[place]++;
  }
  const colours = [null, Ink.ok, Ink["fail-ink"], Ink["info-ink"]];
  for (let bad = 1; bad <= 3; bad++) {
    context.fillStyle = colours[bad];
    for (let place = 0; place < worst.length; place++) {
      if (worst[place] !== bad) continue;
      context.globalAlpha = bad > 1 ? 1 : Math.min(1, 0.35 + many[place] / 12);
      context.fillRect(box.left + (place % columns) * cell, box.top + (place / columns | 0) * cell, cell, cell);
    }
  }
}
