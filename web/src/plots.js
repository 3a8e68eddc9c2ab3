// Line charts by uPlot, all of them on the shared time axis.

import { GUTTER, Ink, MARGIN, timeText, timeTicks } from "./canvas.js";
import { figure, svg } from "./dom.js";
import { drawBands, drawPhases, drawViolationMarks, nameFaults, namePhases } from "./marks.js";
import { wireTouch } from "./touch.js";
import { View } from "./view.js";

// onMark: called with a moment and the seconds of a pixel, where the strip of marks above a chart is clicked.
export const Charts = { plots: [], syncing: false, onMark: null };

const MARKS_HEIGHT = 16;

function axes(options) {
  return [
    {
      stroke: () => Ink.quiet,
      grid: { show: false },
      ticks: { stroke: () => Ink.rule, size: 4 },
      font: Ink.font,
      size: 28,
      splits: (u) => timeTicks(u.width - GUTTER - MARGIN),
      values: (_, ticks) => ticks.map((tick) => timeText(tick, ticks.length > 1 ? ticks[1] - ticks[0] : 1)),
    },
    {
      stroke: () => Ink.quiet,
      grid: { stroke: () => Ink.rule, width: 1 },
      ticks: { show: false },
      font: Ink.font,
      size: GUTTER,
      values: (_, ticks) => ticks.map((tick) => figure(tick, Number.isInteger(tick) ? 0 : 1)),
      ...options,
    },
  ];
}

// The step that holds the cursor: a value holds from its time on, and the nearest time may be that of the next step.
const stepAt = (u, _series, nearest, at) => (nearest > 0 && u.data[0][nearest] > at ? nearest - 1 : nearest);

export function makePlot(data, id, height, series, values, more) {
  const host = document.getElementById(id);
  const plot = new uPlot(
    {
      width: Math.max(host.clientWidth, 200),
      height,
      padding: [8, MARGIN, 0, 0],
      pxAlign: 1,
      cursor: {
        sync: { key: "run", setSeries: false },
        drag: { x: true, y: false, setScale: false },
        points: { show: !more.scatter },
        y: Boolean(more.scatter),
        ...(more.stepped ? { dataIdx: stepAt } : {}),
      },
      scales: {
        x: { time: false, range: () => [View.from, View.to] },
        y: more.scale ?? { range: (_, _low, high) => [0, Math.max(high, 1) * 1.05] },
      },
      axes: axes(more.axis),
      series: [{ label: "second", value: (_, v) => (v === null || v === undefined ? "–" : v.toFixed(2)) }, ...series],
      legend: { show: !more.scatter, live: true },
      hooks: {
        drawClear: [
          (u) => {
            const ratio = uPlot.pxRatio;
            const context = u.ctx;
            const { left, top, width, height } = u.bbox;
            const toX = (seconds) => u.valToPos(seconds, "x", true);
            (more.background ?? drawBands)(context, data, toX, left, left + width, top, height);
            drawPhases(context, data, toX, left, left + width, top, height, ratio);
            if (more.scatter) {
              context.save();
              more.scatter(u, context, ratio);
              context.restore();
            }
          },
        ],
        draw: [
          (u) => {
            const { left, top, width, height } = u.bbox;
            const toX = (seconds) => u.valToPos(seconds, "x", true);
            nameFaults(u.ctx, data, toX, left, left + width, top + height, uPlot.pxRatio);
            namePhases(u.ctx, data, toX, left, left + width, top, uPlot.pxRatio);
            drawViolationMarks(u.ctx, data, toX, left, left + width, top, height, uPlot.pxRatio);
          },
        ],
        setSelect: [
          (u) => {
            if (u.select.width > 4)
              View.set(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
        setCursor: [
          (u) => {
            if (Charts.syncing || !u.over.matches(":hover")) return;
            Charts.syncing = true;
            View.point(u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null);
            Charts.syncing = false;
          },
        ],
      },
    },
    values,
    host,
  );
  plot.over.addEventListener("click", (event) => {
    const box = plot.over.getBoundingClientRect();
    if (event.clientY - box.top <= MARKS_HEIGHT)
      Charts.onMark?.(plot.posToVal(event.clientX - box.left, "x"), (View.to - View.from) / box.width);
  });
  const secondsAt = (event) => plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x");
  wireTouch(plot.over, secondsAt, () => {}, true);
  plot.over.addEventListener("dblclick", () => View.whole());
  plot.over.addEventListener("pointerleave", () => View.point(null));
  Charts.plots.push({ plot, host, height });
  drawKeys(plot);
  return plot;
}

// The legend shows each line as it is drawn, dashes too: colour alone does not distinguish quantiles, nor replicas in print.
function drawKeys(plot) {
  plot.root.querySelectorAll(".u-legend .u-series").forEach((row, place) => {
    const { stroke, dash, width } = plot.series[place];
    const marker = row.querySelector(".u-marker");
    if (!marker || typeof stroke !== "function") return;
    const picture = svg("svg", { viewBox: "0 0 28 10", class: "line-key", "aria-hidden": "true" });
    const drawn = svg("line", {
      x1: 0,
      x2: 28,
      y1: 5,
      y2: 5,
      stroke: stroke(plot, place),
      "stroke-width": width,
      "stroke-dasharray": (dash ?? []).join(" ") || "none",
    });
    picture.append(drawn);
    marker.replaceChildren(picture);
  });
}

export function line(label, colour, more) {
  return {
    label,
    stroke: colour,
    width: 1.25,
    points: { show: false },
    spanGaps: false,
    value: (_, v) => figure(v, Number.isInteger(v) ? 0 : 1),
    ...more,
  };
}

export function logScale() {
  return {
    distr: 3,
    range: (_, low, high) => [
      Math.max(10 ** Math.floor(Math.log10(Math.max(low, 0.01))), 0.01),
      10 ** Math.ceil(Math.log10(Math.max(high, 1.01))),
    ],
  };
}

// Indexes so large that the axis has no room for them: in millions where every tick is a multiple of one, else by their
// last digits; what these are added to stands in the chart's heading.
const LARGE = 1e7;

export const indexScale = {
  range: (_, low, high) => (high >= LARGE ? [low, Math.max(high, low + 1)] : [0, Math.max(high, 1) * 1.05]),
};

export function indexTexts(ticks) {
  const known = ticks.filter((tick) => tick !== null);
  const largest = Math.max(0, ...known);
  if (largest < LARGE) return { base: 0, texts: ticks.map((tick) => figure(tick, Number.isInteger(tick) ? 0 : 1)) };
  if (known.every((tick) => tick % 1e6 === 0))
    return { base: 0, texts: ticks.map((tick) => `${figure(tick / 1e6, 0)} M`) };
  const base = Math.floor(known[0] / 1e6) * 1e6;
  return { base, texts: ticks.map((tick) => `+${figure(tick - base, 0)}`) };
}

export const indexAxis = {
  values: (u, ticks) => {
    const { base, texts } = indexTexts(ticks);
    const said = u.root.closest(".chart")?.querySelector(".axis-base");
    if (said) said.textContent = base ? `, above ${figure(base, 0)}` : "";
    return texts;
  },
};

const decades = (_, ticks) => ticks.map((tick) => (Math.abs(Math.log10(tick) % 1) < 1e-6 ? tick : null));

const logText = (tick) => (tick < 1 ? String(tick) : figure(tick, 0));

export const logAxis = {
  filter: decades,
  grid: { stroke: () => Ink.rule, width: 1, filter: decades },
  values: (_, ticks) => ticks.map((tick) => (Math.abs(Math.log10(tick) % 1) < 1e-6 ? logText(tick) : null)),
};

// Every chart follows the shared window and the shared cursor.
export function shareView() {
  View.listeners.push(() => {
    for (const { plot } of Charts.plots) plot.setScale("x", { min: View.from, max: View.to });
  });
  View.cursorListeners.push((seconds) => {
    if (Charts.syncing || !Charts.plots.length) return;
    Charts.syncing = true;
    for (const { plot } of Charts.plots)
      plot.setCursor(
        seconds === null ? { left: -10, top: -10 } : { left: plot.valToPos(seconds, "x"), top: 10 },
        false,
      );
    Charts.syncing = false;
  });
}

export function resizeCharts() {
  for (const { plot, host, height } of Charts.plots) {
    plot.setSize({ width: Math.max(host.clientWidth, 200), height });
    drawKeys(plot);
  }
}
