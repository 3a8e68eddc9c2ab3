// The picture below the headline: the whole run on one time axis, whatever window the other charts show.

import { clip, GUTTER, Ink, luminance, MARGIN, prepareCanvas, rowLabel, scaleX, strokeOf } from "./canvas.js";
import { hideCard, showCard } from "./details.js";
import { figure } from "./dom.js";
import { drawFaultRow, FAULT_ROW, layFaults } from "./fault_rows.js";
import { drawBands, drawPhases } from "./marks.js";
import { OUTCOMES, Timeline } from "./operations.js";
import { leaderAt, termText } from "./roles.js";
import { View } from "./view.js";

const CAPTION = 18;
const RATE = 64;
const LEADERS = 20;
const LACKING = 68;
const LABEL = 13;
const AXIS = 22;
const MOMENT = 22;
// Room for the piece of line before a node's name; how wide lines are here, as a share of those in the charts.
const KEY = 24;
const THIN = 0.7;
const MOST_FAULT_ROWS = 4;
// Below this width names stand beside their bars, so that faults need more rows.
const NARROW = 600;
// Seconds on both sides of a moment that was clicked.
const ROOM = 3;

export function initOverview(data) {
  const figure = document.getElementById("overview");
  if (!figure) return;
  const canvas = figure.querySelector("canvas");
  const draw = () => drawOverview(data, figure, canvas);
  const secondsAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return ((event.clientX - box.left - GUTTER) / (box.width - GUTTER - MARGIN)) * data.end;
  };
  canvas.addEventListener("pointermove", (event) => {
    const seconds = secondsAt(event);
    const inside = seconds >= 0 && seconds <= data.end;
    if (Timeline.data) showCard(inside ? describeMoment(data, seconds) : null, event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", hideCard);
  canvas.addEventListener("click", (event) => {
    hideCard();
    View.set(secondsAt(event) - ROOM, secondsAt(event) + ROOM);
    document.getElementById("timeline").scrollIntoView();
  });
  View.listeners.push(draw);
  draw();
}

// Who led says nothing where there is one node.
const leadersOf = (data) => (data.nodes.length > 1 ? (data.led ?? []) : []);

// What each node lacked: elements of a set, by its reads, or entries that it had not applied, by its probes; null where
// neither is known.
function lackingOf(data) {
  const kinds = [
    [["acknowledged elements that the reads of each node lack", "acknowledged elements, lacking"], data.lacking],
    [
      ["committed entries that each node has not applied", "entries not applied"],
      data.progress?.lag.map((row) => [data.progress.time, row]),
    ],
  ];
  const [names, rows] = kinds.find(([, rows]) => rows?.some(([, values]) => values.some((v) => v !== null))) ?? [];
  if (!rows) return null;
  const most = rows.reduce((most, [, values]) => Math.max(most, highest(values)), 0);
  return most ? { names, rows, most } : null;
}

const highest = (values) => values.reduce((most, v) => Math.max(most, v ?? 0), 0);

// The last value at or before a moment.
function valueAt([times, values], seconds) {
  let found = null;
  for (let i = 0; i < times.length && times[i] <= seconds; i++) if (values[i] !== null) found = values[i];
  return found;
}

function describeMoment(data, seconds) {
  const { rates } = data;
  const bin = rates ? Math.min(Math.floor(seconds / rates.width), rates.time.length - 1) : -1;
  const led = leaderAt(data, seconds);
  const faults = data.faults.filter((f) => f.state === "installed" && f.start <= seconds && seconds <= f.end);
  const lacking = lackingOf(data);
  const behind = (lacking?.rows ?? [])
    .map((row, i) => [data.nodes[i].name, valueAt(row, seconds)])
    .filter(([, value]) => value);
  return [
    ["at", `${seconds.toFixed(1)} s`],
    ...(rates ? OUTCOMES.map((name, row) => [`${name}, per second`, figure(rates.rows[row][bin], 0)]) : []),
    ...(data.roles ? [["leader", led ? `${led.node}${termText(led.term)}` : "none"]] : []),
    ...(lacking
      ? [[lacking.names.at(-1), behind.map(([name, value]) => `${name} ${figure(value, 0)}`).join(", ") || "none"]]
      : []),
    ["fault", faults.map((f) => `#${f.id} ${f.fault}`).join(", ") || "none"],
  ];
}

function drawOverview(data, host, canvas) {
  const width = host.clientWidth;
  const toX = scaleX({ left: GUTTER, right: width - MARGIN }, 0, data.end);
  const faults = layFaults(
    data,
    canvas.getContext("2d"),
    width,
    width < NARROW ? 2 * MOST_FAULT_ROWS : MOST_FAULT_ROWS,
  );
  const lacking = lackingOf(data);
  if (lacking) Object.assign(lacking, placeKeys(canvas.getContext("2d"), lacking, data.nodes, GUTTER, width - MARGIN));
  // Moments stand below the faults, so that their lines never cross a fault's name.
  const top = faults.length * FAULT_ROW + 2;
  const panels = top + placeMoments(host, width, toX, top) * MOMENT;
  const bottom =
    panels +
    (data.rates ? CAPTION + RATE : 0) +
    (leadersOf(data).length ? CAPTION + LEADERS : 0) +
    (lacking ? CAPTION * (1 + rowsOf(lacking.keys)) + LACKING : 0);
  const area = { ...prepareCanvas(canvas, bottom + AXIS + LABEL + 4), captions: [], keys: [], leaders: [] };
  const { context } = area;
  faults.forEach((row, place) => {
    drawFaultRow(data, area, toX, row, place * FAULT_ROW);
  });
  drawBands(context, data, toX, area.left, area.right, panels, bottom - panels);
  drawPhases(context, data, toX, area.left, area.right, panels, bottom - panels, 1);
  let y = panels;
  if (data.rates) y = drawRates(data, area, toX, y);
  if (leadersOf(data).length) y = drawLeaders(data, area, toX, y);
  if (lacking) y = drawLacking(data, lacking, area, toX, y);
  drawAxis(area, toX, bottom, data.end);
  namePhases(data, area, toX, bottom + AXIS);
  context.strokeStyle = Ink.mark;
  for (const mark of host.querySelectorAll(".moment")) {
    const x = Math.round(toX(Number(mark.dataset.at))) + 0.5;
    line(context, x, mark.offsetTop + mark.offsetHeight, x, bottom);
  }
  writeCaptions(area);
  writeKeys(data, area);
  writeLeaders(area);
}

function line(context, fromX, fromY, toX, toY) {
  context.beginPath();
  context.moveTo(fromX, fromY);
  context.lineTo(toX, toY);
  context.stroke();
}

// Puts the button of each moment beside its line, one below the other where they would meet; returns how many rows.
function placeMoments(host, width, toX, top) {
  const ends = [];
  const marks = [...host.querySelectorAll(".moment")].sort((a, b) => a.dataset.at - b.dataset.at);
  for (const mark of marks) {
    const wide = mark.offsetWidth;
    const x = toX(Number(mark.dataset.at));
    const left = x + wide <= width ? x : Math.max(x - wide, 0);
    let row = ends.findIndex((end) => end <= left);
    if (row < 0) row = ends.length;
    ends[row] = left + wide + 4;
    Object.assign(mark.style, { left: `${left}px`, top: `${top + row * MOMENT}px` });
  }
  return ends.length;
}

// Captions are written last, and hide the lines of moments behind them; of several texts the first that fits is taken.
function caption(area, texts, y) {
  area.captions.push([texts, y + CAPTION / 2]);
}

function writeCaptions({ context, captions, left, right }) {
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const [texts, y] of captions) {
    const fitting = texts.find((one) => context.measureText(one).width <= right - left);
    const shown = fitting ?? clip(context, texts.at(-1), right - left);
    context.fillStyle = Ink.paper;
    context.fillRect(left, y - LABEL / 2, context.measureText(shown).width + 2, LABEL);
    context.fillStyle = Ink.quiet;
    context.fillText(shown, left, y);
  }
}

// The name of a leader stands in its bar, or behind it where the bar is too short.
function writeLeaders({ context, leaders }) {
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { text, x, y, colour } of leaders) {
    context.fillStyle = colour ?? Ink.paper;
    context.fillRect(x - 1, y - LABEL / 2, context.measureText(text).width + 2, LABEL);
    context.fillStyle = colour === null ? Ink.ink : luminance(colour) > 0.5 ? "#000" : "#fff";
    context.fillText(text, x, y);
  }
}

// The dotted lines are where phases begin; their names stand below the axis.
function namePhases({ phases }, { context, right }, toX, y) {
  context.fillStyle = Ink.quiet;
  context.textBaseline = "top";
  context.textAlign = "left";
  let end = 0;
  for (const { name, start } of phases) {
    const wide = context.measureText(`┊ ${name}`).width;
    const beside = toX(start) - 2 + wide <= right;
    const x = beside ? toX(start) - 2 : toX(start) + 2 - wide;
    if (x < end) continue;
    context.fillText(beside ? `┊ ${name}` : `${name} ┊`, x, y);
    end = x + wide + 8;
  }
}

function axisOf(area, most, y, height) {
  const { context } = area;
  rowLabel(area, figure(most, 0), y + 5);
  rowLabel(area, "0", y + height - 5);
  context.strokeStyle = Ink.rule;
  line(context, area.left, y + height + 0.5, area.right, y + height + 0.5);
}

// Outcomes upon each other: ok, then info, then fail.
function drawRates({ rates }, area, toX, y) {
  const { context } = area;
  const from = rates.time.map((time) => toX(time - rates.width / 2));
  const sums = rates.time.map((_, i) => rates.rows.reduce((sum, row) => sum + row[i], 0));
  const most = Math.max(highest(sums), 1);
  const wide = Math.max(toX(rates.width) - toX(0), 1);
  const seen = OUTCOMES.filter((_, row) => rates.rows[row].some((v) => v > 0));
  caption(area, [`completions a second: ${seen.join(", ")}`, "completions a second"], y);
  const base = y + CAPTION + RATE;
  const below = sums.map(() => 0);
  OUTCOMES.forEach((name, row) => {
    context.fillStyle = name === "ok" ? Ink.ok : Ink[`${name}-ink`];
    rates.rows[row].forEach((value, i) => {
      const height = (value / most) * RATE;
      if (height > 0) context.fillRect(from[i], base - below[i] - height, Math.min(wide, area.right - from[i]), height);
      below[i] += height;
    });
  });
  axisOf(area, most, y + CAPTION, RATE);
  return base;
}

function drawLeaders(data, area, toX, y) {
  const { context } = area;
  caption(area, [data.led.some(([, term]) => term >= 0) ? "leader and term" : "leader"], y);
  for (const [place, term, from, to] of data.led) {
    const { name, colour } = data.nodes[place];
    const a = toX(from);
    const b = Math.min(Math.max(toX(to), a + 1.5), area.right);
    const next = Math.min(
      ...data.led.filter(([, , start]) => start > from).map(([, , start]) => toX(start)),
      area.right,
    );
    context.fillStyle = colour;
    context.fillRect(a, y + CAPTION, b - a, LEADERS - 4);
    const middle = y + CAPTION + LEADERS / 2 - 2;
    const fits = (room) => [`${name}${termText(term)}`, name].find((one) => context.measureText(one).width <= room);
    const [inside, after] = [fits(b - a - 8), fits(next - b - 8)];
    if (inside) area.leaders.push({ text: inside, x: a + 4, y: middle, colour });
    else if (after) area.leaders.push({ text: after, x: b + 4, y: middle, colour: null });
  }
  return y + CAPTION + LEADERS;
}

// Where the names of the nodes that lack something at the end stand: in the caption's row, or below it if that is full.
function placeKeys(context, lacking, nodes, left, right) {
  for (const name of lacking.names) {
    const keys = keysAfter(context, name, lacking.rows, nodes, left, right);
    if (!rowsOf(keys) || name === lacking.names.at(-1)) return { caption: name, keys };
  }
}

function keysAfter(context, name, rows, nodes, left, right) {
  const keys = [];
  let x = left + context.measureText(name).width + KEY;
  let row = 0;
  rows.forEach(([, values], place) => {
    const last = values.at(-1);
    if (!last) return;
    const text = `${nodes[place].name} ${figure(last, 0)}`;
    const wide = KEY + context.measureText(text).width;
    if (x + wide > right) [x, row] = [left, row + 1];
    keys.push({ place, text, x, row });
    x += wide + KEY / 2;
  });
  return keys;
}

const rowsOf = (keys) => Math.max(0, ...keys.map(({ row }) => row));

// A line for each node, which holds until its next value.
function drawLacking(data, { caption: said, rows, most, keys }, area, toX, y) {
  const { context } = area;
  const top = y + CAPTION * (1 + rowsOf(keys));
  const toY = (value) => top + LACKING - (value / Math.max(most, 1)) * (LACKING - 4);
  caption(area, [said], y);
  axisOf(area, most, top, LACKING);
  rows.forEach(([times, values], i) => {
    strokeAs(context, data, i);
    context.beginPath();
    let last = null;
    times.forEach((time, at) => {
      const [x, value] = [toX(time), values[at]];
      if (last !== null) context.lineTo(x, toY(last));
      if (value === null) last = null;
      else {
        if (last === null) context.moveTo(x, toY(value));
        else context.lineTo(x, toY(value));
        last = value;
      }
    });
    context.stroke();
  });
  context.setLineDash([]);
  context.lineWidth = 1;
  area.keys = keys.map((key) => ({ ...key, y: y + CAPTION * key.row + CAPTION / 2 }));
  return top + LACKING;
}

function strokeAs(context, data, place) {
  const { width, dash } = strokeOf(place);
  context.strokeStyle = data.nodes[place].colour;
  context.lineWidth = width * THIN;
  context.setLineDash(dash);
}

// Like captions, keys hide the lines of moments behind them.
function writeKeys(data, { context, keys }) {
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { place, text, x, y } of keys) {
    context.fillStyle = Ink.paper;
    context.fillRect(x - 2, y - LABEL / 2, KEY + context.measureText(text).width + 4, LABEL);
    strokeAs(context, data, place);
    line(context, x, y, x + KEY - 4, y);
    context.fillStyle = Ink.ink;
    context.fillText(text, x + KEY, y);
  }
  context.setLineDash([]);
  context.lineWidth = 1;
}

function drawAxis(area, toX, y, end) {
  const { context } = area;
  const rough = end / Math.max(2, (area.right - area.left) / 90);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
  context.fillStyle = Ink.quiet;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (let tick = 0; tick <= end * 1.000001; tick += step)
    context.fillText(`${Number(tick.toFixed(3))}${tick === 0 ? " s" : ""}`, toX(tick), y + 6);
}
