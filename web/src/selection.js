// The selected operation and the pinned ones, as cards below the timeline.

import { describe, hideCard, listOf } from "./details.js";
import { button, el } from "./dom.js";
import { Timeline } from "./operations.js";
import { View } from "./view.js";

export const Selection = { pins: [] };

const MOST_PINS = 12;

// Keys and clicks select one operation at a time; pinned ones stay until they are unpinned.
export function select(i) {
  View.selected = i;
  drawPins();
  if (i !== null) View.point(Timeline.data.ops.t[i] / 1e6);
  View.changed();
}

export function pin(i) {
  Selection.pins = [i, ...Selection.pins.filter((other) => other !== i)].slice(0, MOST_PINS);
  select(i);
}

export function unpinAll() {
  Selection.pins = [];
  Timeline.focus = null;
  hideCard();
  select(null);
}

function unpin(i) {
  Selection.pins = Selection.pins.filter((other) => other !== i);
  if (View.selected === i) select(null);
  else {
    drawPins();
    View.changed();
  }
}

function drawPins() {
  const { selected } = View;
  const { pins } = Selection;
  const host = document.getElementById("pinned");
  const cards = pins.map((i) => pinCard(i, "Unpin", () => unpin(i)));
  if (selected !== null && !pins.includes(selected)) cards.unshift(pinCard(selected, "Pin", () => pin(selected)));
  if (pins.length > 1) cards.unshift(button("Unpin all (Escape)", unpinAll));
  host.replaceChildren(...cards);
}

function pinCard(i, name, action) {
  const { data } = Timeline;
  const culprit = data.violations.some((violation) => violation.suspects.includes(data.ops.i[i]));
  const box = el("div", "", `pin${i === View.selected ? " chosen" : ""}${culprit ? " culprit" : ""}`);
  box.append(
    listOf(describe(i)),
    button(name, action),
    button("Show", () => reveal(i)),
  );
  return box;
}

// Brings an operation into view, wherever on the page the reader is, and selects it.
export function reveal(i) {
  const { data, canvas, row, rowHeight } = Timeline;
  const at = data.ops.t[i] / 1e6;
  const span = Math.min(View.to - View.from, Math.max(1, (data.ops.d[i] / 1e6) * 3));
  if (at < View.from || at > View.to || View.to - View.from > 20) View.set(at - span / 2, at + span / 2);
  const host = canvas.parentElement;
  const y = row[i] * rowHeight;
  const box = host.getBoundingClientRect();
  if (y < host.scrollTop || y > host.scrollTop + host.clientHeight - rowHeight)
    host.scrollTop = y - host.clientHeight / 2;
  if (box.bottom < 120 || box.top > innerHeight - 120) document.getElementById("timeline").scrollIntoView();
  select(i);
}
