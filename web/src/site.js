// The list of runs: filter, search, sort, pick two to compare. All runs are in the page; nothing is fetched.

import { unpack } from "./decode.js";
import { button, el, figure, option } from "./dom.js";
import { wireTheme } from "./theme.js";

const Site = { rows: [], shown: [], sort: "started", down: true, picked: [], base: "", limit: 300 };

const COLUMNS = [
  "started",
  "verdict",
  "finding",
  "nemesis",
  "version",
  "seed",
  "operations",
  "rate",
  "gap_s",
  "recovery_s",
  "sentence",
];

const NUMERIC = { operations: 0, rate: 1, gap_s: 2, recovery_s: 2 };

const CLASSES = { seed: "num", sentence: "what", version: "mono", started: "nowrap" };

const FILTERS = ["verdict", "group", "fault", "version", "workload", "test"];

// The order of severity, the worst first, in which findings are listed and sorted.
const SEVERITIES = [
  "data lost",
  "missing on nodes",
  "log truncated",
  "inconsistent",
  "no commits",
  "not served",
  "replica behind",
  "alarm",
];

function byId(id) {
  return document.getElementById(id);
}

// The text of filters and links; a run without a nemesis has a name there, too.
function nameOr(row, name) {
  return row[name] || (name === "nemesis" ? "no fault" : "–");
}

// What a filter may ask of a run: of its faults each one.
function valuesOf(row, name) {
  if (name === "fault") return row.fault.length ? row.fault : ["no fault"];
  if (name === "group" && row.lost && row.group !== "data lost") return [row.group, "data lost"];
  return [nameOr(row, name)];
}

function rankOf(group) {
  const place = SEVERITIES.indexOf(group);
  return place < 0 ? SEVERITIES.length : place;
}

function shownValue(row, name) {
  if (name === "recovery_s" && row.never) return "never";
  return name in NUMERIC ? figure(row[name], NUMERIC[name]) : String(row[name] ?? "") || "–";
}

function sortValue(row, name) {
  if (name === "recovery_s" && row.never) return Infinity;
  if (name === "finding") return row.finding ? `${rankOf(row.group)} ${row.finding}` : "9";
  const value = row[name];
  return value ?? (name in NUMERIC ? -Infinity : "");
}

function filterRows() {
  const text = byId("s-search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = FILTERS.map((name) => [name, byId(`s-${name}`).value]).filter(([, value]) => value !== "");
  Site.shown = Site.rows.filter(
    (row) =>
      wanted.every(([name, value]) => valuesOf(row, name).includes(value)) &&
      text.every((word) => row.text.includes(word)),
  );
  const direction = Site.down ? -1 : 1;
  Site.shown.sort((a, b) => {
    const x = sortValue(a, Site.sort);
    const y = sortValue(b, Site.sort);
    return x < y ? -direction : x > y ? direction : 0;
  });
  Site.limit = 300;
  drawRows();
  const parts = new URLSearchParams(wanted);
  if (byId("s-search").value) parts.set("q", byId("s-search").value);
  try {
    history.replaceState(null, "", parts.size ? `#${parts}` : location.pathname);
  } catch {
    // Some browsers refuse this on a page from a file.
  }
}

function drawRow(row) {
  const line = el("tr");
  const pick = el("input");
  const first = el("td");
  pick.type = "checkbox";
  pick.checked = Site.picked.includes(row);
  pick.setAttribute("aria-label", `Compare ${row.run}`);
  pick.addEventListener("change", () => pickRow(row, pick.checked));
  first.append(pick);
  line.append(first);
  for (const name of COLUMNS) {
    const cell = el("td", undefined, CLASSES[name] ?? (name in NUMERIC ? "num" : ""));
    if (name === "started") {
      const link = el("a", row.started || row.run);
      link.href = Site.base + row.href + (row.files.includes("report.html") ? "/report.html" : "/index.html");
      cell.append(link);
    } else if (name === "nemesis") {
      const link = el("a", nameOr(row, "nemesis"));
      link.href = Site.base + row.nemesisHref;
      cell.append(link);
    } else if (name === "sentence") {
      const text = el("div", row.sentence);
      text.title = row.sentence;
      cell.append(text);
    } else cell.textContent = shownValue(row, name);
    if (name === "verdict") cell.className = `verdict nowrap ${row.verdict.replace(" ", "-")}`;
    if (name === "finding" && row.group === "data lost") cell.className = "lost";
    if (name === "recovery_s" && row.never) cell.className = "num red strong";
    line.append(cell);
  }
  return line;
}

function drawRows() {
  const body = document.querySelector("#runs tbody");
  body.replaceChildren(...Site.shown.slice(0, Site.limit).map(drawRow));
  byId("s-said").textContent =
    Site.shown.length === Site.rows.length
      ? `${Site.rows.length.toLocaleString("en")} runs`
      : `${Site.shown.length.toLocaleString("en")} of ${Site.rows.length.toLocaleString("en")} runs`;
  const more = byId("s-more");
  more.replaceChildren();
  if (Site.shown.length > Site.limit) {
    const left = (Site.shown.length - Site.limit).toLocaleString("en");
    const showMore = () => {
      Site.limit += 1000;
      drawRows();
    };
    more.append(button(`Show more (${left} left)`, showMore));
  }
  for (const head of document.querySelectorAll("#runs th[data-sort]")) {
    if (head.dataset.sort === Site.sort) head.setAttribute("aria-sort", Site.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
}

function pickRow(row, on) {
  Site.picked = Site.picked.filter((other) => other !== row);
  if (on) Site.picked.push(row);
  if (Site.picked.length > 2) {
    Site.picked.shift();
    drawRows();
  }
  byId("s-compare").disabled = Site.picked.length !== 2;
  byId("s-compare").title = Site.picked.length === 2 ? "" : "Tick two runs";
}

function compare() {
  const [a, b] = Site.picked.map((row) => `${row.test}/${row.run}`);
  location.href = `${Site.base}compare.html?${new URLSearchParams({ a, b })}`;
}

function wireList() {
  for (const name of FILTERS) {
    const select = byId(`s-${name}`);
    const counts = new Map();
    for (const row of Site.rows) {
      for (const value of valuesOf(row, name)) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const byName = (a, b) => rankOf(a[0]) - rankOf(b[0]) || (a[0] < b[0] ? -1 : 1);
    for (const [value, count] of [...counts].sort(byName)) {
      select.append(option(value, `${value} (${count})`));
    }
    select.addEventListener("input", filterRows);
  }
  byId("s-search").addEventListener("input", filterRows);
  byId("site-filters").addEventListener("submit", (event) => event.preventDefault());
  byId("s-compare").addEventListener("click", compare);
  for (const head of document.querySelectorAll("#runs th[data-sort]")) {
    const { sort } = head.dataset;
    const sortBy = () => {
      Site.down = Site.sort === sort ? !Site.down : sort in NUMERIC || sort === "started";
      Site.sort = sort;
      filterRows();
    };
    head.replaceChildren(button(head.textContent, sortBy));
  }
  readAddress();
  window.addEventListener("hashchange", () => {
    readAddress();
    filterRows();
  });
  byId("site-filters").hidden = false;
}

// Take the filters from the address: of a link that was sent, of a cell of the coverage, of the line above the list.
function readAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  for (const name of FILTERS) byId(`s-${name}`).value = parts.get(name) ?? "";
  byId("s-search").value = parts.get("q") ?? "";
}

const POLL_MS = 2000;

// The page of the run that is under way asks the server for itself again and again, until the run has ended.
function pollLive() {
  if (!document.querySelector("#under-way[data-live]")) return;
  setTimeout(async () => {
    try {
      const answer = await fetch("live.html", { cache: "no-store" });
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("under-way");
      if (answer.ok && fresh) byId("under-way").replaceWith(document.adoptNode(fresh));
    } catch {
      byId("under-way").prepend(el("p", "The server has ended; this is the last that it showed.", "lost"));
      return;
    }
    pollLive();
  }, POLL_MS);
}

async function startSite() {
  wireTheme(() => {});
  const packed = byId("packed").textContent;
  if (packed.trim()) {
    const data = await unpack(packed);
    Site.base = data.base;
    Site.rows = data.rows.map((row) => ({
      ...row,
      text: [row.test, row.run, row.sentence, row.finding, row.seed, row.nemesis, row.version, row.verdict]
        .join(" ")
        .toLowerCase(),
    }));
    wireList();
    filterRows();
  }
  pollLive();
  document.documentElement.dataset.ready = "yes";
  performance.mark("usable");
}

// For the browser's console and the tests.
window.page = { byId, filterRows, Site };

startSite().catch((error) => console.error(error));
