// What a search found, marked in the timeline and in the strip of the whole run.

import { Ink } from "./canvas.js";
import { endOf, lowerBound, Timeline } from "./operations.js";
import { View } from "./view.js";

const HEIGHT = 3;

// A bar below each operation that was found and is in view; at least two pixels wide, so that none is lost.
export function drawHits(area, toX) {
  const { data, hits, row, rows, rowHeight, reach } = Timeline;
  const { context } = area;
  context.fillStyle = Ink.link;
  const first = lowerBound(reach, View.from * 1e6);
  for (let place = lowerBound(hits, first); place < hits.length; place++) {
    const i = hits[place];
    if (data.ops.t[i] > View.to * 1e6) break;
    if (row[i] >= rows.length) continue;
    const from = toX(data.ops.t[i] / 1e6);
    const to = Math.max(toX(endOf(data, i) / 1e6), from + 2);
    context.fillRect(from, (row[i] + 1) * rowHeight + 1 - HEIGHT, to - from, HEIGHT);
  }
}

export function drawHitsOfAll(context, toX, height) {
  const { data, hits } = Timeline;
  context.fillStyle = Ink.link;
  let last = -1;
  for (const i of hits) {
    const x = Math.round(toX(data.ops.t[i] / 1e6));
    if (x !== last) context.fillRect(x, height - 5, 1.5, 5);
    last = x;
  }
}
