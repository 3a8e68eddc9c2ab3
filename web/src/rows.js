// The rows of the timeline: a row a process, or as many rows as a node or a key needs.

import { endOf, plainKey, Timeline } from "./operations.js";

const ORDER = new Intl.Collator("en", { numeric: true });

// Natural order: n2 before n10.
export function inOrder(a, b) {
  return ORDER.compare(a, b);
}

const MAX_ROWS = 1500;

export function groupRows(by) {
  const { data } = Timeline;
  const { ops } = data;
  if (by === "process") {
    Timeline.row = ops.lane;
    Timeline.rows = processLabels(data);
  } else Object.assign(Timeline, packRows(data, by === "node" ? "n" : "k"));
  Timeline.by = by;
  const count = Math.max(Timeline.rows.length, 1);
  Timeline.rowHeight = Math.max(5, Math.min(20, Math.floor(520 / count)));
}

export function processLabels(data) {
  const first = new Array(data.lanes).fill(null);
  const many = new Array(data.lanes).fill(0);
  const { lane, p1, ps } = data.ops;
  for (let i = p1.indexOf(1), next = 0; i >= 0; i = p1.indexOf(1, i + 1), next++) {
    first[lane[i]] ??= ps[next];
    many[lane[i]]++;
  }
  return first.map((process, lane) => ({ label: many[lane] > 1 ? `${process} +${many[lane] - 1}` : String(process) }));
}

// Greedy packing: each group gets as many rows as it has operations at once.
function packRows(data, column) {
  const { ops, names } = data;
  const row = new Int32Array(ops.t.length);
  const groups = new Map();
  for (let i = 0; i < row.length; i++) {
    const code = ops[column][i];
    let group = groups.get(code);
    if (!group) {
      group = { code, free: [] };
      groups.set(code, group);
    }
    let lane = group.free.findIndex((end) => end <= ops.t[i]);
    if (lane < 0) lane = Math.min(group.free.length, 63);
    group.free[lane] = endOf(data, i);
    row[i] = lane;
  }
  const rows = [];
  const title = (code) => (code < 0 ? "–" : plainKey(names[column][code]));
  const order = [...groups.values()]
    .map((group) => ({ group, name: title(group.code) }))
    .sort((a, b) => inOrder(a.name, b.name));
  for (const { group, name } of order) {
    group.start = rows.length;
    for (const lane of group.free.keys()) rows.push({ label: lane ? "" : name, first: lane === 0 });
  }
  for (let i = 0; i < row.length; i++) row[i] += groups.get(ops[column][i]).start;
  return { row, rows: rows.slice(0, MAX_ROWS) };
}
