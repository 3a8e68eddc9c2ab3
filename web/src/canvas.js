// What all canvases share: the gutter, colours from the style sheet, the time axis, the cursor, the pointer.

import { View } from "./view.js";

export const GUTTER = 64;

export const MARGIN = 24;

export const Ink = {};

const INKS = "paper ink quiet rule mark link ok info fail ok-ink info-ink fail-ink run-a run-b".split(" ");

export function readInk() {
  const style = getComputedStyle(document.documentElement);
  for (const name of INKS) Ink[name] = style.getPropertyValue(`--${name}`).trim();
  Ink.dark = luminance(Ink.paper) < 0.5;
  Ink.font = `12px ${style.getPropertyValue("--sans").trim()}`;
}

export function luminance(colour) {
  const hex = colour.replace("#", "");
  return (
    (parseInt(hex.slice(0, 2), 16) * 0.3 +
      parseInt(hex.slice(2, 4), 16) * 0.59 +
      parseInt(hex.slice(4, 6), 16) * 0.11) /
    255
  );
}

// Sizes a canvas for the screen's pixels and returns its context in CSS pixels.
export function prepareCanvas(canvas, height) {
  const width = Math.max(canvas.parentElement.clientWidth, 120);
  const ratio = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = Ink.font;
  return { context, width, height, left: GUTTER, right: width - MARGIN };
}

export function scaleX(area, from, to) {
  return (seconds) => area.left + ((seconds - from) / (to - from)) * (area.right - area.left);
}

function niceStep(span, wanted) {
  const rough = span / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  for (const factor of [1, 2, 2.5, 5, 10]) if (factor * power >= rough) return factor * power;
  return 10 * power;
}

export function timeText(seconds, step) {
  let digits = 0;
  while (digits < 6 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits++;
  return seconds.toFixed(digits);
}

// The same ticks on every chart.
export function timeTicks(width) {
  const step = niceStep(View.to - View.from, Math.max(2, width / 90));
  const ticks = [];
  for (let tick = Math.ceil(View.from / step - 1e-9) * step; tick <= View.to + step * 1e-6; tick += step)
    ticks.push(tick);
  return ticks;
}

export function drawTimeAxis(area, toX, y) {
  const { context } = area;
  const ticks = timeTicks(area.right - area.left);
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
  context.fillStyle = Ink.quiet;
  context.strokeStyle = Ink.rule;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const tick of ticks) {
    const x = Math.round(toX(tick)) + 0.5;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x, y + 4);
    context.stroke();
    const text = timeText(tick, step);
    const half = context.measureText(text).width / 2 + 1;
    context.fillText(text, Math.min(x, area.width - half), y + 6);
  }
}

export function clip(context, text, width) {
  if (width < 12) return "";
  if (context.measureText(text).width <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 0 ? `${text.slice(0, low)}…` : "";
}

// A vertical line that follows the shared cursor, as an element over a canvas, so that moving it redraws nothing.
export function cursorLine(host) {
  const line = document.createElement("div");
  line.setAttribute("aria-hidden", "true");
  Object.assign(line.style, {
    position: "absolute",
    top: "0",
    bottom: "0",
    width: "0",
    borderLeft: "1px dashed var(--quiet)",
    pointerEvents: "none",
    display: "none",
  });
  host.style.position = "relative";
  host.append(line);
  const place = (seconds) => {
    const inside = seconds !== null && seconds >= View.from && seconds <= View.to;
    line.style.display = inside ? "block" : "none";
    if (inside)
      line.style.left = `${scaleX({ left: GUTTER, right: host.clientWidth - MARGIN }, View.from, View.to)(seconds)}px`;
  };
  View.cursorListeners.push(place);
  View.listeners.push(() => place(View.cursor));
}

// Hovering over a canvas moves the shared cursor; dragging sideways on it selects a window.
export function followPointer(canvas, dragZoom) {
  const secondsAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return View.from + ((event.clientX - box.left - GUTTER) / (box.width - GUTTER - MARGIN)) * (View.to - View.from);
  };
  let start = null;
  canvas.addEventListener("pointermove", (event) => View.point(secondsAt(event)));
  canvas.addEventListener("pointerleave", () => View.point(null));
  if (!dragZoom) return secondsAt;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch") return; // fingers move and zoom: touch.js
    start = secondsAt(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", (event) => {
    const stop = secondsAt(event);
    if (start !== null && Math.abs(stop - start) > (View.to - View.from) * 0.01)
      View.set(Math.min(start, stop), Math.max(start, stop));
    start = null;
  });
  canvas.addEventListener("dblclick", () => View.whole());
  return secondsAt;
}

export function rowLabel(area, text, y) {
  const { context } = area;
  context.fillStyle = Ink.quiet;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText(clip(context, text, GUTTER - 12), area.left - 8, y);
}

// Replicas often have the same index: what is drawn first is wider and each has a dash of its own, so that lines on top
// of each other show both.
const NODE_DASHES = [[], [14, 5], [7, 5], [], [5, 7]];

const NODE_WIDTHS = [5, 4, 3.25, 2.5, 2.5];

export function strokeOf(place) {
  return {
    width: NODE_WIDTHS[Math.min(place, NODE_WIDTHS.length - 1)],
    dash: NODE_DASHES[place % NODE_DASHES.length],
  };
}
