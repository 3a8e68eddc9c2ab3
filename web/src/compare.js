// The page that draws two runs over each other. All runs are in the page; its address (?a=…&b=…) names the two.

import {
  clip,
  cursorLine,
  drawTimeAxis,
  followPointer,
  Ink,
  prepareCanvas,
  readInk,
  rowLabel,
  scaleX,
} from "./canvas.js";
import { unpack } from "./decode.js";
import { el, figure, option, svg } from "./dom.js";
import { drawAvailable, drawBands } from "./marks.js";
import { Charts, line, logAxis, logScale, makePlot, resizeCharts, shareView } from "./plots.js";
import { drawRecovery } from "./recovery.js";
import { wireTheme } from "./theme.js";
import { View, ViewKeys } from "./view.js";

const Compare = { data: null, a: null, b: null };

const FIGURES = [
  ["rate", "ok/s", 1, 1],
  ["gap_s", "longest gap, s", 2, -1],
  ["recovery_s", "rate back, worst, s", 2, -1],
  ["never", "faults after which the rate was not back", 0, -1],
  ["violations", "violations", 0, -1],
  ["operations", "operations", 0, 0],
  ["length_s", "length, s", 1, 0],
];

const FACTS = ["test", "run", "started", "nemesis", "version", "options", "seed"];

function tableOf(id, heads, rows, labelled) {
  const head = el("tr");
  const thead = el("thead");
  const body = el("tbody");
  for (const [text, className] of heads) {
    const cell = el("th", text, className);
    cell.scope = "col";
    head.append(cell);
  }
  thead.append(head);
  for (const { cells, differs } of rows) {
    const line = el("tr", undefined, differs ? "differs" : "");
    cells.forEach(([text, className], place) => {
      const cell = el(place ? "td" : "th", text, className);
      if (!place) cell.scope = "row";
      if (labelled && place && text) cell.dataset.label = heads[place][0];
      line.append(cell);
    });
    body.append(line);
  }
  document.getElementById(id).replaceChildren(thead, body);
}

function verdictCard(letter, run) {
  const card = el("section", undefined, "versus-run");
  const head = el("h2");
  const list = el("dl", undefined, "facts");
  const link = el("a", "report");
  head.append(
    el("span", letter.toUpperCase(), `letter ${letter}`),
    document.createTextNode(" "),
    el("span", run.verdict, `verdict ${run.verdict.replace(" ", "-")}`),
  );
  for (const name of FACTS) {
    const box = el("div");
    box.append(el("dt", name), el("dd", String(run[name] || "–"), "mono"));
    list.append(box);
  }
  link.href = run.href;
  link.textContent = run.href.endsWith("report.html") ? "Report" : "Files";
  card.append(head, el("p", run.sentence, "statement"), list);
  if (run.curves?.command) {
    const command = el("div", undefined, "command");
    const [title, text] = run.curves.command;
    command.append(el("span", title, "label"), el("code", text));
    card.append(command);
  }
  card.append(link);
  return card;
}

// What precedes a count of violations that may be too low.
function least(run, name) {
  return name === "violations" && run.least ? "at least " : "";
}

function drawTables(a, b) {
  document.getElementById("cmp-verdicts").replaceChildren(verdictCard("a", a), verdictCard("b", b));
  tableOf(
    "cmp-figures",
    [
      ["", ""],
      ["A", "num"],
      ["B", "num"],
      ["B less A", "num"],
      ["", "num"],
    ],
    FIGURES.map(([name, title, digits, better]) => {
      const [x, y] = [a[name], b[name]];
      const known = typeof x === "number" && typeof y === "number";
      // A difference that is not seen in the digits shown is none.
      const change = known ? Number((y - x).toFixed(digits)) + 0 : null;
      const share = change && x ? `${change > 0 ? "+" : ""}${((change / x) * 100).toFixed(0)} %` : "";
      const worse = known && better && change * better < 0;
      return {
        differs: known ? change !== 0 : x !== y,
        cells: [
          [title],
          [least(a, name) + figure(x, digits), "num"],
          [least(b, name) + figure(y, digits), "num"],
          [known ? (change > 0 ? "+" : "") + figure(change, digits) : "–", `num${worse ? " red" : ""}`],
          [share, "num quiet"],
        ],
      };
    }),
  );
  const names = [...new Set([...a.checks, ...b.checks].map(([name]) => name))];
  const said = (run, name) => (run.checks.find(([other]) => other === name) ?? ["", "–"])[1];
  tableOf(
    "cmp-checks",
    [["check or gate"], ["A"], ["B"]],
    names.map((name) => {
      const [x, y] = [said(a, name), said(b, name)];
      return { differs: x !== y, cells: [[name], [x, `verdict ${x}`], [y, `verdict ${y}`]] };
    }),
  );
  drawFaultTable(a.curves?.faults ?? [], b.curves?.faults ?? []);
}

function drawFaultTable(a, b) {
  const heads = [
    ["#", "num"],
    ["fault of A", "line"],
    ["nodes"],
    ["begun s", "num"],
    ["gap s", "num"],
    ["rate back ms", "num"],
    ["fault of B", "line"],
    ["nodes"],
    ["begun s", "num"],
    ["gap s", "num"],
    ["rate back ms", "num"],
  ];
  const cellsOf = (fault) =>
    fault
      ? [
          [fault.state === "installed" ? fault.fault : `${fault.fault} (${fault.state})`, "line"],
          [fault.nodes.join(" "), "nowrap"],
          [figure(fault.start, 1), "num"],
          [figure(fault.gap_s, 2), "num"],
          [fault.back, `num${fault.back === "never" ? " red strong" : ""}`],
        ]
      : [["–", "line"], [""], [""], [""], [""]];
  if (!a.length && !b.length) {
    tableOf("cmp-faults", [["faults"]], [{ cells: [["No fault was started in either."]] }]);
    return;
  }
  tableOf(
    "cmp-faults",
    heads,
    Array.from({ length: Math.max(a.length, b.length) }, (_, place) => ({
      differs: false,
      cells: [[String(place), "num"], ...cellsOf(a[place]), ...cellsOf(b[place])],
    })),
    true,
  );
}

// Both runs' values on one grid, the moments of either, with gaps where a run has none.
function merged(a, b, names) {
  return uPlot.join([a, b].map((run) => [run.time, ...names.map((name) => run[name])]));
}

// What is drawn behind the curves of a run: its faults, and where the harness itself was stalled.
function bandsOf({ curves }) {
  return { faults: curves?.faults ?? [], still: curves?.still, faultColours: Compare.data.faultColours };
}

function halfBands(context, _data, toX, left, right, top, height) {
  for (const [half, run] of [Compare.a, Compare.b].entries()) {
    drawBands(context, bandsOf(run), toX, left, right, top + (half * height) / 2, height / 2);
  }
}

function drawCurves(a, b) {
  for (const { plot } of Charts.plots) plot.destroy();
  Charts.plots.length = 0;
  const curves = [a.curves, b.curves].filter(Boolean);
  View.reset(Math.max(1, ...curves.map((run) => run.end)), Math.min(0, ...curves.map((run) => run.start)));
  if (curves.length < 2) return;
  const inks = { a: () => Ink["run-a"], b: () => Ink["run-b"] };
  const data = { faults: [], phases: [{ name: "main", start: 0 }], faultColours: Compare.data.faultColours };
  makePlot(
    data,
    "c-rate",
    200,
    [line("A", inks.a, { width: 1.75 }), line("B", inks.b, { width: 1.75, dash: [6, 3] })],
    merged(a.curves, b.curves, ["ok"]),
    { background: halfBands },
  );
  const [times, a50, a99, b50, b99] = merged(a.curves, b.curves, ["p50", "p99"]);
  makePlot(
    data,
    "c-latency",
    200,
    [
      line("A p50", inks.a, { width: 1 }),
      line("A p99", inks.a, { width: 2 }),
      line("B p50", inks.b, { width: 1, dash: [6, 3] }),
      line("B p99", inks.b, { width: 2, dash: [6, 3] }),
    ],
    [times, a50, a99, b50, b99],
    { scale: logScale(), axis: logAxis, background: halfBands },
  );
}

// Two rows a run: its faults by name, and below whether anything was answered ok.
function drawAvailability() {
  const canvas = document.getElementById("c-availability");
  const step = 18;
  const area = prepareCanvas(canvas, 4 * step + 34);
  const { context } = area;
  const toX = scaleX(area, View.from, View.to);
  [
    ["A", Compare.a],
    ["B", Compare.b],
  ].forEach(([letter, run], place) => {
    const top = place * (2 * step + 6);
    const { curves } = run;
    rowLabel(area, `${letter} faults`, top + step / 2);
    rowLabel(area, `${letter} ok`, top + step * 1.5);
    if (!curves) return;
    drawBands(context, bandsOf(run), toX, area.left, area.right, top, 2 * step);
    context.fillStyle = Ink.ink;
    context.textAlign = "left";
    context.textBaseline = "middle";
    for (const fault of curves.faults) {
      const from = Math.max(toX(fault.start), area.left);
      const to = Math.min(toX(fault.end), area.right);
      if (fault.state !== "skipped")
        context.fillText(clip(context, fault.fault, to - from - 8), from + 4, top + step / 2);
    }
    const [width, lengths] = curves.available;
    let at = curves.start;
    for (const [value, count] of lengths) {
      const from = Math.max(toX(at), area.left);
      const to = Math.min(toX(Math.min(at + count * width, curves.end)), area.right);
      at += count * width;
      if (to <= from) continue;
      drawAvailable(context, value, Ink[`run-${letter.toLowerCase()}`], from, to, top + step, step);
    }
  });
  drawTimeAxis(area, toX, 4 * step + 12);
}

function drawLegend(a, b) {
  const item = (name, make) => {
    const entry = el("li");
    entry.append(make, document.createTextNode(name));
    return entry;
  };
  // A bar as wide as its picture, which has the given class.
  const swatch = (kind, className, width, y, height) => {
    const picture = svg("svg", { class: kind, viewBox: `0 0 ${width} 10`, "aria-hidden": "true" });
    picture.append(svg("rect", { class: className, width, y, height }));
    return picture;
  };
  const strip = (text, ...bars) => {
    const entry = el("li");
    for (const [className, y, height] of bars) entry.append(swatch("swatch long", className, 28, y, height));
    entry.append(text);
    return entry;
  };
  const families = [
    ...new Set(
      [a, b]
        .flatMap((run) => run.curves?.faults ?? [])
        .filter((fault) => fault.state !== "skipped")
        .map((fault) => fault.family),
    ),
  ];
  document
    .getElementById("cmp-legend")
    .replaceChildren(
      item(` ${a.run}`, el("span", "A", "letter a")),
      item(` ${b.run}`, el("span", "B", "letter b")),
      ...families.map((family) => item(`${family} fault`, swatch("swatch band", `f-${family}`, 10, 0, 10))),
      ...(families.length ? [el("li", "bands: a fault is in effect; paler: it is being installed or healed")] : []),
      ...([a, b].some((run) => run.curves?.still?.length)
        ? [item("the harness itself was stalled", swatch("swatch band", "role", 10, 0, 10))]
        : []),
      strip("some ok in a quarter of a second", ["o-run-a", 2, 6], ["o-run-b", 2, 6]),
      strip("answers, none of them ok", ["o-no-ok", 0, 10]),
      strip("no answer", ["role", 4.5, 1]),
    );
}

function showPair(keepAddress) {
  const { a, b } = Compare;
  document.getElementById("cmp-body").hidden = false;
  const without = [a, b].filter((run) => !run.curves).map((run) => run.place);
  document.getElementById("cmp-said").textContent = without.length
    ? `No operations can be read of ${without.join(" and of ")}: the curves are left out.`
    : "";
  for (const id of ["c-rate", "c-latency", "c-availability"])
    document.getElementById(id).closest(".chart").hidden = id !== "c-availability" && without.length > 0;
  drawTables(a, b);
  drawLegend(a, b);
  drawCurves(a, b);
  drawAvailability();
  drawRecovery(a, b);
  document.getElementById("cmp-a").value = a.place;
  document.getElementById("cmp-b").value = b.place;
  if (!keepAddress)
    try {
      history.replaceState(null, "", `?${new URLSearchParams({ a: a.place, b: b.place })}`);
    } catch {
      // Some browsers refuse this on a page from a file.
    }
}

function wireChoice() {
  const { runs, choices } = Compare.data;
  const all = choices.length ? choices : runs.map(({ place, verdict }) => [place, verdict]);
  for (const letter of ["a", "b"]) {
    const select = document.getElementById(`cmp-${letter}`);
    for (const [place, verdict] of all) select.append(option(place, `${place} · ${verdict}`));
    select.addEventListener("input", () => {
      const found = runs.find((run) => run.place === select.value);
      const other = Compare[letter === "a" ? "b" : "a"].place;
      // The server draws the pair of a run whose curves this page does not hold.
      if (!found) location.search = new URLSearchParams({ a: other, b: other, [letter]: select.value });
      else {
        Compare[letter] = found;
        showPair(false);
      }
    });
  }
  document.getElementById("cmp-swap").addEventListener("click", () => {
    [Compare.a, Compare.b] = [Compare.b, Compare.a];
    showPair(false);
  });
  document.getElementById("cmp-choice").hidden = false;
}

async function startCompare() {
  readInk();
  const redraw = () => {
    readInk();
    resizeCharts();
    View.changed();
    if (Compare.a && Compare.b) drawRecovery(Compare.a, Compare.b);
  };
  wireTheme(redraw);
  const packed = document.getElementById("packed").textContent;
  Compare.data = packed.trim() ? await unpack(packed) : { runs: [] };
  const { runs } = Compare.data;
  const asked = new URLSearchParams(location.search);
  if (runs.length > 1) {
    const find = (letter, otherwise) =>
      runs.find((run) => run.place === asked.get(letter)) ?? (asked.has(letter) ? null : otherwise);
    Compare.a = find("a", runs[1]);
    Compare.b = find("b", runs[0]);
    const missing = ["a", "b"].filter((letter) => !Compare[letter]).map((letter) => asked.get(letter));
    View.listeners.push(() => {
      if (Compare.a && Compare.b) drawAvailability();
    });
    shareView();
    wireChoice();
    if (missing.length) {
      document.getElementById("cmp-said").textContent =
        `This copy holds the curves of the newest ${runs.length} runs only, ` +
        `not those of ${missing.join(" and ")}; harness serve compares any two.`;
      Compare.a ??= runs[1];
      Compare.b ??= runs[0];
    } else showPair(true);
    const canvas = document.getElementById("c-availability");
    followPointer(canvas, true);
    cursorLine(canvas.parentElement);
    canvas.addEventListener("keydown", (event) => {
      if (ViewKeys[event.key] && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        ViewKeys[event.key]();
      }
    });
    new ResizeObserver(redraw).observe(document.querySelector("main"));
  }
  document.documentElement.dataset.ready = "yes";
  performance.mark("usable");
}

// For the browser's console and the tests, as page.View and so on.
window.page = { Charts, Compare, View };

startCompare().catch((error) => {
  document.getElementById("cmp-said").textContent = `The comparison could not be drawn: ${error.message}`;
  console.error(error);
});
