// The state of the timeline, and lookups in the run's operations, which are columns.

import { View } from "./view.js";

export function textOfValue(data, letter, i) {
  const { ops, names } = data;
  const kind = ops[`${letter}k`][i];
  const a = ops[`${letter}a`][i];
  const b = ops[`${letter}b`][i];
  if (kind === 1) return String(a);
  if (kind === 2) return `${a} → ${b}`;
  if (kind === 3) return names.texts[a] ?? "…";
  if (kind === 4) return `absent → ${b}`;
  return "";
}

export function nameOf(data, column, i) {
  const code = data.ops[column][i];
  return code < 0 ? "" : data.names[column][code];
}

export function plainKey(text) {
  return text.length > 1 && text[0] === '"' && text.at(-1) === '"' ? text.slice(1, -1) : text;
}

export const OUTCOMES = ["ok", "info", "fail"];

export function lowerBound(array, value) {
  let low = 0;
  let high = array.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (array[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

export const Timeline = {
  data: null,
  canvas: null,
  row: null,
  rows: [],
  mask: null,
  reach: null,
  focus: null,
  hits: [],
  range: null,
  rowHeight: 18,
};

export const BADNESS = [1, 3, 2];

// When each operation ends on the screen: an open one (no completion) lasts to the end of the run.
export function endOf(data, i) {
  return data.ops.d[i] < 0 ? data.end * 1e6 : data.ops.t[i] + data.ops.d[i];
}

// reach[i]: the latest end of operations 0..i, so that bisection finds the first visible one.
export function reachOf(data) {
  const reach = new Float64Array(data.ops.t.length);
  let latest = 0;
  for (let i = 0; i < reach.length; i++) {
    latest = Math.max(latest, endOf(data, i));
    reach[i] = latest;
  }
  return reach;
}

export function visibleRange() {
  const { ops } = Timeline.data;
  return [lowerBound(Timeline.reach, View.from * 1e6), lowerBound(ops.t, View.to * 1e6 + 1)];
}

export function boxLabel(i, named = true) {
  const { data } = Timeline;
  const kind = data.names.f[data.ops.f[i]];
  const steps = stepsOf(i);
  if (steps) return steps.map(({ text }) => text).join(", ");
  const key = named ? plainKey(nameOf(data, "k", i)) : "";
  const text = (data.ops.w ? nameOf(data, "w", i) : "") || labelInViolation(data, data.ops.i[i]);
  if (text) return `${key ? `${key} ` : ""}${text}`;
  const value =
    kind === "read" ? (data.ops.o[i] === 0 ? textOfValue(data, "q", i) || "absent" : "") : textOfValue(data, "v", i);
  return `${kind} ${key ? `${key} ` : ""}${value}${kind === "read" ? "" : answerText(i, value)}`;
}

const READS = ["r", "read"];

// The steps of a transaction in the order in which they were made; null for other operations, and if they are cut.
export function stepsOf(i) {
  const { data } = Timeline;
  if (nameOf(data, "f", i) !== "txn") return null;
  const answered = data.ops.o[i] === 0;
  try {
    const steps = JSON.parse((answered && textOfValue(data, "q", i)) || textOfValue(data, "v", i));
    return steps.map(([f, key, value]) => ({ writes: !READS.includes(f), text: stepText(f, key, value, answered) }));
  } catch {
    return null;
  }
}

function stepText(f, key, value, answered) {
  if (!READS.includes(f)) return `${f === "w" ? "write" : f} ${plain(value)} to ${plain(key)}`;
  if (!answered) return `read ${plain(key)}`;
  const found = Array.isArray(value) ? `[${value.map(plain).join(" ")}]` : value === null ? "nothing" : plain(value);
  return `read ${found} in ${plain(key)}`;
}

function plain(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

// How a violation writes an answer that is too long to be shown.
function labelInViolation(data, index) {
  for (const { ops, labels } of data.violations ?? []) {
    const label = labels?.[ops.indexOf(index)];
    if (label) return label;
  }
  return "";
}

// What an operation that is no read was answered, unless that is what it asked for.
function answerText(i, asked) {
  const { data } = Timeline;
  const answer = data.ops.o[i] === 0 ? textOfValue(data, "q", i) : "";
  return answer && answer !== asked ? ` → ${answer}` : "";
}

export function placeOfIndex(index) {
  const { ops } = Timeline.data;
  const place = lowerBound(ops.i, index);
  return place < ops.i.length && ops.i[place] === index ? place : -1;
}
