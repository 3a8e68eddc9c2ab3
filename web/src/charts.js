// The charts of a run: rate, latency quantiles, applied and committed index, lag behind the leader.

import { Ink, strokeOf } from "./canvas.js";
import { epochAxis, epochScale, indexOf } from "./epochs.js";
import { OUTCOMES } from "./operations.js";
import { indexAxis, indexScale, line, logAxis, logScale, makePlot, shareView } from "./plots.js";

export function initCharts(data) {
  const { rates, quantiles, progress } = data;
  if (rates)
    makePlot(
      data,
      "c-rate",
      170,
      OUTCOMES.map((name) =>
        line(name, () => Ink[`${name}-ink`], {
          dash: name === "ok" ? [] : name === "info" ? [6, 3] : [2, 3],
          paths: uPlot.paths.stepped({ align: 1 }),
        }),
      ),
      [rates.time.map((t) => t - rates.width / 2), ...rates.rows],
      { stepped: true },
    );
  if (quantiles)
    makePlot(
      data,
      "c-quantiles",
      170,
      quantiles.names.map((name, i) =>
        line(name, () => Ink[i < 4 ? "ok-ink" : name === "event loop late" ? "fail-ink" : "info-ink"], {
          width: [2, 1.25, 1, 1, 1.25, 1.25][i],
          dash: name === "event loop late" ? [2, 6] : [[], [8, 3], [4, 3], [1, 3], [10, 3, 2, 3]][i],
        }),
      ),
      [quantiles.time, ...quantiles.rows],
      { scale: logScale(), axis: logAxis },
    );
  if (progress) progressCharts(data, progress);
  hideEmpty(["c-rate", "c-quantiles", "c-applied", "c-lag"]);
  shareView();
}

function progressCharts(data, progress) {
  // What a node said holds until its next probe.
  const series = (more) =>
    data.nodes.map((node, i) =>
      line(node.name, () => node.colour, {
        ...strokeOf(i),
        paths: uPlot.paths.stepped({ align: 1 }),
        ...more,
      }),
    );
  const rows = (kind) => [progress.time, ...progress[kind]];
  const plot = progress.bits
    ? makePlot(data, "c-applied", 190, series({ value: (_, v) => indexOf(progress, v) }), rows("applied"), {
        scale: epochScale(progress),
        axis: epochAxis(progress),
        stepped: true,
      })
    : makePlot(data, "c-applied", 190, series(), rows("applied"), {
        scale: indexScale,
        axis: indexAxis,
        stepped: true,
      });
  makePlot(data, "c-lag", 150, series(), rows("lag"), { axis: indexAxis, stepped: true });
  document.getElementById("progress-kind").addEventListener("input", (event) => plot.setData(rows(event.target.value)));
}

function hideEmpty(ids) {
  for (const id of ids) {
    const host = document.getElementById(id);
    if (host && !host.firstChild) host.parentElement.hidden = true;
  }
}
