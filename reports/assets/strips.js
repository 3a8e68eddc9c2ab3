"use strict";
// The strip of roles and terms: a row a node, and one for whether any operation was answered ok.
const ROLE_NAMES = ["leader", "follower", "candidate", "unknown", "no answer"];

function initStrips(data) {
  const canvas = document.getElementById("c-leaders");
  if (!data.stretches?.length && !data.available) { canvas.parentElement.hidden = true; return; }
  const draw = () => drawStrips(data, canvas);
  View.listeners.push(draw);
  followPointer(canvas, true);
  cursorLine(canvas.parentElement);
  draw();
}

function drawStrips(data, canvas) {
  const rows = data.nodes, step = 18, height = (rows.length + 1) * step + 26;
  const area = prepareCanvas(canvas, height), { context } = area, toX = scaleX(area, View.from, View.to);
  drawBands(context, data, toX, area.left, area.right, 0, height - 22);
  drawPhases(context, data, toX, area.left, area.right, 0, height - 22, 1, false);
  context.textBaseline = "middle";
  drawAvailability(data, area, toX, step);
  rows.forEach((node, place) => drawRoles(area, toX, node, data.stretches[place], (place + 1) * step, step));
  drawSnapshots(data, area, toX, step);
  drawTimeAxis(area, toX, height - 22);
}

function rowLabel(area, text, y) {
  const { context } = area;
  context.fillStyle = Ink.quiet; context.textAlign = "right"; context.textBaseline = "middle";
  context.fillText(clip(context, text, GUTTER - 12), area.left - 8, y);
}

function drawAvailability(data, area, toX, step) {
  rowLabel(area, "any ok", step / 2);
  if (!data.available) return;
  const [width, cells] = data.available, { context } = area;
  for (let start = 0; start < cells.length; ) {
    let stop = start + 1;
    while (stop < cells.length && cells[stop] === cells[start]) stop++;
    const a = Math.max(toX(start * width), area.left), b = Math.min(toX(stop * width), area.right);
    if (b > a) {
      context.fillStyle = cells[start] === 1 ? Ink.ok : cells[start] === 2 ? Ink["fail-ink"] : Ink.quiet;
      if (cells[start] === 1) context.fillRect(a, 5, b - a, step - 10);
      else if (cells[start] === 2) context.fillRect(a, 3, b - a, step - 6);
      else context.fillRect(a, step / 2 - 0.5, b - a, 1);
    }
    start = stop;
  }
}

// A leader is a full bar, a follower a thin line, a candidate a half bar, no answer nothing but a dotted line.
function drawRoles(area, toX, node, stretches, y, step) {
  const { context } = area, middle = y + step / 2;
  rowLabel(area, node.name, middle);
  for (const [role, term, from, to] of stretches) {
    const a = Math.max(toX(from), area.left), b = Math.min(toX(to), area.right);
    if (b <= a) continue;
    context.fillStyle = node.colour;
    if (role === 0) {
      context.fillRect(a, y + 3, Math.max(b - a, 1.5), step - 6);
      context.fillStyle = luminance(node.colour) > 0.5 ? "#000" : "#fff"; context.textAlign = "left";
      const label = clip(context, "term " + term, b - a - 8);
      if (label && !label.endsWith("…")) context.fillText(label, a + 4, middle);
    } else if (role === 1) context.fillRect(a, middle - 1, b - a, 2);
    else if (role === 2) { context.fillStyle = Ink["info-ink"]; context.fillRect(a, middle - 3, Math.max(b - a, 1.5), 6); }
    else { context.fillStyle = Ink.quiet; for (let x = a; x < b; x += 5) context.fillRect(x, middle - 0.5, 2, 1); }
  }
}

// A snapshot that the leader sent is a full diamond, one that a starting process loaded a hollow one, a saved one a tick.
function drawSnapshots(data, area, toX, step) {
  const { context } = area;
  for (const kind of [0, 1, 2]) for (const [node, seconds, what] of data.snapshots ?? []) {
    const x = toX(seconds), y = (node + 1.5) * step;
    if (what !== kind || x < area.left || x > area.right) continue;
    context.fillStyle = context.strokeStyle = Ink.ink; context.lineWidth = 1.25;
    context.beginPath();
    if (what === 0) { context.moveTo(x, y + 3); context.lineTo(x, y + step / 2 - 1); context.stroke(); continue; }
    context.moveTo(x, y - 5); context.lineTo(x + 5, y); context.lineTo(x, y + 5); context.lineTo(x - 5, y); context.closePath();
    if (what === 1) context.fillStyle = Ink.paper;
    context.fill(); context.stroke();
  }
}
