// Events in the rows of nodes: what was logged as ticks, elections and cut logs as arrows from row to row.

import { Ink } from "./canvas.js";
import { View } from "./view.js";

const LEVELS = ["logged", "warned", "logged an error", "its dispatcher"];

const ARROWS = ["election", "lost entries", "cut its log"];

const [ELECTION, LOST] = [0, 1];

// More arrows than this in view are drawn without their shafts: which leads where could not be seen.
const MOST_ARROWS = 40;

const REACH = 5;

// A node's row, or the last one for the harness.
const rowOf = (data, place) => (place < 0 ? data.nodes.length : place);

export function hasHarnessLines(data) {
  return Boolean(data.track?.lines.some(([, place]) => place < 0));
}

export function drawTrack(data, area, toX, step) {
  if (!data.track) return;
  const { context } = area;
  const inks = [Ink.quiet, Ink["info-ink"], Ink.mark, Ink.link];
  for (const level of [0, 3, 1, 2]) {
    context.fillStyle = inks[level];
    for (const [seconds, place, what] of data.track.lines) {
      const x = toX(seconds);
      if (what !== level || x < area.left || x > area.right) continue;
      const tall = level === 2 ? 7 : 4;
      context.fillRect(x - 0.5, (rowOf(data, place) + 2) * step - tall, 1.5, tall);
    }
  }
  drawContested(data, area, toX, step);
  const arrows = data.track.arrows.filter(([, seconds]) => seconds >= View.from && seconds <= View.to);
  for (const [kind, seconds, from, to] of arrows)
    drawArrow(area, toX(seconds), kind, arrows.length > MOST_ARROWS ? null : from, to, step);
}

// Where two nodes said in one round of probes that they lead, both of their bars are framed.
function drawContested(data, area, toX, step) {
  const { context } = area;
  context.fillStyle = Ink.mark;
  for (const [place, from, to] of data.track.contested) {
    const a = Math.max(toX(from), area.left);
    const b = Math.min(toX(to), area.right);
    if (b < a) continue;
    for (const y of [1, step - 3]) context.fillRect(a, (place + 1) * step + y, Math.max(b - a, 2), 2);
  }
}

function drawArrow({ context }, x, kind, from, to, step) {
  const end = (to + 1.5) * step;
  const up = from !== null && from > to;
  const tip = end + (up ? 4 : -4);
  context.save();
  context.strokeStyle = context.fillStyle = kind === LOST ? Ink.mark : kind === ELECTION ? Ink.ink : Ink.quiet;
  context.lineWidth = 1.25;
  if (from !== null) {
    context.setLineDash(kind === ELECTION ? [] : [3, 2]);
    context.beginPath();
    context.moveTo(x, (from + 1.5) * step);
    context.lineTo(x, tip);
    context.stroke();
    context.setLineDash([]);
  }
  context.beginPath();
  context.moveTo(x, end + (up ? -2 : 2));
  context.lineTo(x - 4, end + (up ? 6 : -6));
  context.lineTo(x + 4, end + (up ? 6 : -6));
  context.closePath();
  context.fill();
  context.restore();
}

// What is within some pixels of a moment in a row, as names and texts: arrows to it, then lines, the nearest first.
export function eventsNear(data, row, seconds, perPixel) {
  if (!data.track) return [];
  const near = (at) => Math.abs(at - seconds) <= REACH * perPixel;
  const arrows = data.track.arrows
    .filter(([, at, , to]) => to === row && near(at))
    .map(([kind, at, , , text]) => [ARROWS[kind], `${text}, seen at ${at.toFixed(2)} s`]);
  const contested = data.track.contested
    .filter(([place, from, to]) => place === row && from <= seconds && seconds <= to)
    .map(() => ["claim", "another node said in the same round of probes that it leads"]);
  const lines = data.track.lines
    .filter(([at, place]) => rowOf(data, place) === row && near(at))
    .sort((a, b) => Math.abs(a[0] - seconds) - Math.abs(b[0] - seconds))
    .map(([, , level, text, times]) => [LEVELS[level], `${text}${times > 1 ? ` (${times} times in its second)` : ""}`]);
  return [...contested, ...arrows, ...lines].slice(0, 6);
}
