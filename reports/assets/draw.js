"use strict";
// What all canvases share: the gutter, colours from the style sheet, fault bands, the time axis.
const GUTTER = 64, MARGIN = 16, OUTCOMES = ["ok", "info", "fail"];
const Ink = {}, ORDER = new Intl.Collator("en", { numeric: true });

function readInk() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["paper", "ink", "quiet", "rule", "faint", "red", "mark", "link", "ok", "info", "fail", "ok-ink", "info-ink", "fail-ink", "run-a", "run-b"])
    Ink[name] = style.getPropertyValue("--" + name).trim();
  Ink.dark = luminance(Ink.paper) < 0.5;
  Ink.font = "12px " + style.getPropertyValue("--sans").trim();
}

function luminance(colour) {
  const hex = colour.replace("#", "");
  return (parseInt(hex.slice(0, 2), 16) * 0.3 + parseInt(hex.slice(2, 4), 16) * 0.59 + parseInt(hex.slice(4, 6), 16) * 0.11) / 255;
}

// Sizes a canvas for the screen's pixels and returns its context in CSS pixels.
function prepareCanvas(canvas, height) {
  const width = Math.max(canvas.parentElement.clientWidth, 120), ratio = window.devicePixelRatio || 1;
  canvas.style.height = height + "px";
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = Ink.font;
  return { context, width, height, left: GUTTER, right: width - MARGIN };
}

function scaleX(area, from, to) { return (seconds) => area.left + (seconds - from) / (to - from) * (area.right - area.left); }

function drawBands(context, data, toX, left, right, top, height) {
  context.save();
  context.globalAlpha = Ink.dark ? 0.26 : 0.45;
  for (const fault of data.faults) {
    if (fault.state === "skipped") continue;
    const a = Math.max(toX(fault.start), left), b = Math.min(Math.max(toX(fault.end), a + 1), right);
    if (b <= left || a >= right) continue;
    context.fillStyle = data.faultColours[fault.family];
    // Full while it stood for certain, half while it was being installed and healed.
    const stood = Math.min(Math.max(toX(fault.stood ?? fault.start), a), b), heal = Math.min(Math.max(toX(fault.heal ?? fault.end), stood), b);
    const full = context.globalAlpha;
    context.fillRect(stood, top, Math.max(heal - stood, 1), height);
    context.globalAlpha = full / 2;
    context.fillRect(a, top, stood - a, height);
    context.fillRect(heal, top, b - heal, height);
    context.globalAlpha = full;
  }
  context.restore();
}

// Where the main and the final phase begin.
function drawPhases(context, data, toX, left, right, top, height, ratio) {
  context.save();
  context.strokeStyle = Ink.quiet; context.lineWidth = ratio; context.setLineDash([2 * ratio, 3 * ratio]);
  for (const phase of data.phases) {
    const x = toX(phase.start);
    if (x < left || x > right) continue;
    context.beginPath(); context.moveTo(x, top); context.lineTo(x, top + height); context.stroke();
  }
  context.restore();
}

// Their names, over whatever else is drawn, and below the triangles where there are any.
function namePhases(context, data, toX, left, right, top, ratio) {
  context.save();
  context.fillStyle = Ink.quiet; context.strokeStyle = Ink.paper; context.lineWidth = 3 * ratio; context.lineJoin = "round"; context.setLineDash([]);
  context.font = Ink.font.replace("12px", 11 * ratio + "px"); context.textBaseline = "top";
  for (const { name, start } of data.phases) {
    const x = toX(start), room = right - x > context.measureText(name).width + 6 * ratio;
    if (x < left || x > right) continue;
    const at = [x + (room ? 3 : -3) * ratio, top + (data.findings?.length || data.violations?.length ? 11 : 1) * ratio];
    context.textAlign = room ? "left" : "right";
    context.strokeText(name, ...at); context.fillText(name, ...at);
  }
  context.restore();
}

// When operations that cannot be placed were asked for, and when nodes were seen to break a rule: triangles at the top
// (hollow for nodes), and a thin line down.
function drawViolationMarks(context, data, toX, left, right, top, height, ratio) {
  context.save();
  context.strokeStyle = Ink.mark; context.lineWidth = ratio; context.setLineDash([]);
  const marked = [...(data.findings ?? []).map(({ at }) => [at, true]), ...(data.violations ?? []).map(({ at }) => [at, false])];
  for (const [at, hollow] of marked) {
    const x = toX(at);
    if (x < left || x > right) continue;
    context.globalAlpha = 0.4;
    context.beginPath(); context.moveTo(x, top); context.lineTo(x, top + height); context.stroke();
    context.globalAlpha = 1;
    triangle(context, x, top + (hollow ? 7 : 6) * ratio, 4 * ratio, hollow);
  }
  context.restore();
}

// A triangle that points down to (x, y).
function triangle(context, x, y, size, hollow = false) {
  context.beginPath(); context.moveTo(x, y); context.lineTo(x - size, y - size * 1.5); context.lineTo(x + size, y - size * 1.5); context.closePath();
  context.strokeStyle = Ink.paper; context.lineWidth = 3; context.stroke();
  context.fillStyle = hollow ? Ink.paper : Ink.mark; context.strokeStyle = Ink.mark; context.lineWidth = 1.25; context.fill();
  if (hollow) context.stroke();
  context.lineWidth = 1;
}

// As people count: n2 before n10.
function inOrder(a, b) { return ORDER.compare(a, b); }

function niceStep(span, wanted) {
  const rough = span / wanted, power = 10 ** Math.floor(Math.log10(rough));
  for (const factor of [1, 2, 2.5, 5, 10]) if (factor * power >= rough) return factor * power;
  return 10 * power;
}

function timeText(seconds, step) {
  let digits = 0;
  while (digits < 6 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits++;
  return seconds.toFixed(digits);
}

// The same ticks on every chart.
function timeTicks(width) {
  const step = niceStep(View.to - View.from, Math.max(2, width / 90)), ticks = [];
  for (let tick = Math.ceil(View.from / step - 1e-9) * step; tick <= View.to + step * 1e-6; tick += step) ticks.push(tick);
  return ticks;
}

function drawTimeAxis(area, toX, y) {
  const { context } = area, ticks = timeTicks(area.right - area.left), step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
  context.fillStyle = Ink.quiet; context.strokeStyle = Ink.rule; context.textAlign = "center"; context.textBaseline = "top";
  for (const tick of ticks) {
    const x = Math.round(toX(tick)) + 0.5;
    context.beginPath(); context.moveTo(x, y); context.lineTo(x, y + 4); context.stroke();
    context.fillText(timeText(tick, step), x, y + 6);
  }
}

function clip(context, text, width) {
  if (width < 12) return "";
  if (context.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + "…").width <= width) low = middle; else high = middle - 1;
  }
  return low > 0 ? text.slice(0, low) + "…" : "";
}

function lowerBound(array, value) {
  let low = 0, high = array.length;
  while (low < high) { const middle = (low + high) >> 1; if (array[middle] < value) low = middle + 1; else high = middle; }
  return low;
}

// A vertical line that follows the shared cursor, as an element over a canvas, so that moving it redraws nothing.
function cursorLine(host) {
  const line = document.createElement("div");
  line.setAttribute("aria-hidden", "true");
  Object.assign(line.style, { position: "absolute", top: "0", bottom: "0", width: "0", borderLeft: "1px dashed var(--quiet)", pointerEvents: "none", display: "none" });
  host.style.position = "relative";
  host.append(line);
  const place = (seconds) => {
    const inside = seconds !== null && seconds >= View.from && seconds <= View.to;
    line.style.display = inside ? "block" : "none";
    if (inside) line.style.left = scaleX({ left: GUTTER, right: host.clientWidth - MARGIN }, View.from, View.to)(seconds) + "px";
  };
  View.cursorListeners.push(place);
  View.listeners.push(() => place(View.cursor));
}

// Hovering over a canvas moves the shared cursor; dragging sideways on it selects a window.
function followPointer(canvas, dragZoom) {
  const secondsAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return View.from + (event.clientX - box.left - GUTTER) / (box.width - GUTTER - MARGIN) * (View.to - View.from);
  };
  let start = null;
  canvas.addEventListener("pointermove", (event) => View.point(secondsAt(event)));
  canvas.addEventListener("pointerleave", () => View.point(null));
  if (!dragZoom) return secondsAt;
  canvas.addEventListener("pointerdown", (event) => { start = secondsAt(event); canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", (event) => {
    const stop = secondsAt(event);
    if (start !== null && Math.abs(stop - start) > (View.to - View.from) * 0.01) View.set(Math.min(start, stop), Math.max(start, stop));
    start = null;
  });
  canvas.addEventListener("dblclick", () => View.whole());
  return secondsAt;
}
