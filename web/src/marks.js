// Fault bands, standstills of the harness, phases and violations, drawn the same way on every canvas.

import { Ink } from "./canvas.js";

export function drawBands(context, data, toX, left, right, top, height) {
  context.save();
  context.globalAlpha = Ink.dark ? 0.26 : 0.45;
  for (const fault of data.faults) {
    if (fault.state === "skipped") continue;
    const a = Math.max(toX(fault.start), left);
    const b = Math.min(Math.max(toX(fault.end), a + 1), right);
    if (b <= left || a >= right) continue;
    context.fillStyle = data.faultColours[fault.family];
    // Full colour while the fault was certainly in effect, half while it was being installed and healed.
    const stood = Math.min(Math.max(toX(fault.stood ?? fault.start), a), b);
    const heal = Math.min(Math.max(toX(fault.heal ?? fault.end), stood), b);
    const full = context.globalAlpha;
    // Faults that were in effect at the same time share the height: their colours stay what the legend says.
    const [low, high] = fault.share ?? [0, 1];
    const [y, tall] = [top + low * height, (high - low) * height];
    context.fillRect(stood, y, Math.max(heal - stood, 1), tall);
    context.globalAlpha = full / 2;
    context.fillRect(a, y, stood - a, tall);
    context.fillRect(heal, y, b - heal, tall);
    context.globalAlpha = full;
  }
  drawStandstills(context, data, toX, left, right, top, height);
  context.restore();
}

// Where the harness itself was stalled, over the faults that were in effect meanwhile.
function drawStandstills(context, data, toX, left, right, top, height) {
  context.fillStyle = Ink.quiet;
  for (const [from, to] of data.still ?? []) {
    const a = Math.max(toX(from), left);
    context.fillRect(a, top, Math.max(Math.min(Math.max(toX(to), a + 1), right) - a, 0), height);
  }
}

// Where the main and the final phase begin.
export function drawPhases(context, data, toX, left, right, top, height, ratio) {
  context.save();
  context.strokeStyle = Ink.quiet;
  context.lineWidth = ratio;
  context.setLineDash([2 * ratio, 3 * ratio]);
  for (const phase of data.phases) {
    const x = toX(phase.start);
    if (x < left || x > right) continue;
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, top + height);
    context.stroke();
  }
  context.restore();
}

// The names of the phases, over everything else, and below the triangles where there are any.
export function namePhases(context, data, toX, left, right, top, ratio) {
  context.save();
  context.fillStyle = Ink.quiet;
  context.strokeStyle = Ink.paper;
  context.lineWidth = 3 * ratio;
  context.lineJoin = "round";
  context.setLineDash([]);
  context.font = Ink.font.replace("12px", `${12 * ratio}px`);
  context.textBaseline = "top";
  for (const { name, start } of data.phases) {
    const x = toX(start);
    const room = right - x > context.measureText(name).width + 6 * ratio;
    if (x < left || x > right) continue;
    const at = [x + (room ? 3 : -3) * ratio, top + (data.findings?.length || data.violations?.length ? 11 : 1) * ratio];
    context.textAlign = room ? "left" : "right";
    context.strokeText(name, ...at);
    context.fillText(name, ...at);
  }
  context.restore();
}

// The name of each fault at the foot of its band, or its number, where there is room for it.
export function nameFaults(context, data, toX, left, right, bottom, ratio) {
  context.save();
  context.fillStyle = Ink.quiet;
  context.font = Ink.font.replace("12px", `${11 * ratio}px`);
  context.textAlign = "left";
  context.textBaseline = "bottom";
  let free = left;
  for (const fault of [...data.faults].sort((a, b) => a.start - b.start)) {
    const from = Math.max(toX(fault.start), free) + 2 * ratio;
    const room = Math.min(toX(fault.end), right) - from;
    const texts = fault.state === "installed" ? [`#${fault.id} ${fault.fault}`, `#${fault.id}`] : [];
    const text = texts.find((one) => context.measureText(one).width <= room);
    if (!text) continue;
    context.fillText(text, from, bottom - 2 * ratio);
    free = from + context.measureText(text).width;
  }
  context.restore();
}

const BAR = 2;

// A triangle at the top and a thin line down where an operation that cannot be placed was invoked, and (hollow) where a
// node was first seen to break a rule; a bar for as long as its answers showed that.
export function drawViolationMarks(context, data, toX, left, right, top, height, ratio) {
  context.save();
  context.strokeStyle = Ink.mark;
  context.lineWidth = ratio;
  context.setLineDash([]);
  const marked = [
    ...(data.further?.findings ?? []).map((at) => [at, true]),
    ...(data.findings ?? []).map(({ at }) => [at, true]),
    ...(data.further?.violations ?? []).map((at) => [at, false]),
    ...(data.violations ?? []).map(({ at }) => [at, false]),
  ];
  context.fillStyle = Ink.mark;
  for (const { at, until } of data.findings ?? []) {
    const [a, b] = [Math.max(toX(at), left), Math.min(toX(until ?? at), right)];
    if (b > a) context.fillRect(a, top, b - a, BAR * ratio);
  }
  for (const [at, hollow] of marked) {
    const x = toX(at);
    if (x < left || x > right) continue;
    context.globalAlpha = 0.4;
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, top + height);
    context.stroke();
    context.globalAlpha = 1;
    triangle(context, x, top + (hollow ? 7 : 6) * ratio, 4 * ratio, hollow);
  }
  context.restore();
}

// A dotted line: there was no answer.
export function dots(context, from, to, y) {
  context.fillStyle = Ink.quiet;
  for (let x = from; x < to; x += 5) context.fillRect(x, y - 0.5, Math.min(2, to - x), 1);
}

// Whether operations were answered: 1 some ok, a bar; 2 none of them ok, a wider bar; 0 no answer, a dotted line.
export function drawAvailable(context, value, colour, from, to, top, step) {
  if (value !== 1 && value !== 2) {
    dots(context, from, to, top + step / 2);
    return;
  }
  context.fillStyle = value === 1 ? colour : Ink["fail-ink"];
  const inset = value === 1 ? 5 : 3;
  context.fillRect(from, top + inset, to - from, step - 2 * inset);
}

// A triangle that points down to (x, y).
export function triangle(context, x, y, size, hollow = false) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - size, y - size * 1.5);
  context.lineTo(x + size, y - size * 1.5);
  context.closePath();
  context.strokeStyle = Ink.paper;
  context.lineWidth = 3;
  context.stroke();
  context.fillStyle = hollow ? Ink.paper : Ink.mark;
  context.strokeStyle = Ink.mark;
  context.lineWidth = 1.25;
  context.fill();
  if (hollow) context.stroke();
  context.lineWidth = 1;
}
