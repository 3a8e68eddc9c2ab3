"use strict";
// The list of runs: filter, search, sort, pick two to compare. Everything is in the page; nothing is fetched.
const Site = { rows: [], shown: [], sort: "started", down: true, picked: [], base: "", limit: 300 };
const COLUMNS = ["started", "verdict", "kind", "nemesis", "version", "seed", "operations", "rate", "gap_s", "recovery_s", "sentence"];
const NUMERIC = { operations: 0, rate: 1, gap_s: 2, recovery_s: 2 };
const FILTERS = ["verdict", "nemesis", "version", "test"];

function byId(id) { return document.getElementById(id); }

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// What stands in filters and links for a name that a run does not have.
function nameOf(row, name) { return row[name] || (name === "nemesis" ? "no fault" : "–"); }

function shownValue(row, name) {
  if (name === "recovery_s" && row.never) return "never";
  const value = row[name];
  if (value === null || value === undefined || value === "") return "–";
  return name in NUMERIC ? value.toLocaleString("en", { minimumFractionDigits: NUMERIC[name], maximumFractionDigits: NUMERIC[name] }).replaceAll(",", "\u2009") : String(value);
}

function sortValue(row, name) {
  if (name === "recovery_s" && row.never) return Infinity;
  const value = row[name];
  return value ?? (name in NUMERIC ? -Infinity : "");
}

function filterRows() {
  const text = byId("s-search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = FILTERS.map((name) => [name, byId("s-" + name).value]).filter(([, value]) => value !== "");
  Site.shown = Site.rows.filter((row) => wanted.every(([name, value]) => nameOf(row, name) === value) && text.every((word) => row.text.includes(word)));
  const direction = Site.down ? -1 : 1;
  Site.shown.sort((a, b) => {
    const x = sortValue(a, Site.sort), y = sortValue(b, Site.sort);
    return x < y ? -direction : x > y ? direction : 0;
  });
  Site.limit = 300;
  drawRows();
  const parts = new URLSearchParams(wanted);
  if (byId("s-search").value) parts.set("q", byId("s-search").value);
  try { history.replaceState(null, "", parts.size ? "#" + parts : location.pathname); } catch { /* a file page may not */ }
}

function drawRow(row) {
  const line = element("tr"), pick = element("input"), first = element("td");
  pick.type = "checkbox"; pick.checked = Site.picked.includes(row);
  pick.setAttribute("aria-label", "Compare " + row.run);
  pick.addEventListener("change", () => pickRow(row, pick.checked));
  first.append(pick); line.append(first);
  for (const name of COLUMNS) {
    const cell = element("td", undefined, name in NUMERIC || name === "seed" ? "num" : name === "sentence" ? "what" : name === "version" ? "mono" : name === "started" ? "nowrap" : "");
    if (name === "started") {
      const link = element("a", row.started || row.run);
      link.href = Site.base + row.href + (row.files.includes("report.html") ? "/report.html" : "/index.html");
      cell.append(link);
    } else if (name === "nemesis") {
      const link = element("a", nameOf(row, "nemesis"));
      link.href = Site.base + row.nemesisHref;
      cell.append(link);
    } else if (name === "sentence") { const text = element("div", row.sentence); text.title = row.sentence; cell.append(text); }
    else cell.textContent = shownValue(row, name);
    if (name === "verdict") cell.className = "verdict nowrap " + row.verdict.replace(" ", "-");
    if (name === "recovery_s" && row.never) cell.className = "num red strong";
    line.append(cell);
  }
  return line;
}

function drawRows() {
  const body = document.querySelector("#runs tbody");
  body.replaceChildren(...Site.shown.slice(0, Site.limit).map(drawRow));
  byId("s-said").textContent = Site.shown.length === Site.rows.length ? `${Site.rows.length.toLocaleString("en")} runs` : `${Site.shown.length.toLocaleString("en")} of ${Site.rows.length.toLocaleString("en")} runs`;
  const more = byId("s-more");
  more.replaceChildren();
  if (Site.shown.length > Site.limit) {
    const button = element("button", `Show more (${(Site.shown.length - Site.limit).toLocaleString("en")} left)`);
    button.type = "button";
    button.addEventListener("click", () => { Site.limit += 1000; drawRows(); });
    more.append(button);
  }
  for (const head of document.querySelectorAll("#runs th[data-sort]")) {
    if (head.dataset.sort === Site.sort) head.setAttribute("aria-sort", Site.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
}

function pickRow(row, on) {
  Site.picked = Site.picked.filter((other) => other !== row);
  if (on) Site.picked.push(row);
  if (Site.picked.length > 2) { Site.picked.shift(); drawRows(); }
  byId("s-compare").disabled = Site.picked.length !== 2;
  byId("s-compare").title = Site.picked.length === 2 ? "" : "Tick two runs";
}

function compare() {
  const [a, b] = Site.picked.map((row) => `${row.test}/${row.run}`);
  location.href = Site.base + "compare.html?" + new URLSearchParams({ a, b });
}

function wireList() {
  for (const name of FILTERS) {
    const select = byId("s-" + name), counts = new Map();
    for (const row of Site.rows) counts.set(nameOf(row, name), (counts.get(nameOf(row, name)) ?? 0) + 1);
    for (const [value, count] of [...counts].sort((a, b) => a[0] < b[0] ? -1 : 1)) { const option = element("option", `${value} (${count})`); option.value = value; select.append(option); }
    select.addEventListener("input", filterRows);
  }
  byId("s-search").addEventListener("input", filterRows);
  byId("site-filters").addEventListener("submit", (event) => event.preventDefault());
  byId("s-compare").addEventListener("click", compare);
  for (const head of document.querySelectorAll("#runs th[data-sort]")) {
    const button = element("button", head.textContent);
    button.type = "button";
    button.addEventListener("click", () => { Site.down = Site.sort === head.dataset.sort ? !Site.down : head.dataset.sort in NUMERIC || head.dataset.sort === "started"; Site.sort = head.dataset.sort; filterRows(); });
    head.replaceChildren(button);
  }
  const parts = new URLSearchParams(location.hash.slice(1));
  for (const name of FILTERS) if (parts.has(name)) byId("s-" + name).value = parts.get(name);
  if (parts.has("q")) byId("s-search").value = parts.get("q");
  byId("site-filters").hidden = false;
}

async function startSite() {
  wireTheme(() => {});
  const packed = byId("packed").textContent;
  if (packed.trim()) {
    const data = await unpack(packed);
    Site.base = data.base;
    Site.rows = data.rows.map((row) => ({ ...row, text: [row.test, row.run, row.sentence, row.kind, row.seed, row.nemesis, row.version, row.verdict].join(" ").toLowerCase() }));
    wireList(); filterRows();
  }
  document.documentElement.dataset.ready = "yes";
  performance.mark("usable");
}

startSite().catch((error) => console.error(error));
