// The rows of faults below the timeline.

import { clip, GUTTER, Ink, MARGIN, scaleX } from "./canvas.js";

export const FAULT_ROW = 18;

// Faults in the order of their starts, in as few rows as keep bars and names apart when the whole run is in view, and in
// no more than `most`; those that find no row have their name cut to their bar.
export function layFaults(data, context, width, most = 8) {
  const right = width - MARGIN;
  const toX = scaleX({ left: GUTTER, right }, 0, data.end);
  const rows = [];
  context.font = Ink.font;
  for (const fault of [...data.faults].sort((a, b) => a.start - b.start)) {
    const text = faultText(context, fault, toX(fault.start), toX(fault.end), right);
    let row = rows.find((row) => row.until <= text.from);
    const squeezed = !row && rows.length >= most;
    if (squeezed) row = rows.reduce((best, other) => (other.until < best.until ? other : best));
    if (!row) {
      row = { bars: [], until: 0 };
      rows.push(row);
    }
    row.bars.push({ fault, squeezed });
    row.until = Math.max(row.until, text.to);
  }
  return rows.map(({ bars }) => bars);
}

// A name stands in its bar, else right of it, else left of it, else cut on the wider of its right and the bar; from
// and to are the ends of both.
function faultText(context, fault, a, b, right) {
  const name = `#${fault.id} ${fault.fault}${fault.state === "installed" ? "" : `, ${fault.state}`}`;
  const wide = context.measureText(name).width;
  if (wide <= b - a - 6) return { name, x: a + 3, inside: true, from: a, to: b };
  if (b + wide + 6 <= right) return { name, x: b + 3, from: a, to: b + wide + 6 };
  if (a - wide - 3 >= GUTTER || b - a > right - b) return { name, x: a - wide - 3, from: a - wide - 6, to: b };
  return { name: clip(context, name, right - b - 6), x: b + 3, from: a, to: right };
}

// What the nemesis did, by name, below the rows: a bar while a fault was in effect, a mark for one that was not installed.
export function drawFaultRow(data, area, toX, row, y) {
  const { context } = area;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { fault, squeezed } of row) {
    const a = Math.max(toX(fault.start), area.left);
    const b = Math.min(Math.max(toX(fault.end), toX(fault.start) + 2), area.right);
    if (b <= a) continue;
    context.fillStyle = Ink.paper;
    context.fillRect(a, y + 1, b - a, FAULT_ROW - 3);
    context.globalAlpha = fault.state === "installed" ? 1 : 0.4;
    context.fillStyle = data.faultColours[fault.family];
    context.fillRect(a, y + 1, b - a, FAULT_ROW - 3);
    context.globalAlpha = 1;
    const text = faultText(context, fault, a, b, area.right);
    const cut = !text.inside && (squeezed || text.x < area.left);
    context.fillStyle = fault.state === "installed" && (text.inside || cut) ? "#10151a" : Ink.ink;
    context.fillText(cut ? clip(context, text.name, b - a - 6) : text.name, cut ? a + 3 : text.x, y + FAULT_ROW / 2);
  }
}
