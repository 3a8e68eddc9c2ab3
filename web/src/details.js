// The fields of one operation in words, and the card under the pointer that shows them.

import { el } from "./dom.js";
import { boxLabel, endOf, nameOf, OUTCOMES, plainKey, stepsOf, Timeline } from "./operations.js";
import { leaderAt, ROLE_NAMES, stretchAt, termText } from "./roles.js";

export function describe(i, mostSteps = Infinity) {
  const { data } = Timeline;
  const { ops } = data;
  const ms = ops.d[i] / 1000;
  const rows = [
    ...operationRows(i, mostSteps),
    ["outcome", ops.o[i] === 1 ? "info: unknown, may take effect later" : OUTCOMES[ops.o[i]]],
    ["error", nameOf(data, "e", i)],
    ["process", String(ops.p[i])],
    ["node", nameOf(data, "n", i)],
    ["key", plainKey(nameOf(data, "k", i))],
    ["invoked", secondsText(ops.t[i])],
    [ops.o[i] === 1 ? "given up at" : "completed", ops.d[i] < 0 ? "" : secondsText(ops.t[i] + ops.d[i])],
    ["took", ops.d[i] < 0 ? "never answered" : `${ms.toLocaleString("en", { maximumFractionDigits: 3 })} ms`],
    ["index", ops.r[i] < 0 ? String(ops.i[i]) : `${ops.i[i]} to ${ops.i[i] + ops.r[i]}`],
    ["phase", nameOf(data, "ph", i)],
    ["leader then", leaderText(data, Math.min(endOf(data, i), data.end * 1e6) / 1e6)],
    ["role of its node", roleText(data, nameOf(data, "n", i), endOf(data, i) / 1e6)],
    ["violation", violationText(data, ops.i[i])],
    [
      "fault",
      data.faults
        .filter((f) => f.state !== "skipped" && f.start <= endOf(data, i) / 1e6 && f.end >= ops.t[i] / 1e6)
        .map((f) => f.fault)
        .join(", "),
    ],
  ];
  return rows.filter(([, text]) => text !== "");
}

// A transaction has a row for each step, in their order.
function operationRows(i, most) {
  const steps = stepsOf(i);
  if (!steps) return [["operation", boxLabel(i)]];
  const rows = steps.slice(0, most).map(({ text }, place) => [`step ${place + 1}`, text]);
  return steps.length > most ? [...rows, ["", `… ${steps.length - most} more`]] : rows;
}

function secondsText(microseconds) {
  return `${(microseconds / 1e6).toFixed(6)} s`;
}

function leaderText(data, seconds) {
  if (!data.roles) return "";
  const led = leaderAt(data, seconds);
  return led ? `${led.node}${termText(led.term)}` : "none";
}

function roleText(data, name, seconds) {
  const place = data.nodes.findIndex((node) => node.name === name);
  const found = place < 0 ? undefined : stretchAt(data, place, seconds);
  return found ? `${ROLE_NAMES[found[0]]}${found[0] < 4 ? termText(found[1]) : ""}` : "";
}

function violationText(data, index) {
  const texts = [];
  for (const [place, { kind, ops, suspects, says }] of data.violations.entries()) {
    if (!ops.includes(index)) continue;
    const blame = suspects.length > 1 ? ", one of those that cannot all be placed" : ", cannot be placed";
    const role = says.length ? `: ${says[ops.indexOf(index)]}` : suspects.includes(index) ? blame : "";
    texts.push(`${kind} (${place + 1})${role}`);
  }
  return texts.slice(0, 4).join("; ");
}

export function listOf(rows) {
  const list = el("dl");
  for (const [name, text] of rows) {
    list.append(el("dt", name), el("dd", text));
  }
  return list;
}

export function showCard(rows, x, y) {
  const card = document.getElementById("card");
  card.hidden = rows === null;
  if (rows === null) return;
  card.replaceChildren(listOf(rows));
  const box = card.getBoundingClientRect();
  card.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  card.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18}px`;
}

export function hideCard() {
  document.getElementById("card").hidden = true;
}
