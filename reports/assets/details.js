"use strict";
// What is known of one operation: the card under the pointer, the chosen one below the timeline, and the pinned ones.
const Details = { pins: [], most: 12 };

function describe(i) {
  const { data } = Timeline, { ops } = data, ms = ops.d[i] / 1000;
  const rows = [
    ["operation", boxLabel(i)],
    ["outcome", OUTCOMES[ops.o[i]]],
    ["error", nameOf(data, "e", i)],
    ["process", String(ops.p[i])],
    ["node", nameOf(data, "n", i)],
    ["key", plainKey(nameOf(data, "k", i))],
    ["invoked", secondsText(ops.t[i])],
    ["completed", ops.d[i] < 0 ? "" : secondsText(ops.t[i] + ops.d[i])],
    ["took", ops.d[i] < 0 ? "never answered" : ms.toLocaleString("en", { maximumFractionDigits: 3 }) + " ms"],
    ["index", ops.r[i] < 0 ? String(ops.i[i]) : `${ops.i[i]} to ${ops.i[i] + ops.r[i]}`],
    ["phase", nameOf(data, "ph", i)],
    ["leader then", leaderText(data, Math.min(endOf(data, i), data.end * 1e6) / 1e6)],
    ["its node then", roleText(data, nameOf(data, "n", i), endOf(data, i) / 1e6)],
    ["violation", violationText(data, ops.i[i])],
    ["fault", data.faults.filter((f) => f.state !== "skipped" && f.start <= endOf(data, i) / 1e6 && f.end >= ops.t[i] / 1e6).map((f) => f.fault).join(", ")],
  ];
  return rows.filter(([, text]) => text !== "");
}

function secondsText(microseconds) { return (microseconds / 1e6).toFixed(6) + " s"; }

function leaderText(data, seconds) {
  if (!data.stretches?.length) return "";
  const led = leaderAt(data, seconds);
  return led ? `${led.node}, term ${led.term}` : "none";
}

function roleText(data, name, seconds) {
  const place = data.nodes.findIndex((node) => node.name === name), found = place < 0 ? undefined : stretchAt(data, place, seconds);
  return found ? `${ROLE_NAMES[found[0]]}${found[1] >= 0 && found[0] < 4 ? ", term " + found[1] : ""}` : "";
}

function violationText(data, index) {
  const places = data.violations.flatMap((violation, place) => violation.ops.includes(index) ? [place] : []);
  return places.slice(0, 4).map((place) => `${data.violations[place].kind} (${place + 1})` + (data.violations[place].suspects.includes(index) ? (data.violations[place].suspects.length > 1 ? ", one of those that cannot all be placed" : ", cannot be placed") : "")).join("; ");
}

function listOf(rows) {
  const list = document.createElement("dl");
  for (const [name, text] of rows) {
    const title = document.createElement("dt"), value = document.createElement("dd");
    title.textContent = name; value.textContent = text;
    list.append(title, value);
  }
  return list;
}

function showCard(rows, x, y) {
  const card = document.getElementById("card");
  card.hidden = rows === null;
  if (rows === null) return;
  card.replaceChildren(listOf(rows));
  const box = card.getBoundingClientRect();
  card.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
  card.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18) + "px";
}

function hideCard() { document.getElementById("card").hidden = true; }

// Chosen is what the keys and a click go to: one at a time. Pinned ones stay until they are let go.
function select(i) {
  View.selected = i;
  drawPins();
  if (i !== null) View.point(Timeline.data.ops.t[i] / 1e6);
  View.changed();
}

function pin(i) {
  Details.pins = [i, ...Details.pins.filter((other) => other !== i)].slice(0, Details.most);
  select(i);
}

function unpinAll() { Details.pins = []; Timeline.focus = null; hideCard(); select(null); }

function unpin(i) {
  Details.pins = Details.pins.filter((other) => other !== i);
  if (View.selected === i) select(null); else drawPins();
}

function drawPins() {
  const { selected } = View, { pins } = Details, host = document.getElementById("pinned");
  const cards = pins.map((i) => pinCard(i, "Unpin", () => unpin(i)));
  if (selected !== null && !pins.includes(selected)) cards.unshift(pinCard(selected, "Pin", () => pin(selected)));
  if (pins.length > 1) cards.unshift(button("Unpin all (Escape)", unpinAll));
  host.replaceChildren(...cards);
}

function pinCard(i, name, action) {
  const box = document.createElement("div"), { data } = Timeline;
  box.className = "pin" + (i === View.selected ? " chosen" : "") + (data.violations.some((violation) => violation.suspects.includes(data.ops.i[i])) ? " culprit" : "");
  box.append(listOf(describe(i)), button(name, action), button("Show", () => reveal(i)));
  return box;
}

function button(name, action) {
  const made = document.createElement("button");
  made.type = "button"; made.textContent = name;
  made.addEventListener("click", action);
  return made;
}
