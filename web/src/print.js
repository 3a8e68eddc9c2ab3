// Paper: everything is drawn anew in the light theme and as wide as a sheet, and put back afterwards.

import { View } from "./view.js";

export function wirePrint(redraw) {
  const root = document.documentElement;
  let theme = null;
  const begin = () => {
    if (theme !== null) return;
    theme = root.dataset.theme ?? "";
    root.dataset.theme = "light";
    root.classList.add("paper");
    drawNow(redraw);
  };
  const end = () => {
    if (theme === null) return;
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    theme = null;
    root.classList.remove("paper");
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
