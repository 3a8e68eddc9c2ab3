// The page's address keeps all that was chosen: time window, rows, filters, query, violation, pins, selected operation,
// selected stretch of time and how its table is grouped.

import { applyFilters, FILTERS } from "./filters.js";
import { placeOfIndex, plainKey, Timeline } from "./operations.js";
import { chooseRange } from "./range_table.js";
import { groupRows } from "./rows.js";
import { markHits } from "./search.js";
import { Selection, select } from "./selection.js";
import { View } from "./view.js";
import { showViolation } from "./violations.js";

const field = (id) => document.getElementById(id);
const readSpan = (text) => (text ?? "").split("-").map(Number);
const spanText = (from, to) => `${from.toFixed(4)}-${to.toFixed(4)}`;

// A link to a section holds no "=": it moves the reader, and changes nothing of what was chosen.
export function readHash() {
  const parts = new URLSearchParams(location.hash.slice(1));
  if (!location.hash.includes("=")) return;
  const [from, to] = readSpan(parts.get("t"));
  const index = parts.get("index");
  if (index && field("progress-kind")) {
    field("progress-kind").value = index;
    field("progress-kind").dispatchEvent(new Event("input"));
  }
  if (Timeline.data) readTimeline(parts);
  if (parts.has("t") && to > from) View.set(from, to);
  const what = ["violation", "pins", "op", "q", "rows", "stretch", ...FILTERS.map(([name]) => name)];
  const section = what.some((name) => parts.has(name))
    ? "timeline"
    : index && field("chart-progress")
      ? "chart-progress"
      : "charts";
  field(section)?.scrollIntoView();
}

function readTimeline(parts) {
  const rows = parts.get("rows");
  if (["process", "node", "key"].includes(rows)) {
    field("f-rows").value = rows;
    groupRows(rows);
  }
  const violation = Number(parts.get("violation")) - 1;
  const known = Timeline.data.violations[violation] !== undefined;
  if (known && !parts.has("pins")) showViolation(violation);
  if (known) Timeline.focus = violation;
  for (const [name, id] of FILTERS) if (parts.has(name)) chooseFilter(id, parts.get(name));
  applyFilters();
  const places = (text) => (text ?? "").split(",").map((index) => (index === "" ? -1 : placeOfIndex(Number(index))));
  if (parts.has("pins")) Selection.pins = places(parts.get("pins")).filter((i) => i >= 0);
  const [chosen] = places(parts.get("op"));
  if (chosen >= 0 || parts.has("pins")) select(chosen >= 0 ? chosen : null);
  if (parts.has("q")) {
    field("f-search").value = parts.get("q");
    markHits();
  }
  const grouped = field("by-table");
  if (parts.has("by")) grouped.value = parts.get("by");
  if (grouped.selectedIndex < 0) grouped.selectedIndex = 0;
  const [from, to] = readSpan(parts.get("stretch"));
  if (to > from) chooseRange([from, to]);
}

// Options of keys and kinds stand for codes that differ from page to page: the address holds their names.
function chooseFilter(id, text) {
  const control = field(id);
  if (control.tagName !== "SELECT") control.value = text;
  else control.value = [...control.options].find((one) => one.value === text || one.textContent === text)?.value ?? "";
}

let hashTimer = 0;

export function writeHash() {
  clearTimeout(hashTimer);
  hashTimer = setTimeout(() => {
    const parts = new URLSearchParams(chosenParts());
    const text = parts.toString().replaceAll("%2C", ",");
    if (text || location.hash.includes("="))
      history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  }, 200);
}

function* chosenParts() {
  const { data, by, focus, range } = Timeline;
  if (View.from > 0 || View.to < View.end) yield ["t", spanText(View.from, View.to)];
  const index = field("progress-kind")?.value;
  if (index && index !== "applied") yield ["index", index];
  if (!data) return;
  if (by && by !== "process") yield ["rows", by];
  if (focus !== null) yield ["violation", String(focus + 1)];
  for (const [name, id] of FILTERS) {
    const control = field(id);
    if (control.value === "") continue;
    const named = id === "f-key" || id === "f-kind";
    yield [name, named ? plainKey(control.selectedOptions[0].textContent) : control.value];
  }
  if (field("f-search").value.trim()) yield ["q", field("f-search").value.trim()];
  const indexes = Selection.pins.map((i) => data.ops.i[i]);
  if (indexes.length || focus !== null) yield ["pins", indexes.join(",")];
  if (View.selected !== null) yield ["op", String(data.ops.i[View.selected])];
  if (range) yield ["stretch", spanText(...range)];
  const grouped = field("by-table");
  if (grouped.selectedIndex > 0) yield ["by", grouped.value];
}
