// The operations of a stretch of time as a table: counts, quantiles and errors by kind, outcome, client, node or key.

import { el, figure } from "./dom.js";
import { endOf, lowerBound, nameOf, OUTCOMES, plainKey, Timeline } from "./operations.js";
import { inOrder, processLabels } from "./rows.js";
import { View } from "./view.js";

const MOST_ROWS = 200;

const HEADS = ["", "count", "ok", "info", "fail", "p50 ms", "p95 ms", "p99 ms", "most ms", "most frequent error"];

const BY = {
  kind: (data) => (i) => nameOf(data, "f", i),
  outcome: (data) => (i) => OUTCOMES[data.ops.o[i]],
  client: (data) => {
    const labels = processLabels(data);
    return (i) => labels[data.ops.lane[i]].label;
  },
  node: (data) => (i) => nameOf(data, "n", i) || "–",
  key: (data) => (i) => plainKey(nameOf(data, "k", i)) || "–",
  phase: (data) => (i) => nameOf(data, "ph", i) || "–",
};

export function initRangeTable() {
  const fold = document.getElementById("as-table");
  const by = document.getElementById("by-table");
  const fill = () => {
    if (fold.open) fillTable(by.value);
  };
  for (const [element, name] of [
    [fold, "toggle"],
    [by, "input"],
  ])
    element.addEventListener(name, fill);
  View.listeners.push(fill);
  document.getElementById("b-range").addEventListener("click", () => chooseRange(null));
}

// A stretch that was dragged over with Shift, in seconds; null: what is in view.
export function chooseRange(range) {
  Timeline.range = range;
  if (range) document.getElementById("as-table").open = true;
  View.changed();
}

// Operations that overlap the stretch and pass the filters, by group; latencies of those that were answered ok.
export function groupsIn(data, from, to, by) {
  const { mask, reach } = Timeline;
  const { ops } = data;
  const nameOfGroup = BY[by](data);
  const groups = new Map();
  for (let i = lowerBound(reach, from * 1e6), last = lowerBound(ops.t, to * 1e6 + 1); i < last; i++) {
    if (!mask[i] || endOf(data, i) < from * 1e6) continue;
    const name = nameOfGroup(i);
    let group = groups.get(name);
    if (!group) {
      group = { name, counts: [0, 0, 0], took: [], errors: new Map() };
      groups.set(name, group);
    }
    group.counts[ops.o[i]]++;
    if (ops.o[i] === 0 && ops.d[i] >= 0) group.took.push(ops.d[i] / 1000);
    if (ops.e[i] >= 0) group.errors.set(ops.e[i], (group.errors.get(ops.e[i]) ?? 0) + 1);
  }
  return [...groups.values()].sort((a, b) => inOrder(a.name, b.name));
}

// Nearest rank, as in the charts.
export function quantile(sorted, share) {
  return sorted.length ? sorted[Math.ceil(share * sorted.length) - 1] : null;
}

function fillTable(by) {
  const { data, range } = Timeline;
  const [from, to] = range ?? [View.from, View.to];
  const groups = groupsIn(data, from, to, by);
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const [place, name] of HEADS.entries()) {
    const cell = el("th", name || by, place && place < 9 ? "num" : "");
    cell.scope = "col";
    head.append(cell);
  }
  const body = table.createTBody();
  for (const { name, counts, took, errors } of groups.slice(0, MOST_ROWS)) {
    const row = body.insertRow();
    const [code, times] = [...errors].sort((a, b) => b[1] - a[1])[0] ?? [];
    took.sort((a, b) => a - b);
    const numbers = [counts[0] + counts[1] + counts[2], ...counts].map((count) => figure(count, 0));
    const took4 = [0.5, 0.95, 0.99, 1].map((share) => figure(quantile(took, share), 1));
    row.append(el("th", name));
    for (const text of [...numbers, ...took4]) row.append(el("td", text, "num"));
    row.append(el("td", code === undefined ? "" : `${data.names.e[code]} (${times})`, "error"));
  }
  const more = groups.length > MOST_ROWS ? `, the first ${MOST_ROWS} of ${groups.length} rows` : "";
  document.getElementById("said-table").textContent =
    `${from.toFixed(3)} to ${to.toFixed(3)} s, ${range ? "as selected" : "as in view"}${more}`;
  document.getElementById("b-range").hidden = !range;
  document.querySelector("#as-table .scroll").replaceChildren(table);
}
