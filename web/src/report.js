// The page of one run: unpacks the data, draws it, then wires keys, buttons, links and the address.

import { readHash, writeHash } from "./address.js";
import { wireBackLinks } from "./back_links.js";
import { GUTTER, MARGIN, readInk } from "./canvas.js";
import { initCharts } from "./charts.js";
import { fillFilters, wireButtons, wireKeys } from "./controls.js";
import { unpack } from "./decode.js";
import { markNear, openEvidence, wireDrawings, wireFolds, wireNext } from "./evidence.js";
import { applyFilters } from "./filters.js";
import { wireFaults } from "./network.js";
import { endOf, lowerBound, placeOfIndex, Timeline } from "./operations.js";
import { initOverview } from "./overview.js";
import { Charts, resizeCharts } from "./plots.js";
import { chooseRange, groupsIn, initRangeTable } from "./range_table.js";
import { groupRows } from "./rows.js";
import { scatterChart } from "./scatter.js";
import { search } from "./search.js";
import { Selection, select } from "./selection.js";
import { initStrips } from "./strips.js";
import { initText } from "./text.js";
import { wireTheme } from "./theme.js";
import { drawTimeline, initTimeline } from "./timeline.js";
import { View } from "./view.js";
import { isError, step } from "./violations.js";

function redrawAll() {
  readInk();
  resizeCharts();
  if (Timeline.data) View.changed();
}

function nothingToDraw() {
  const waiting = document.getElementById("waiting");
  const timeline = document.getElementById("timeline");
  if (waiting) waiting.textContent = "There is nothing to draw.";
  if (timeline) timeline.hidden = true;
  document.documentElement.dataset.ready = "yes";
}

// Only when the width has changed: the observer's first call reports the width that everything was drawn for.
function redrawWhenResized(element) {
  let width = element.clientWidth;
  new ResizeObserver(() => {
    if (element.clientWidth !== width) {
      width = element.clientWidth;
      redrawAll();
    }
  }).observe(element);
}

// The operations are the largest part of the page by far, and stand behind the script: what fills the first screen and
// the charts is drawn before they are even parsed.
async function addOperations(data) {
  if (document.readyState === "loading")
    await new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }));
  await new Promise((done) => setTimeout(done));
  const packed = document.getElementById("packed-operations");
  Object.assign(data, await unpack(packed.textContent));
  packed.remove();
  initTimeline(data);
  scatterChart(data);
  if (!Timeline.data) return;
  fillFilters(data);
  wireDrawings();
  initText();
  initRangeTable();
}

async function start() {
  wireTheme(redrawAll);
  wireButtons();
  wireNext();
  wireFolds();
  wireBackLinks();
  readInk();
  const packed = document.getElementById("packed").textContent;
  if (!packed.trim()) {
    nothingToDraw();
    return;
  }
  const data = await unpack(packed);
  document.getElementById("packed").remove();
  View.reset(data.end);
  document.getElementById("waiting").hidden = true;
  for (const id of ["charts-body", "beside"]) document.getElementById(id)?.removeAttribute("hidden");
  initOverview(data);
  initCharts(data);
  initStrips(data);
  Charts.onMark = (seconds, perPixel) => {
    const mark = markNear(data, seconds, perPixel);
    if (mark) openEvidence(mark);
  };
  wireKeys();
  wireFaults(data);
  redrawWhenResized(document.getElementById("charts"));
  performance.mark("usable");
  await addOperations(data);
  readHash();
  addEventListener("hashchange", readHash);
  View.listeners.push(writeHash);
  for (const id of ["progress-kind", "by-table"]) document.getElementById(id)?.addEventListener("input", writeHash);
  document.documentElement.dataset.ready = "yes";
  performance.mark("complete");
}

// For the browser's console, the tests and bench/, as page.View and so on.
window.page = {
  applyFilters,
  Charts,
  chooseRange,
  drawTimeline,
  endOf,
  GUTTER,
  groupRows,
  groupsIn,
  isError,
  lowerBound,
  MARGIN,
  placeOfIndex,
  Selection,
  search,
  select,
  step,
  Timeline,
  View,
};

start().catch((error) => {
  const place = document.getElementById("waiting") ?? document.querySelector(".sentence");
  place.hidden = false;
  place.textContent = `The charts could not be drawn: ${error.message}`;
  console.error(error);
});
