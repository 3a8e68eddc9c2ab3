// The page's address keeps the time window, the rows and the selected operation.

import { placeOfIndex, Timeline } from "./operations.js";
import { groupRows } from "./rows.js";
import { select } from "./selection.js";
import { View } from "./view.js";

export function readHash() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const [from, to] = (parts.get("t") ?? "").split("-").map(Number);
  if (parts.has("t") && to > from) View.set(from, to);
  if (parts.has("rows") && ["process", "node", "key"].includes(parts.get("rows")) && Timeline.data) {
    document.getElementById("f-rows").value = parts.get("rows");
    groupRows(parts.get("rows"));
  }
  if (parts.has("op") && Timeline.data) {
    const i = placeOfIndex(Number(parts.get("op")));
    if (i >= 0) select(i);
  }
}

let hashTimer = 0;

export function writeHash() {
  clearTimeout(hashTimer);
  hashTimer = setTimeout(() => {
    const parts = [];
    if (View.from > 0 || View.to < View.end) parts.push(`t=${View.from.toFixed(4)}-${View.to.toFixed(4)}`);
    if (Timeline.by && Timeline.by !== "process") parts.push(`rows=${Timeline.by}`);
    if (View.selected !== null && Timeline.data) parts.push(`op=${Timeline.data.ops.i[View.selected]}`);
    const wanted = parts.length ? `#${parts.join("&")}` : location.pathname + location.search;
    if (parts.length || location.hash.includes("=")) history.replaceState(null, "", wanted);
  }, 200);
}
