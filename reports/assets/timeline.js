"use strict";
// Operations as boxes, a row a process (or as many rows as a node or a key needs).
const Timeline = { data: null, canvas: null, row: null, rows: [], mask: null, reach: null, focus: null, rowHeight: 18 };
const BADNESS = [1, 3, 2];
const MAX_ROWS = 1500, FAULT_ROW = 18, MAX_FAULT_ROWS = 8;

function initTimeline(data) {
  const canvas = document.getElementById("c-timeline");
  if (!data.ops.t.length) { document.getElementById("timeline").hidden = true; return; }
  Object.assign(Timeline, { data, canvas, mask: new Uint8Array(data.ops.t.length).fill(1), reach: reachOf(data), faultRows: [] });
  groupRows("process");
  fillFilters(data);
  View.listeners.push(drawTimeline, drawMinimap);
  timelinePointer(canvas);
  minimapPointer(document.getElementById("c-minimap"));
  cursorLine(canvas.parentElement);
  drawTimeline(); drawMinimap();
}

// When each operation ends on the screen: an open one (no completion) lasts to the end of the run.
function endOf(data, i) { return data.ops.d[i] < 0 ? data.end * 1e6 : data.ops.t[i] + data.ops.d[i]; }

// reach[i]: the latest end of operations 0..i, so that a search finds the first one that can still be seen.
function reachOf(data) {
  const reach = new Float64Array(data.ops.t.length);
  let latest = 0;
  for (let i = 0; i < reach.length; i++) { latest = Math.max(latest, endOf(data, i)); reach[i] = latest; }
  return reach;
}

function groupRows(by) {
  const { data } = Timeline, { ops } = data;
  if (by === "process") { Timeline.row = ops.lane; Timeline.rows = processLabels(data); }
  else Object.assign(Timeline, packRows(data, by === "node" ? "n" : "k"));
  Timeline.by = by;
  const count = Math.max(Timeline.rows.length, 1);
  Timeline.rowHeight = Math.max(5, Math.min(20, Math.floor(520 / count)));
}

function processLabels(data) {
  const first = new Array(data.lanes).fill(null), many = new Array(data.lanes).fill(0), last = new Array(data.lanes).fill(-1);
  for (let i = 0; i < data.ops.t.length; i++) {
    const lane = data.ops.lane[i], process = data.ops.p[i];
    first[lane] ??= process;
    if (process !== last[lane]) { many[lane]++; last[lane] = process; }
  }
  return first.map((process, lane) => ({ label: many[lane] > 1 ? `${process} +${many[lane] - 1}` : String(process) }));
}

// Greedy packing: each group gets as many rows as it has operations at once.
function packRows(data, column) {
  const { ops, names } = data, row = new Int32Array(ops.t.length), groups = new Map();
  for (let i = 0; i < row.length; i++) {
    const code = ops[column][i];
    let group = groups.get(code);
    if (!group) groups.set(code, group = { code, free: [] });
    let lane = group.free.findIndex((end) => end <= ops.t[i]);
    if (lane < 0) { lane = group.free.length < 64 ? group.free.length : 63; }
    group.free[lane] = endOf(data, i);
    row[i] = lane;
  }
  const rows = [], title = (code) => code < 0 ? "–" : plainKey(names[column][code]);
  const order = [...groups.values()].map((group) => ({ group, name: title(group.code) })).sort((a, b) => inOrder(a.name, b.name));
  for (const { group, name } of order) {
    group.start = rows.length;
    group.free.forEach((_, lane) => rows.push({ label: lane ? "" : name, first: lane === 0 }));
  }
  for (let i = 0; i < row.length; i++) row[i] += groups.get(ops[column][i]).start;
  return { row, rows: rows.slice(0, MAX_ROWS) };
}

function visibleRange() {
  const { ops } = Timeline.data;
  return [lowerBound(Timeline.reach, View.from * 1e6), lowerBound(ops.t, View.to * 1e6 + 1)];
}

function drawTimeline() {
  layFaults();
  const { data, canvas, rows, rowHeight } = Timeline, faults = Timeline.faultRows.length * FAULT_ROW, height = rows.length * rowHeight + faults + 30;
  const area = prepareCanvas(canvas, height), { context } = area, toX = scaleX(area, View.from, View.to);
  const bottom = rows.length * rowHeight + faults + 4;
  drawBands(context, data, toX, area.left, area.right, 0, bottom);
  context.strokeStyle = Ink.rule; context.lineWidth = 1;
  rows.forEach((row, place) => {
    if (row.label && (rowHeight >= 11 || place % Math.ceil(11 / rowHeight) === 0 || row.first)) rowLabel(area, row.label, place * rowHeight + rowHeight / 2 + 2);
    if (row.first && place) { context.beginPath(); context.moveTo(area.left, place * rowHeight + 1.5); context.lineTo(area.right, place * rowHeight + 1.5); context.stroke(); }
  });
  context.save();
  context.beginPath(); context.rect(area.left, 0, area.right - area.left, bottom); context.clip();
  drawOperations(area, toX);
  Timeline.faultRows.forEach((row, place) => drawFaultRow(area, toX, row, bottom - faults + place * FAULT_ROW - 1));
  context.restore();
  if (faults) rowLabel(area, "faults", bottom - faults + FAULT_ROW / 2);
  drawTimeAxis(area, toX, bottom);
}

// Faults in the order of their starts, in as few rows as keep bars and names apart when the whole run is in view; those
// that find no row have their name cut to their bar.  Laid anew when the width has changed.
function layFaults() {
  const { data, canvas } = Timeline, width = canvas.parentElement.clientWidth, right = width - MARGIN;
  if (Timeline.laidFor === width) return;
  const context = canvas.getContext("2d"), toX = scaleX({ left: GUTTER, right }, 0, data.end), rows = [];
  context.font = Ink.font;
  for (const fault of [...data.faults].sort((a, b) => a.start - b.start)) {
    const told = faultText(context, fault, toX(fault.start), toX(fault.end), right);
    let row = rows.find((row) => row.until <= told.from);
    const squeezed = !row && rows.length >= MAX_FAULT_ROWS;
    if (squeezed) row = rows.reduce((best, other) => other.until < best.until ? other : best);
    if (!row) rows.push(row = { bars: [], until: 0 });
    row.bars.push({ fault, squeezed });
    row.until = Math.max(row.until, told.to);
  }
  Object.assign(Timeline, { faultRows: rows.map(({ bars }) => bars), laidFor: width });
}

// A name stands in its bar, else right of it, else left of it; from and to are the ends of both.
function faultText(context, fault, a, b, right) {
  const name = `#${fault.id} ${fault.fault}${fault.state === "installed" ? "" : ", " + fault.state}`, wide = context.measureText(name).width;
  if (wide <= b - a - 6) return { name, x: a + 3, inside: true, from: a, to: b };
  return b + wide + 6 <= right ? { name, x: b + 3, from: a, to: b + wide + 6 } : { name, x: a - wide - 3, from: a - wide - 6, to: b };
}

// What the nemesis did, by name, below the rows: a bar while a fault stood, a mark for one that was not installed.
function drawFaultRow(area, toX, row, y) {
  const { context } = area, { data } = Timeline;
  context.textAlign = "left"; context.textBaseline = "middle";
  for (const { fault, squeezed } of row) {
    const a = Math.max(toX(fault.start), area.left), b = Math.min(Math.max(toX(fault.end), toX(fault.start) + 2), area.right);
    if (b <= a) continue;
    context.fillStyle = Ink.paper; context.fillRect(a, y + 1, b - a, FAULT_ROW - 3);
    context.globalAlpha = fault.state === "installed" ? 1 : 0.4;
    context.fillStyle = data.faultColours[fault.family]; context.fillRect(a, y + 1, b - a, FAULT_ROW - 3);
    context.globalAlpha = 1;
    const told = faultText(context, fault, a, b, area.right), cut = !told.inside && (squeezed || told.x < area.left);
    context.fillStyle = fault.state === "installed" && (told.inside || cut) ? "#10151a" : Ink.ink;
    context.fillText(cut ? clip(context, told.name, b - a - 6) : told.name, cut ? a + 3 : told.x, y + FAULT_ROW / 2);
  }
}

function drawOperations(area, toX) {
  const { data, row, rows, rowHeight, mask } = Timeline, { ops } = data, [first, last] = visibleRange();
  const columns = Math.ceil(area.right - area.left), bins = new Uint8Array(columns * rows.length), wide = [];
  const scale = (area.right - area.left) / ((View.to - View.from) * 1e6), offset = area.left - View.from * 1e6 * scale;
  for (let i = first; i < last; i++) {
    if (!mask[i] || row[i] >= rows.length) continue;
    const end = endOf(data, i), width = (end - ops.t[i]) * scale;
    if (width >= 2) { if (end * scale + offset >= area.left) wide.push(i); continue; }
    const x = (ops.t[i] * scale + offset - area.left) | 0;
    if (x < 0 || x >= columns) continue;
    const place = row[i] * columns + x;
    if (BADNESS[ops.o[i]] > bins[place]) bins[place] = BADNESS[ops.o[i]];
  }
  drawBins(area, bins, columns);
  for (const i of wide) drawBox(area, i, ops.t[i] * scale + offset, endOf(data, i) * scale + offset);
  drawMarked(area, toX);
}

function drawBins(area, bins, columns) {
  const { context } = area, { rows, rowHeight } = Timeline, colours = [null, Ink.ok, Ink["fail-ink"], Ink["info-ink"]];
  for (let row = 0; row < rows.length; row++) {
    for (let x = 0; x < columns; ) {
      const value = bins[row * columns + x];
      let stop = x + 1;
      while (stop < columns && bins[row * columns + stop] === value) stop++;
      if (value) { context.fillStyle = colours[value]; context.fillRect(area.left + x, row * rowHeight + 3, stop - x, rowHeight - 2); }
      x = stop;
    }
  }
}

// ok: full. info: open to the right. fail: hollow, struck through.
function drawBox(area, i, x0, x1) {
  const { data, row, rowHeight } = Timeline, { ops } = data, { context } = area, outcome = ops.o[i];
  const a = Math.max(x0, area.left - 4), b = Math.min(x1, area.right + 4), y = row[i] * rowHeight + 3, h = rowHeight - 3, w = Math.max(b - a, 1);
  const name = OUTCOMES[outcome];
  if (outcome === 2) {
    context.strokeStyle = Ink["fail-ink"]; context.strokeRect(a + 0.5, y + 0.5, Math.max(w - 1, 1), h - 1);
    if (w > 6) { context.beginPath(); context.moveTo(a, y + h); context.lineTo(a + Math.min(w, h), y); context.stroke(); }
  } else {
    context.fillStyle = Ink[name]; context.globalAlpha = outcome ? 0.55 : 0.85;
    context.fillRect(a, y, w, h);
    context.globalAlpha = 1;
    context.fillStyle = Ink[name + "-ink"]; context.fillRect(a, y, 1, h);
    if (outcome === 1 && w > 8) for (let yy = y; yy < y + h; yy += 4) context.fillRect(b - 1, yy, 2, 2);
  }
  if (w > 22 && rowHeight >= 11) {
    context.fillStyle = outcome === 2 || Ink.dark && outcome ? Ink.ink : "#10151a"; context.textAlign = "left"; context.textBaseline = "middle";
    context.fillText(clip(context, boxLabel(i), w - 6), a + 4, y + h / 2 + 0.5);
  }
}

function boxLabel(i, named = true) {
  const { data } = Timeline, kind = data.names.f[data.ops.f[i]], key = named ? plainKey(nameOf(data, "k", i)) : "";
  const value = kind === "read" ? (data.ops.o[i] === 0 ? textOfValue(data, "q", i) || "absent" : "") : textOfValue(data, "v", i);
  return `${kind} ${key ? key + " " : ""}${value}`;
}

// The operations of violations are framed; of the violation in focus thickly, of the others thinly while there is one.
function drawMarked(area, toX) {
  const { data, focus } = Timeline, { context } = area, framed = new Map();
  data.violations.forEach(({ ops }, place) => { for (const index of ops) framed.set(index, place === focus || framed.get(index) === true); });
  for (const [index, focused] of framed) {
    const i = placeOfIndex(index);
    if (i < 0 || !Timeline.mask[i]) continue;
    context.globalAlpha = focus === null || focused ? 1 : 0.45;
    outline(area, toX, i, Ink.mark, focused ? 2.5 : focus === null ? 2 : 1);
    context.globalAlpha = 1;
    if (data.violations.some(({ suspects }, place) => suspects.includes(index) && (focus === null || place === focus))) pointAt(area, toX, i);
  }
  if (View.selected !== null) outline(area, toX, View.selected, Ink.ink, 1.5, 2);
}

function outline(area, toX, i, colour, width, away = 0) {
  const { data, row, rows, rowHeight } = Timeline, { context } = area;
  if (row[i] >= rows.length) return;
  const a = Math.max(toX(data.ops.t[i] / 1e6), area.left - 9), b = Math.min(Math.max(toX(endOf(data, i) / 1e6), a + 3), area.right + 9);
  if (b < area.left || a > area.right) return;
  const box = [a - 1 - away, row[i] * rowHeight + 2 - away, b - a + 2 + 2 * away, rowHeight - 1 + 2 * away];
  context.strokeStyle = Ink.paper; context.lineWidth = width + 2; context.strokeRect(...box);
  context.strokeStyle = colour; context.lineWidth = width; context.strokeRect(...box);
  context.lineWidth = 1;
}

// A small triangle over the operation that cannot be placed.
function pointAt(area, toX, i) {
  const { data, row, rowHeight } = Timeline, x = toX(data.ops.t[i] / 1e6) + 1;
  if (x >= area.left - 4 && x <= area.right) triangle(area.context, x, row[i] * rowHeight + 1, 4);
}

function placeOfIndex(index) {
  const { ops } = Timeline.data, place = lowerBound(ops.i, index);
  return place < ops.i.length && ops.i[place] === index ? place : -1;
}

// The operation under a point of the canvas; the last one drawn wins.
function operationAt(x, y) {
  const { data, canvas, row, rowHeight, mask } = Timeline, line = Math.floor((y - 2) / rowHeight);
  const width = canvas.clientWidth - GUTTER - MARGIN, span = (View.to - View.from) * 1e6, slack = span / width * 3;
  const at = View.from * 1e6 + (x - GUTTER) / width * span, [first, last] = visibleRange();
  let best = -1, distance = Infinity;
  for (let i = first; i < last; i++) {
    if (row[i] !== line || !mask[i] || data.ops.t[i] > at + slack || endOf(data, i) < at - slack) continue;
    const away = Math.max(data.ops.t[i] - at, at - endOf(data, i), 0) - BADNESS[data.ops.o[i]] * 1e-3;
    if (away <= distance) { best = i; distance = away; }
  }
  return best;
}

function drawMinimap() {
  const canvas = document.getElementById("c-minimap"), { data } = Timeline, height = 48;
  const area = prepareCanvas(canvas, height), { context } = area, toX = scaleX(area, 0, View.end);
  context.save();
  context.beginPath(); context.rect(area.left, 0, area.right - area.left, height); context.clip();
  drawBands(context, data, toX, area.left, area.right, 0, height);
  if (data.rates) drawMinimapRates(data, context, toX, height);
  const a = toX(View.from), b = Math.max(toX(View.to), a + 3);
  context.fillStyle = Ink.paper; context.globalAlpha = 0.62;
  context.fillRect(area.left, 0, a - area.left, height); context.fillRect(b, 0, area.right - b, height);
  context.globalAlpha = 1;
  drawViolationMarks(context, data, toX, area.left, area.right, 0, height, 1);
  context.strokeStyle = Ink.link; context.strokeRect(a + 0.5, 0.5, Math.max(b - a - 1, 2), height - 1);
  context.restore();
}

function drawMinimapRates(data, context, toX, height) {
  const { time, width, rows } = data.rates, top = Math.max(1, ...rows[0].map((v, i) => v + rows[1][i] + rows[2][i]));
  time.forEach((middle, i) => {
    const a = toX(middle - width / 2), w = Math.max(toX(Math.min(middle + width / 2, View.end)) - a, 0.75);
    let y = height;
    [0, 2, 1].forEach((outcome) => {
      const h = rows[outcome][i] / top * (height - 6);
      context.fillStyle = Ink[OUTCOMES[outcome] + (outcome ? "-ink" : "")]; context.fillRect(a, y - h, w, h); y -= h;
    });
  });
}

// The page scrolls past the timeline unless it was clicked into, or Ctrl is held; at the whole run there is nothing to widen.
function takesWheel(event, canvas) {
  if (event.shiftKey || !(event.ctrlKey || document.activeElement === canvas)) return false;
  const whole = View.from <= View.start && View.to >= View.end;
  return !(whole && event.deltaY > 0 && Math.abs(event.deltaY) >= Math.abs(event.deltaX)) || event.ctrlKey;
}

function timelinePointer(canvas) {
  const secondsAt = followPointer(canvas, false);
  let drag = null;
  canvas.addEventListener("wheel", (event) => {
    if (!takesWheel(event, canvas)) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) View.move(event.deltaX / canvas.clientWidth * (View.to - View.from));
    else View.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 240))), secondsAt(event));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, from: View.from, to: View.to, moved: false }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const shift = (drag.x - event.clientX) / (canvas.clientWidth - GUTTER - MARGIN) * (drag.to - drag.from);
      if (Math.abs(event.clientX - drag.x) > 3) drag.moved = true;
      if (drag.moved) { hideCard(); View.set(drag.from + shift, drag.to + shift); }
      return;
    }
    const box = canvas.getBoundingClientRect(), i = operationAt(event.clientX - box.left, event.clientY - box.top);
    showCard(i < 0 ? null : describe(i), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) {
      const box = canvas.getBoundingClientRect(), i = operationAt(event.clientX - box.left, event.clientY - box.top);
      if (i >= 0) pin(i); else select(null);
    }
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("pointerleave", hideCard);
}

function minimapPointer(canvas) {
  const at = (event) => { const box = canvas.getBoundingClientRect(); return (event.clientX - box.left - GUTTER) / (box.width - GUTTER - MARGIN) * View.end; };
  let held = null;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    const seconds = at(event), edge = View.end * 8 / canvas.clientWidth;
    if (Math.abs(seconds - View.from) < edge) held = { edge: "from" };
    else if (Math.abs(seconds - View.to) < edge) held = { edge: "to" };
    else {
      const span = View.to - View.from;
      if (span >= View.end * 0.999) { held = { fresh: seconds }; return; }
      if (seconds < View.from || seconds > View.to) View.set(seconds - span / 2, seconds + span / 2);
      held = { grip: seconds - View.from };
    }
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return;
    const seconds = at(event);
    if (held.edge === "from") View.set(Math.min(seconds, View.to - 1e-3), View.to);
    else if (held.edge === "to") View.set(View.from, Math.max(seconds, View.from + 1e-3));
    else if (held.fresh !== undefined) { if (Math.abs(seconds - held.fresh) > View.end / 200) View.set(Math.min(seconds, held.fresh), Math.max(seconds, held.fresh)); }
    else { const span = View.to - View.from; View.set(seconds - held.grip, seconds - held.grip + span); }
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { held = null; });
}
