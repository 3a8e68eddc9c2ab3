// The whole run in one strip; its frame is the time window, which can be moved and resized.

import { GUTTER, Ink, MARGIN, prepareCanvas, scaleX } from "./canvas.js";
import { drawHitsOfAll } from "./hits.js";
import { drawBands, drawViolationMarks } from "./marks.js";
import { OUTCOMES, Timeline } from "./operations.js";
import { View } from "./view.js";

export function drawMinimap() {
  const canvas = document.getElementById("c-minimap");
  const { data } = Timeline;
  const height = 48;
  const area = prepareCanvas(canvas, height);
  const { context } = area;
  const toX = scaleX(area, 0, View.end);
  context.save();
  context.beginPath();
  context.rect(area.left, 0, area.right - area.left, height);
  context.clip();
  drawBands(context, data, toX, area.left, area.right, 0, height);
  if (data.rates) drawMinimapRates(data, context, toX, height);
  drawHitsOfAll(context, toX, height);
  const a = toX(View.from);
  const b = Math.max(toX(View.to), a + 3);
  context.fillStyle = Ink.paper;
  context.globalAlpha = 0.62;
  context.fillRect(area.left, 0, a - area.left, height);
  context.fillRect(b, 0, area.right - b, height);
  context.globalAlpha = 1;
  drawViolationMarks(context, data, toX, area.left, area.right, 0, height, 1);
  context.strokeStyle = Ink.link;
  context.strokeRect(a + 0.5, 0.5, Math.max(b - a - 1, 2), height - 1);
  context.restore();
}

function drawMinimapRates(data, context, toX, height) {
  const { time, width, rows } = data.rates;
  const top = Math.max(1, ...rows[0].map((v, i) => v + rows[1][i] + rows[2][i]));
  time.forEach((middle, i) => {
    const a = toX(middle - width / 2);
    const w = Math.max(toX(Math.min(middle + width / 2, View.end)) - a, 0.75);
    let y = height;
    [0, 2, 1].forEach((outcome) => {
      const h = (rows[outcome][i] / top) * (height - 6);
      context.fillStyle = Ink[OUTCOMES[outcome] + (outcome ? "-ink" : "")];
      context.fillRect(a, y - h, w, h);
      y -= h;
    });
  });
}

export function minimapPointer(canvas) {
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return ((event.clientX - box.left - GUTTER) / (box.width - GUTTER - MARGIN)) * View.end;
  };
  let held = null;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    const seconds = at(event);
    const edge = (View.end * 8) / canvas.clientWidth;
    if (Math.abs(seconds - View.from) < edge) held = { edge: "from" };
    else if (Math.abs(seconds - View.to) < edge) held = { edge: "to" };
    else {
      const span = View.to - View.from;
      if (span >= View.end * 0.999) {
        held = { fresh: seconds };
        return;
      }
      if (seconds < View.from || seconds > View.to) View.set(seconds - span / 2, seconds + span / 2);
      held = { grip: seconds - View.from };
    }
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return;
    const seconds = at(event);
    if (held.edge === "from") View.set(Math.min(seconds, View.to - 1e-3), View.to);
    else if (held.edge === "to") View.set(View.from, Math.max(seconds, View.from + 1e-3));
    else if (held.fresh !== undefined) {
      if (Math.abs(seconds - held.fresh) > View.end / 200)
        View.set(Math.min(seconds, held.fresh), Math.max(seconds, held.fresh));
    } else {
      const span = View.to - View.from;
      View.set(seconds - held.grip, seconds - held.grip + span);
    }
  });
  for (const name of ["pointerup", "pointercancel"])
    canvas.addEventListener(name, () => {
      held = null;
    });
}
