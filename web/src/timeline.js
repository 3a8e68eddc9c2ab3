// The timeline: operations as boxes, a row a process, a node or a key.

import {
  clip,
  cursorLine,
  drawTimeAxis,
  followPointer,
  GUTTER,
  Ink,
  MARGIN,
  prepareCanvas,
  rowLabel,
  scaleX,
} from "./canvas.js";
import { describe, hideCard, showCard } from "./details.js";
import { drawFaultRow, FAULT_ROW, layFaults } from "./fault_rows.js";
import { drawHits } from "./hits.js";
import { drawBands, triangle } from "./marks.js";
import { drawMinimap, minimapPointer } from "./minimap.js";
import {
  BADNESS,
  boxLabel,
  endOf,
  OUTCOMES,
  placeOfIndex,
  reachOf,
  stepsOf,
  Timeline,
  visibleRange,
} from "./operations.js";
import { drawBuckets, fillBins, tellHeld } from "./pyramid.js";
import { chooseRange } from "./range_table.js";
import { groupRows } from "./rows.js";
import { pin, select } from "./selection.js";
import { severalFingers, wireTouch } from "./touch.js";
import { View } from "./view.js";

// The card under the pointer lists this many steps of a transaction; a pinned card lists all of them.
const MOST_STEPS = 12;

export function initTimeline(data) {
  const canvas = document.getElementById("c-timeline");
  if (!data.ops.t.length) {
    document.getElementById("timeline").hidden = true;
    return;
  }
  Object.assign(Timeline, {
    data,
    canvas,
    mask: new Uint8Array(data.ops.t.length).fill(1),
    reach: reachOf(data),
    faultRows: [],
  });
  groupRows("process");
  tellHeld(data);
  View.listeners.push(drawTimeline, drawMinimap);
  timelinePointer(canvas);
  minimapPointer(document.getElementById("c-minimap"));
  cursorLine(canvas.parentElement);
  drawTimeline();
  drawMinimap();
}

export function drawTimeline() {
  const { data, canvas, rows, rowHeight } = Timeline;
  const width = canvas.parentElement.clientWidth;
  if (Timeline.laidFor !== width)
    Object.assign(Timeline, { faultRows: layFaults(data, canvas.getContext("2d"), width), laidFor: width });
  const faults = Timeline.faultRows.length * FAULT_ROW;
  const height = rows.length * rowHeight + faults + 30;
  const area = prepareCanvas(canvas, height);
  const { context } = area;
  const toX = scaleX(area, View.from, View.to);
  const bottom = rows.length * rowHeight + faults + 4;
  drawBands(context, data, toX, area.left, area.right, 0, bottom);
  context.strokeStyle = Ink.rule;
  context.lineWidth = 1;
  rows.forEach((row, place) => {
    if (row.label && (rowHeight >= 11 || place % Math.ceil(11 / rowHeight) === 0 || row.first))
      rowLabel(area, row.label, place * rowHeight + rowHeight / 2 + 2);
    if (row.first && place) {
      context.beginPath();
      context.moveTo(area.left, place * rowHeight + 1.5);
      context.lineTo(area.right, place * rowHeight + 1.5);
      context.stroke();
    }
  });
  context.save();
  context.beginPath();
  context.rect(area.left, 0, area.right - area.left, bottom);
  context.clip();
  drawRange(context, toX, bottom);
  drawOperations(area, toX);
  for (const [place, row] of Timeline.faultRows.entries())
    drawFaultRow(data, area, toX, row, bottom - faults + place * FAULT_ROW - 1);
  context.restore();
  if (faults) rowLabel(area, "faults", bottom - faults + FAULT_ROW / 2);
  drawTimeAxis(area, toX, bottom);
}

// The stretch that is selected for the table of operations.
function drawRange(context, toX, bottom) {
  if (!Timeline.range) return;
  const [a, b] = Timeline.range.map(toX);
  context.globalAlpha = 0.16;
  context.fillStyle = Ink.link;
  context.fillRect(a, 0, b - a, bottom);
  context.globalAlpha = 1;
}

function drawOperations(area, toX) {
  const { data, row, rows, mask } = Timeline;
  const { ops } = data;
  const [first, last] = visibleRange();
  const columns = Math.ceil(area.right - area.left);
  const bins = new Uint8Array(columns * rows.length);
  fillBins(bins, columns);
  drawBuckets(area, columns);
  const wide = [];
  const scale = (area.right - area.left) / ((View.to - View.from) * 1e6);
  const offset = area.left - View.from * 1e6 * scale;
  for (let i = first; i < last; i++) {
    if (!mask[i] || row[i] >= rows.length) continue;
    const end = endOf(data, i);
    const width = (end - ops.t[i]) * scale;
    if (width >= 2) {
      if (end * scale + offset >= area.left) wide.push(i);
      continue;
    }
    const x = (ops.t[i] * scale + offset - area.left) | 0;
    if (x < 0 || x >= columns) continue;
    const place = row[i] * columns + x;
    if (BADNESS[ops.o[i]] > bins[place]) bins[place] = BADNESS[ops.o[i]];
  }
  drawBins(area, bins, columns);
  for (const i of wide) drawBox(area, i, ops.t[i] * scale + offset, endOf(data, i) * scale + offset);
  drawHits(area, toX);
  drawMarked(area, toX);
}

function drawBins(area, bins, columns) {
  const { context } = area;
  const { rows, rowHeight } = Timeline;
  const colours = [null, Ink.ok, Ink["fail-ink"], Ink["info-ink"]];
  for (let row = 0; row < rows.length; row++) {
    for (let x = 0; x < columns; ) {
      const value = bins[row * columns + x];
      let stop = x + 1;
      while (stop < columns && bins[row * columns + stop] === value) stop++;
      if (value) {
        context.fillStyle = colours[value];
        context.fillRect(area.left + x, row * rowHeight + 3, stop - x, rowHeight - 2);
      }
      x = stop;
    }
  }
}

// ok: full. info: open to the right. fail: hollow, struck through.
function drawBox(area, i, x0, x1) {
  const { data, row, rowHeight } = Timeline;
  const { ops } = data;
  const { context } = area;
  const outcome = ops.o[i];
  const a = Math.max(x0, area.left - 4);
  const b = Math.min(x1, area.right + 4);
  const y = row[i] * rowHeight + 3;
  const h = rowHeight - 3;
  const w = Math.max(b - a, 1);
  const name = OUTCOMES[outcome];
  if (outcome === 2) {
    context.strokeStyle = Ink["fail-ink"];
    context.strokeRect(a + 0.5, y + 0.5, Math.max(w - 1, 1), h - 1);
    if (w > 6) {
      context.beginPath();
      context.moveTo(a, y + h);
      context.lineTo(a + Math.min(w, h), y);
      context.stroke();
    }
  } else {
    context.fillStyle = Ink[name];
    context.globalAlpha = outcome ? 0.55 : 0.85;
    context.fillRect(a, y, w, h);
    context.globalAlpha = 1;
    context.fillStyle = Ink[`${name}-ink`];
    context.fillRect(a, y, 1, h);
    if (outcome === 1 && w > 8) for (let yy = y; yy < y + h; yy += 4) context.fillRect(b - 1, yy, 2, 2);
  }
  if (w > 22 && rowHeight >= 11) {
    context.fillStyle = outcome === 2 || (Ink.dark && outcome) ? Ink.ink : "#10151a";
    context.textAlign = "left";
    context.textBaseline = "middle";
    const steps = stepsOf(i);
    if (steps) drawSteps(context, steps, a + 3, a + w - 2, y, h);
    else context.fillText(clip(context, boxLabel(i), w - 6), a + 4, y + h / 2 + 0.5);
  }
}

// The steps of a transaction, side by side from the left: their times are not recorded.  Writes are filled.
function drawSteps(context, steps, left, right, y, h) {
  context.strokeStyle = context.fillStyle;
  let x = left;
  for (const { text, writes } of steps) {
    const shown = clip(context, text, right - x - 6);
    if (!shown) return;
    const wide = context.measureText(shown).width + 6;
    context.globalAlpha = writes ? 0.18 : 0.4;
    if (writes) context.fillRect(x, y + 2, wide, h - 4);
    else context.strokeRect(x + 0.5, y + 2.5, wide - 1, h - 5);
    context.globalAlpha = 1;
    context.fillText(shown, x + 3, y + h / 2 + 0.5);
    x += wide + 3;
  }
}

// The operations of violations are framed; of the violation in focus thickly, of the others thinly while there is one.
function drawMarked(area, toX) {
  const { data, focus } = Timeline;
  const { context } = area;
  const framed = new Map();
  data.violations.forEach(({ ops }, place) => {
    for (const index of ops) framed.set(index, place === focus || framed.get(index) === true);
  });
  for (const [index, focused] of framed) {
    const i = placeOfIndex(index);
    if (i < 0 || !Timeline.mask[i]) continue;
    context.globalAlpha = focus === null || focused ? 1 : 0.45;
    outline(area, toX, i, Ink.mark, focused ? 2.5 : focus === null ? 2 : 1);
    context.globalAlpha = 1;
    if (data.violations.some(({ suspects }, place) => suspects.includes(index) && (focus === null || place === focus)))
      pointAt(area, toX, i);
  }
  if (View.selected !== null) outline(area, toX, View.selected, Ink.ink, 1.5, 2);
}

function outline(area, toX, i, colour, width, away = 0) {
  const { data, row, rows, rowHeight } = Timeline;
  const { context } = area;
  if (row[i] >= rows.length) return;
  const a = Math.max(toX(data.ops.t[i] / 1e6), area.left - 9);
  const b = Math.min(Math.max(toX(endOf(data, i) / 1e6), a + 3), area.right + 9);
  if (b < area.left || a > area.right) return;
  const box = [a - 1 - away, row[i] * rowHeight + 2 - away, b - a + 2 + 2 * away, rowHeight - 1 + 2 * away];
  context.strokeStyle = Ink.paper;
  context.lineWidth = width + 2;
  context.strokeRect(...box);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.strokeRect(...box);
  context.lineWidth = 1;
}

// A small triangle over the operation that cannot be placed.
function pointAt(area, toX, i) {
  const { data, row, rowHeight } = Timeline;
  const x = toX(data.ops.t[i] / 1e6) + 1;
  if (x >= area.left - 4 && x <= area.right) triangle(area.context, x, row[i] * rowHeight + 1, 4);
}

// The operation under a point of the canvas; the last one drawn wins.
function operationAt(x, y) {
  const { data, canvas, row, rowHeight, mask } = Timeline;
  const line = Math.floor((y - 2) / rowHeight);
  const width = canvas.clientWidth - GUTTER - MARGIN;
  const span = (View.to - View.from) * 1e6;
  const slack = (span / width) * 3;
  const at = View.from * 1e6 + ((x - GUTTER) / width) * span;
  const [first, last] = visibleRange();
  let best = -1;
  let distance = Infinity;
  for (let i = first; i < last; i++) {
    if (row[i] !== line || !mask[i] || data.ops.t[i] > at + slack || endOf(data, i) < at - slack) continue;
    const away = Math.max(data.ops.t[i] - at, at - endOf(data, i), 0) - BADNESS[data.ops.o[i]] * 1e-3;
    if (away <= distance) {
      best = i;
      distance = away;
    }
  }
  return best;
}

// The page scrolls past the timeline unless it was clicked into, or Ctrl is held; at the whole run there is nothing to
// widen.
function takesWheel(event, canvas) {
  if (event.shiftKey || !(event.ctrlKey || document.activeElement === canvas)) return false;
  const whole = View.from <= View.start && View.to >= View.end;
  return !(whole && event.deltaY > 0 && Math.abs(event.deltaY) >= Math.abs(event.deltaX)) || event.ctrlKey;
}

function timelinePointer(canvas) {
  const secondsAt = followPointer(canvas, false);
  let drag = null;
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!takesWheel(event, canvas)) return;
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
        View.move((event.deltaX / canvas.clientWidth) * (View.to - View.from));
      else View.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 240))), secondsAt(event));
    },
    { passive: false },
  );
  const read = (event) => {
    const box = canvas.getBoundingClientRect();
    const i = operationAt(event.clientX - box.left, event.clientY - box.top);
    showCard(i < 0 ? null : describe(i, MOST_STEPS), event.clientX, event.clientY);
  };
  wireTouch(canvas, secondsAt, read, false);
  canvas.addEventListener("pointerdown", (event) => {
    drag = {
      x: event.clientX,
      from: View.from,
      to: View.to,
      moved: false,
      at: event.shiftKey ? secondsAt(event) : null,
    };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (severalFingers()) {
      drag = null;
      return;
    }
    if (drag) {
      const shift = ((drag.x - event.clientX) / (canvas.clientWidth - GUTTER - MARGIN)) * (drag.to - drag.from);
      if (Math.abs(event.clientX - drag.x) > 3) drag.moved = true;
      if (!drag.moved) return;
      hideCard();
      if (drag.at === null) View.set(drag.from + shift, drag.to + shift);
      else chooseRange([drag.at, secondsAt(event)].sort((a, b) => a - b));
      return;
    }
    read(event);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) {
      const box = canvas.getBoundingClientRect();
      const i = operationAt(event.clientX - box.left, event.clientY - box.top);
      if (i >= 0) pin(i);
      else select(null);
    }
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => {
    drag = null;
  });
  canvas.addEventListener("pointerleave", hideCard);
}
