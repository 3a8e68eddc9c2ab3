// Operations and faults as rows of text: to be read, found with the browser's search, and copied.

import { button } from "./dom.js";
import { boxLabel, endOf, lowerBound, nameOf, OUTCOMES, placeOfIndex, plainKey, Timeline } from "./operations.js";
import { reveal } from "./selection.js";
import { View } from "./view.js";

// At first about a screen of rows, so that a fold can be opened in passing; then as many as one may want to search.
const FIRST_ROWS = 30;
const MORE_ROWS = 500;

const TEXT_COLUMNS = ["index", "process", "node", "key", "operation", "outcome", "invoked, s", "completed, s", "error"];

// Fills a fold when it is opened; returns a function that fills it again.
function textFold(details, entries, member = () => false) {
  const host = details.querySelector(".text-rows");
  const refill = () => {
    if (details.open) fillText(host, entries(), FIRST_ROWS, member);
  };
  details.addEventListener("toggle", refill);
  return refill;
}

// The first rows; where there are members of a violation, these and the rows that lead up to the last of them.
function rowsAround(entries, most, member) {
  const members = entries.filter(member);
  const others = entries.filter((entry) => !member(entry));
  const room = Math.max(most - members.length, 0);
  const first = Math.max(others.filter(({ at }) => at <= members.at(-1)?.at).length - room, 0);
  const kept = new Set(others.slice(first, first + room));
  return entries.filter((entry) => member(entry) || kept.has(entry));
}

function fillText(host, entries, most, member) {
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  const body = table.createTBody();
  table.className = "text-table";
  for (const name of TEXT_COLUMNS) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = name;
    head.append(cell);
  }
  for (const entry of rowsAround(entries, most, member))
    body.append(entry.fault ? faultRow(entry) : operationRow(entry.i));
  const said = document.createElement("p");
  said.className = "quiet small";
  said.textContent =
    entries.length > most
      ? `${most.toLocaleString("en")} of ${entries.length.toLocaleString("en")} rows, ` +
        (entries.some(member) ? "those of the violation and those that lead up to its last. " : "the first. ")
      : `${entries.length.toLocaleString("en")} row${entries.length === 1 ? "" : "s"}.`;
  if (entries.length > most)
    said.append(button(`${MORE_ROWS} more`, () => fillText(host, entries, most + MORE_ROWS, member)));
  host.replaceChildren(table, said);
}

function operationRow(i) {
  const { data } = Timeline;
  const { ops } = data;
  const row = document.createElement("tr");
  const key = plainKey(nameOf(data, "k", i));
  const index = button(String(ops.i[i]), () => reveal(i));
  index.className = "link";
  row.className = memberClass(data, ops.i[i]);
  row.insertCell().append(index);
  for (const text of [
    String(ops.p[i]),
    nameOf(data, "n", i),
    key,
    boxLabel(i, false),
    OUTCOMES[ops.o[i]],
    (ops.t[i] / 1e6).toFixed(6),
    ops.d[i] < 0 ? "never" : ((ops.t[i] + ops.d[i]) / 1e6).toFixed(6),
    nameOf(data, "e", i),
  ])
    row.insertCell().textContent = text;
  return row;
}

function memberClass(data, index) {
  const mine = data.violations.filter(({ ops }) => ops.includes(index));
  return mine.some(({ suspects }) => suspects.includes(index)) ? "member culprit" : mine.length ? "member" : "";
}

function faultRow({ fault, at, what }) {
  const row = document.createElement("tr");
  row.className = "nemesis";
  for (const text of [
    "",
    "nemesis",
    fault.nodes.length === Timeline.data.nodes.length ? "all" : fault.nodes.join(" "),
    "",
    `#${fault.id} ${fault.fault}`,
    what,
    at.toFixed(6),
    "",
    "",
  ])
    row.insertCell().textContent = text;
  return row;
}

// The operations between two moments that pass `wanted`, and what the nemesis did then, in the order of time.
function entriesBetween(from, to, wanted) {
  const { data, reach } = Timeline;
  const { ops } = data;
  const found = [];
  for (let i = lowerBound(reach, from * 1e6), last = lowerBound(ops.t, to * 1e6 + 1); i < last; i++)
    if (endOf(data, i) >= from * 1e6 && wanted(i)) found.push({ at: ops.t[i] / 1e6, i });
  for (const fault of data.faults)
    for (const [at, what] of fault.state === "installed"
      ? [
          [fault.start, "begun"],
          [fault.end, fault.end < data.end ? "healed" : "not healed"],
        ]
      : [[fault.start, fault.state]])
      if (at >= from && at <= to) found.push({ at, fault, what });
  return found.sort((a, b) => a.at - b.at || (a.i ?? -1) - (b.i ?? -1));
}

// The history of a violation's key: all of it, or what overlaps the violation's operations, or the culprit.
function violationEntries(place, scope) {
  const { data } = Timeline;
  const { ops } = data;
  const violation = data.violations[place];
  const code = data.names.k.indexOf(violation.key ?? "");
  const culprit = placeOfIndex(violation.culprit ?? -1);
  const members = (scope === "culprit" && culprit >= 0 ? [culprit] : violation.ops.map(placeOfIndex)).filter(
    (i) => i >= 0,
  );
  const ofKey = (i) => ops.k[i] === code;
  if (scope === "all" || !members.length) return entriesBetween(0, data.end, ofKey);
  return entriesBetween(
    Math.min(...members.map((i) => ops.t[i])) / 1e6,
    Math.max(...members.map((i) => endOf(data, i))) / 1e6,
    ofKey,
  );
}

function ofViolation(place, i) {
  const { data } = Timeline;
  return data.violations[place].ops.includes(data.ops.i[i]);
}

export function initText() {
  for (const details of document.querySelectorAll("details.key-history")) {
    const scope = details.querySelector("select");
    scope.addEventListener(
      "input",
      textFold(
        details,
        () => violationEntries(Number(details.dataset.violation), scope.value),
        ({ i }) => i !== undefined && ofViolation(details.dataset.violation, i),
      ),
    );
  }
  const inView = document.getElementById("as-text");
  if (inView) View.listeners.push(textFold(inView, () => entriesBetween(View.from, View.to, (i) => Timeline.mask[i])));
}
