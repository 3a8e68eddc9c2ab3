// Of very many operations the page holds some; the buckets say of all of them where one was, and the worst outcome there.

import { Ink } from "./canvas.js";
import { el } from "./dom.js";
import { Timeline } from "./operations.js";
import { View } from "./view.js";

// Above the timeline: what the page holds.
export function tellHeld(data) {
  if (!data.pyramid) return;
  const { total, held, errors, errorsHeld } = data.pyramid;
  const count = (number) => number.toLocaleString("en");
  const others = errorsHeld < errors ? `${count(errorsHeld)} of the ${count(errors)}` : `all ${count(errors)}`;
  const text =
    `This page holds ${count(held)} of ${count(total)} operations: those of violations, ${others} that are not ok, ` +
    "the slowest, and an even sample of the others. Rates, quantiles, tables of counts and the colours of the rows by " +
    "client cover all operations; boxes, points, rows by node or key, filters, searches and the tables of what is in " +
    "view cover only those that the page holds. harness export has them all.";
  const note = el("p", text, "quiet small");
  note.id = "held";
  document.getElementById("timeline-scroll").before(note);
}

// The buckets belong to the rows by client, and know nothing of filters.
function applies() {
  return Timeline.data.pyramid && Timeline.by === "process" && document.getElementById("b-clear").hidden;
}

// Calls back with the row, the outcome and the two pixels of each bucket in view that is not empty.
function eachBucket(columns, found) {
  const { data, rows } = Timeline;
  const { buckets } = data.pyramid;
  const { worst } = data.ops;
  const length = data.end / buckets;
  const scale = columns / (View.to - View.from);
  const first = Math.max(Math.floor(View.from / length), 0);
  const last = Math.min(Math.ceil(View.to / length), buckets);
  for (let row = 0; row < rows.length; row++)
    for (let place = first; place < last; place++) {
      const bad = worst[row * buckets + place];
      if (bad) found(row, bad, (place * length - View.from) * scale, ((place + 1) * length - View.from) * scale);
    }
}

// Merges the buckets into the bins of the timeline while a bucket is no wider than two pixels.
export function fillBins(bins, columns) {
  if (!applies() || bucketPixels(columns) > 2) return;
  eachBucket(columns, (row, bad, from, to) => {
    const stop = Math.min(Math.max(Math.ceil(to), Math.floor(from) + 1), columns);
    for (let x = Math.max(Math.floor(from), 0); x < stop; x++) {
      const place = row * columns + x;
      if (bad > bins[place]) bins[place] = bad;
    }
  });
}

// Further in, pale: somewhere in this bucket there was an operation, of which the page may hold no box.
export function drawBuckets(area, columns) {
  if (!applies() || bucketPixels(columns) <= 2) return;
  const { context } = area;
  const { rowHeight } = Timeline;
  const colours = [null, Ink.ok, Ink["fail-ink"], Ink["info-ink"]];
  context.globalAlpha = 0.22;
  eachBucket(columns, (row, bad, from, to) => {
    const a = Math.max(from, 0);
    context.fillStyle = colours[bad];
    context.fillRect(area.left + a, row * rowHeight + 3, Math.min(to, columns) - a, rowHeight - 2);
  });
  context.globalAlpha = 1;
}

function bucketPixels(columns) {
  return (Timeline.data.end / Timeline.data.pyramid.buckets / (View.to - View.from)) * columns;
}
