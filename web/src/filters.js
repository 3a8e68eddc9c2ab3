// Which operations the timeline shows.

import { Timeline } from "./operations.js";
import { View } from "./view.js";

// The name of each filter in the page's address, and its field.
export const FILTERS = [
  ["key", "f-key"],
  ["process", "f-process"],
  ["kind", "f-kind"],
  ["outcome", "f-outcome"],
];

export function say(text) {
  document.getElementById("f-said").textContent = text;
}

export function clearFilters() {
  for (const [, id] of FILTERS) document.getElementById(id).value = "";
}

export function applyFilters() {
  const { ops } = Timeline.data;
  const { mask } = Timeline;
  const chosen = (id) => document.getElementById(id).value.trim();
  const key = chosen("f-key");
  const kind = chosen("f-kind");
  const outcome = chosen("f-outcome");
  const process = chosen("f-process");
  let shown = 0;
  for (let i = 0; i < mask.length; i++) {
    const keep =
      (key === "" || ops.k[i] === +key) &&
      (kind === "" || ops.f[i] === +kind) &&
      (process === "" || String(ops.p[i]) === process) &&
      (outcome === "" || (outcome === "errors" ? ops.o[i] !== 0 : ops.o[i] === +outcome));
    mask[i] = keep ? 1 : 0;
    shown += mask[i];
  }
  document.getElementById("b-clear").hidden = shown === mask.length;
  say(shown === mask.length ? "" : `${shown.toLocaleString("en")} of ${mask.length.toLocaleString("en")}`);
  View.changed();
}
