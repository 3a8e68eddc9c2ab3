// Buttons, links, filter fields and keys.

import { option } from "./dom.js";
import { applyFilters, clearFilters, FILTERS } from "./filters.js";
import { plainKey, Timeline } from "./operations.js";
import { groupRows, inOrder } from "./rows.js";
import { markHits, search, stepHit } from "./search.js";
import { pin, unpinAll } from "./selection.js";
import { View, ViewKeys } from "./view.js";
import { isError, showViolation, step, stepViolation } from "./violations.js";

function addOptions(id, names, plain) {
  const select = document.getElementById(id);
  const shown = names.slice(0, 2000).map((name, code) => [plain ? plainKey(name) : name, code]);
  if (shown.length <= 500) shown.sort((a, b) => inOrder(a[0], b[0]));
  for (const [name, code] of shown) {
    select.append(option(String(code), name));
  }
}

// Hits are those among what passes the filters.
function filter() {
  applyFilters();
  if (Timeline.hits.length) markHits();
}

export function fillFilters(data) {
  addOptions("f-key", data.names.k, true);
  addOptions("f-kind", data.names.f, false);
  const form = document.getElementById("filters");
  const on = (id, action) => document.getElementById(id)?.addEventListener("click", action);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    search(1);
  });
  for (const [, id] of FILTERS) document.getElementById(id).addEventListener("input", filter);
  document.getElementById("f-rows").addEventListener("input", (event) => {
    groupRows(event.target.value);
    View.changed();
  });
  on("b-next", () => step(1, isError));
  on("b-prev", () => step(-1, isError));
  on("b-next-violation", () => stepViolation(1));
  on("b-prev-violation", () => stepViolation(-1));
  on("b-next-hit", () => stepHit(1));
  on("b-prev-hit", () => stepHit(-1));
  on("b-reset", () => View.whole());
  on("b-back", () => View.back());
  on("b-clear", () => {
    clearFilters();
    filter();
  });
  for (const id of ["b-next-violation", "b-prev-violation"])
    document.getElementById(id).hidden = !data.violations.length;
  document.getElementById("f-search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      search(event.shiftKey ? -1 : 1);
    }
  });
}

export function wireButtons() {
  for (const id of ["b-keys", "b-close-keys"]) document.getElementById(id).addEventListener("click", showKeys);
  for (const button of document.querySelectorAll(".copy"))
    button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector("code").textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(button.parentElement.querySelector("code"));
      }
    });
  for (const button of document.querySelectorAll(".go"))
    button.addEventListener("click", (event) => {
      event.preventDefault();
      go(button);
    });
  for (const row of document.querySelectorAll(".faults tbody tr"))
    row.addEventListener("click", (event) => {
      if (!event.target.closest("button, a, summary, details") && !String(getSelection()))
        row.querySelector("button.go").click();
    });
}

// Shows a violation, or a time window in the chart named by the button, with the index named by it.
function go(button) {
  const { from, to, violation, chart, index } = button.dataset;
  const kind = document.getElementById("progress-kind");
  if (violation !== undefined && Timeline.data) {
    showViolation(Number(violation));
    return;
  }
  View.set(Number(from), Number(to));
  if (index && kind) {
    kind.value = index;
    kind.dispatchEvent(new Event("input"));
  }
  const shown = chart && document.getElementById(chart);
  (shown && !shown.hidden ? shown : document.getElementById("charts")).scrollIntoView();
}

function showKeys() {
  const keys = document.getElementById("keys");
  if (keys.open) keys.close();
  else keys.showModal();
}

const Keys = {
  n: () => step(1, isError),
  p: () => step(-1, isError),
  v: () => stepViolation(1),
  V: () => stepViolation(-1),
  h: () => stepHit(1),
  H: () => stepHit(-1),
  b: () => View.back(),
  0: () => View.whole(),
  Home: () => View.whole(),
  "/": () => {
    const box = document.getElementById("f-search");
    box.scrollIntoView({ block: "center" });
    box.focus();
  },
  "?": () => showKeys(),
  Escape: () => {
    unpinAll();
    Timeline.range = null;
    document.activeElement?.blur();
  },
};

const TimelineKeys = {
  ...ViewKeys,
  Enter: () => {
    if (View.selected !== null) pin(View.selected);
  },
};

export function wireKeys() {
  addEventListener("keydown", (event) => {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      !(Timeline.data || event.key === "?") ||
      (document.getElementById("keys").open && event.key !== "?") ||
      (event.key !== "Escape" && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName))
    )
      return;
    const action = Keys[event.key] ?? (event.target === Timeline.canvas ? TimelineKeys[event.key] : undefined);
    if (action) {
      event.preventDefault();
      action();
    }
  });
}
