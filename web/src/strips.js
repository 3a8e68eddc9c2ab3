// The strip of roles and terms: a row a node, and one for whether any operation was answered ok.

import {
  clip,
  cursorLine,
  drawTimeAxis,
  followPointer,
  GUTTER,
  Ink,
  luminance,
  MARGIN,
  prepareCanvas,
  rowLabel,
  scaleX,
} from "./canvas.js";
import { hideCard, showCard } from "./details.js";
import { markNear, openEvidence } from "./evidence.js";
import { dots, drawAvailable, drawBands, drawPhases, drawViolationMarks } from "./marks.js";
import { ROLE_NAMES, stretchAt } from "./roles.js";
import { wireTouch } from "./touch.js";
import { drawTrack, eventsNear, hasHarnessLines } from "./track.js";
import { View } from "./view.js";

export function initStrips(data) {
  const canvas = document.getElementById("c-leaders");
  if (!data.stretches?.length && !data.available) {
    canvas.parentElement.hidden = true;
    return;
  }
  explain(canvas.parentElement, data);
  const draw = () => drawStrips(data, canvas);
  View.listeners.push(draw);
  stripPointer(data, canvas, followPointer(canvas, true));
  cursorLine(canvas.parentElement);
  draw();
}

// Show of the legend what is drawn.
function explain(part, { track }) {
  const lines = track?.lines ?? [];
  const [levels, kinds] = [new Set(lines.map(([, , level]) => level)), new Set(track?.arrows.map(([kind]) => kind))];
  const show = (selector, shown) => {
    for (const one of part.querySelectorAll(selector)) one.hidden = !shown(one.dataset);
  };
  show("[data-track]", () => lines.length);
  show("[data-level]", ({ level }) => levels.has(Number(level)));
  show("[data-harness]", () => hasHarnessLines({ track }));
  show("[data-contested]", () => track?.contested.length);
  show("[data-arrow]", ({ arrow }) => kinds.has(Number(arrow)));
}

const STRIP_STEP = 22;

const AVAILABILITY = ["nothing was answered", "some were answered ok", "answered, but none ok"];

function stripPointer(data, canvas, secondsAt) {
  const read = (event) => {
    const box = canvas.getBoundingClientRect();
    const seconds =
      View.from + ((event.clientX - box.left - GUTTER) / (box.width - GUTTER - MARGIN)) * (View.to - View.from);
    const place = Math.floor((event.clientY - box.top) / STRIP_STEP) - 1;
    const perPixel = (View.to - View.from) / (box.width - GUTTER - MARGIN);
    const outside = event.buttons || seconds < View.from || seconds > View.to;
    canvas.style.cursor = markNear(data, seconds, perPixel) ? "pointer" : "";
    showCard(outside ? null : stripRows(data, place, seconds, perPixel), event.clientX, event.clientY);
  };
  canvas.addEventListener("pointermove", read);
  wireTouch(canvas, secondsAt, (event) => read({ clientX: event.clientX, clientY: event.clientY }), true);
  let down = null;
  canvas.addEventListener("pointerdown", (event) => {
    down = event.clientX;
  });
  canvas.addEventListener("click", (event) => {
    if (down === null || Math.abs(event.clientX - down) > 3) return;
    const box = canvas.getBoundingClientRect();
    const perPixel = (View.to - View.from) / (box.width - GUTTER - MARGIN);
    const mark = markNear(data, View.from + (event.clientX - box.left - GUTTER) * perPixel, perPixel);
    if (mark) openEvidence(mark);
  });
  canvas.addEventListener("pointerleave", hideCard);
}

function stripRows(data, place, seconds, perPixel) {
  const at = ["at", `${seconds.toFixed(2)} s`];
  const fault = [
    "fault",
    data.faults
      .filter((f) => f.state === "installed" && f.start <= seconds && seconds <= f.end)
      .map((f) => f.fault)
      .join(", ") || "none",
  ];
  if (place === -1)
    return data.available
      ? [at, ["operations", AVAILABILITY[data.available[1][Math.floor(seconds / data.available[0])]] ?? "–"], fault]
      : null;
  const events = eventsNear(data, place, seconds, perPixel);
  if (place >= data.nodes.length) return events.length ? [at, ...events] : null;
  const found = stretchAt(data, place, seconds);
  if (!found) return [at, ["node", data.nodes[place].name], ["role", "was not probed"], ...events];
  const [role, term, from, to] = found;
  return [
    at,
    ["node", data.nodes[place].name],
    ["role", ROLE_NAMES[role]],
    ...(role >= 4 || term < 0 ? [] : [["term", String(term)]]),
    ["from, to", `${from.toFixed(2)} – ${to.toFixed(2)} s`],
    fault,
    ...events,
  ];
}

function drawStrips(data, canvas) {
  const rows = data.nodes;
  const step = STRIP_STEP;
  const harness = hasHarnessLines(data) ? 1 : 0;
  const height = (rows.length + 1 + harness) * step + 26;
  const area = prepareCanvas(canvas, height);
  const { context } = area;
  const toX = scaleX(area, View.from, View.to);
  drawBands(context, data, toX, area.left, area.right, 0, height - 22);
  drawPhases(context, data, toX, area.left, area.right, 0, height - 22, 1);
  context.textBaseline = "middle";
  drawAvailability(data, area, toX, step);
  for (const [place, node] of rows.entries())
    drawRoles(area, toX, node, data.stretches[place], (place + 1) * step, step);
  drawSnapshots(data, area, toX, step);
  if (harness) rowLabel(area, "harness", (rows.length + 1.5) * step);
  drawTrack(data, area, toX, step);
  drawViolationMarks(context, data, toX, area.left, area.right, 0, height - 22, 1);
  drawTimeAxis(area, toX, height - 22);
}

function drawAvailability(data, area, toX, step) {
  rowLabel(area, "any ok", step / 2);
  if (!data.available) return;
  const [width, cells] = data.available;
  const { context } = area;
  for (let start = 0; start < cells.length; ) {
    let stop = start + 1;
    while (stop < cells.length && cells[stop] === cells[start]) stop++;
    const a = Math.max(toX(start * width), area.left);
    const b = Math.min(toX(stop * width), area.right);
    if (b > a) {
      drawAvailable(context, cells[start], Ink.ok, a, b, 0, step);
    }
    start = stop;
  }
}

// A leader is a full bar, a follower a line, a candidate a hollow bar, an answer without a role a thin grey line, no answer
// a dotted one, an answer of another process than the killed server a red dashed one.
function drawRoles(area, toX, node, stretches, y, step) {
  const { context } = area;
  const middle = y + step / 2;
  rowLabel(area, node.name, middle);
  for (const [role, term, from, to] of stretches) {
    const a = Math.max(toX(from), area.left);
    const b = Math.min(toX(to), area.right);
    if (b <= a) continue;
    context.fillStyle = node.colour;
    if (role === 0) {
      context.fillRect(a, y + 3, Math.max(b - a, 1.5), step - 6);
      context.fillStyle = luminance(node.colour) > 0.5 ? "#000" : "#fff";
      context.textAlign = "left";
      const label = term < 0 ? "" : clip(context, `term ${term}`, b - a - 8);
      if (label && !label.endsWith("…")) context.fillText(label, a + 4, middle);
    } else if (role === 1) context.fillRect(a, middle - 1, b - a, 2);
    else if (role === 2) {
      context.fillStyle = Ink.paper;
      context.strokeStyle = Ink.ink;
      context.fillRect(a, middle - 4, Math.max(b - a, 2), 8);
      context.strokeRect(a + 0.5, middle - 3.5, Math.max(b - a - 1, 1), 7);
    } else if (role === 3) {
      context.fillStyle = Ink.quiet;
      context.fillRect(a, middle - 0.5, b - a, 1);
    } else if (role === 5) {
      context.fillStyle = Ink.mark;
      for (let x = a; x < b; x += 10) context.fillRect(x, middle - 0.5, Math.min(6, b - x), 1);
    } else dots(context, a, b, middle);
  }
}

// A snapshot that the leader sent is a full diamond, one that a process loaded at its start a hollow one, a saved one a
// tick.
function drawSnapshots(data, area, toX, step) {
  const { context } = area;
  for (const kind of [0, 1, 2])
    for (const [node, seconds, what] of data.snapshots ?? []) {
      const x = toX(seconds);
      const y = (node + 1.5) * step;
      if (what !== kind || x < area.left || x > area.right) continue;
      context.fillStyle = context.strokeStyle = Ink.ink;
      context.lineWidth = 1.25;
      context.beginPath();
      if (what === 0) {
        context.moveTo(x, y + 3);
        context.lineTo(x, y + step / 2 - 1);
        context.stroke();
        continue;
      }
      context.moveTo(x, y - 5);
      context.lineTo(x + 5, y);
      context.lineTo(x, y + 5);
      context.lineTo(x - 5, y);
      context.closePath();
      if (what === 1) context.fillStyle = Ink.paper;
      context.fill();
      context.stroke();
    }
}
