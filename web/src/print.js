// Paper: everything is drawn anew in the light theme and as wide as a sheet, with the folds open that are evidence or
// explain it, and put back afterwards.

import { View } from "./view.js";

// Coverage, log lines, counterexamples, what a check saw in full, and words; not lists of elements, nor the history as text.
const ON_PAPER =
  "#coverage details, details.excerpt, details.further, #words details, #faults details.costs, .checks td > details:not(.elements)";

export function wirePrint(redraw) {
  const root = document.documentElement;
  let theme = null;
  let opened = [];
  const begin = () => {
    if (theme !== null) return;
    theme = root.dataset.theme ?? "";
    root.dataset.theme = "light";
    root.classList.add("paper");
    opened = [...document.querySelectorAll(ON_PAPER)].filter((fold) => !fold.open);
    for (const fold of opened) fold.open = true;
    drawNow(redraw);
  };
  const end = () => {
    if (theme === null) return;
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    theme = null;
    root.classList.remove("paper");
    for (const fold of opened) fold.open = false;
    drawNow(redraw);
  };
  addEventListener("beforeprint", begin);
  addEventListener("afterprint", end);
}

// A browser waits for no frame before it prints.
function drawNow(redraw) {
  redraw();
  for (const listener of View.listeners) listener();
}
