"use strict";
// Hover card, pins, filters, search, going from error to error.
const Details = { pins: [], queries: {} };

function describe(i) {
  const { data } = Timeline, { ops } = data, ms = ops.d[i] / 1000;
  const rows = [
    ["operation", boxLabel(i)],
    ["outcome", OUTCOMES[ops.o[i]]],
    ["error", nameOf(data, "e", i)],
    ["process", String(ops.p[i])],
    ["node", nameOf(data, "n", i)],
    ["key", plainKey(nameOf(data, "k", i))],
    ["invoked", (ops.t[i] / 1e6).toFixed(6) + " s"],
    ["took", ops.d[i] < 0 ? "never answered" : ms.toLocaleString("en", { maximumFractionDigits: 3 }) + " ms"],
    ["index", ops.r[i] < 0 ? String(ops.i[i]) : `${ops.i[i]} to ${ops.i[i] + ops.r[i]}`],
    ["phase", nameOf(data, "ph", i)],
    ["fault", data.faults.filter((f) => f.state !== "skipped" && f.start <= endOf(data, i) / 1e6 && f.end >= ops.t[i] / 1e6).map((f) => f.fault).join(", ")],
  ];
  return rows.filter(([, text]) => text !== "");
}

function listOf(i) {
  const list = document.createElement("dl");
  for (const [name, text] of describe(i)) {
    const title = document.createElement("dt"), value = document.createElement("dd");
    title.textContent = name; value.textContent = text;
    list.append(title, value);
  }
  return list;
}

function showCard(i, x, y) {
  const card = document.getElementById("card");
  card.hidden = i < 0;
  if (i < 0) return;
  card.replaceChildren(listOf(i));
  const box = card.getBoundingClientRect();
  card.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
  card.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18) + "px";
}

function select(i) {
  View.selected = i;
  View.changed();
}

function pin(i) {
  select(i);
  Details.pins = [i, ...Details.pins.filter((other) => other !== i)].slice(0, 6);
  drawPins();
}

function drawPins() {
  document.getElementById("pinned").replaceChildren(...Details.pins.map((i) => {
    const box = document.createElement("div"), button = document.createElement("button");
    box.className = "pin";
    button.type = "button"; button.textContent = "Unpin";
    button.addEventListener("click", () => { Details.pins = Details.pins.filter((other) => other !== i); if (View.selected === i) select(null); drawPins(); });
    box.append(listOf(i), button);
    return box;
  }));
}

function reveal(i) {
  const { data, canvas, row, rowHeight } = Timeline, at = data.ops.t[i] / 1e6;
  const span = Math.min(View.to - View.from, Math.max(1, data.ops.d[i] / 1e6 * 3));
  if (at < View.from || at > View.to || View.to - View.from > 20) View.set(at - span / 2, at + span / 2);
  const host = canvas.parentElement, y = row[i] * rowHeight;
  if (y < host.scrollTop || y > host.scrollTop + host.clientHeight - rowHeight) host.scrollTop = y - host.clientHeight / 2;
  pin(i);
}

function step(direction, accepts) {
  const { data, mask } = Timeline, count = data.ops.t.length;
  let i = View.selected ?? (direction > 0 ? lowerBound(data.ops.t, View.from * 1e6) - 1 : lowerBound(data.ops.t, View.to * 1e6));
  for (i += direction; i >= 0 && i < count; i += direction) if (mask[i] && accepts(i)) { reveal(i); say(""); return true; }
  say(direction > 0 ? "none after this" : "none before this");
  return false;
}

function isError(i) { return Timeline.data.ops.o[i] !== 0 || Timeline.data.markedSet.has(Timeline.data.ops.i[i]); }

function say(text) { document.getElementById("f-said").textContent = text; }

function addOptions(id, names, plain) {
  const select = document.getElementById(id);
  names.slice(0, 2000).forEach((name, code) => {
    const option = document.createElement("option");
    option.value = String(code); option.textContent = plain ? plainKey(name) : name;
    select.append(option);
  });
}

function fillFilters(data) {
  addOptions("f-key", data.names.k, true);
  addOptions("f-kind", data.names.f, false);
  const form = document.getElementById("filters");
  form.addEventListener("submit", (event) => { event.preventDefault(); search(1); });
  for (const id of ["f-key", "f-kind", "f-outcome", "f-process"]) document.getElementById(id).addEventListener("input", applyFilters);
  document.getElementById("f-rows").addEventListener("input", (event) => { groupRows(event.target.value); View.changed(); });
  document.getElementById("b-next").addEventListener("click", () => step(1, isError));
  document.getElementById("b-prev").addEventListener("click", () => step(-1, isError));
  document.getElementById("b-reset").addEventListener("click", () => View.whole());
  document.getElementById("f-search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); search(event.shiftKey ? -1 : 1); }
  });
}

function applyFilters() {
  const { ops } = Timeline.data, { mask } = Timeline, chosen = (id) => document.getElementById(id).value.trim();
  const key = chosen("f-key"), kind = chosen("f-kind"), outcome = chosen("f-outcome"), process = chosen("f-process");
  let shown = 0;
  for (let i = 0; i < mask.length; i++) {
    const keep = (key === "" || ops.k[i] === +key) && (kind === "" || ops.f[i] === +kind) && (process === "" || String(ops.p[i]) === process)
      && (outcome === "" || (outcome === "errors" ? ops.o[i] !== 0 : ops.o[i] === +outcome));
    mask[i] = keep ? 1 : 0;
    shown += mask[i];
  }
  say(shown === mask.length ? "" : `${shown.toLocaleString("en")} of ${mask.length.toLocaleString("en")}`);
  View.changed();
}

// A number finds an operation by the index of one of its events first, then by value; text finds values and errors.
function search(direction) {
  const { data } = Timeline, { ops } = data, text = document.getElementById("f-search").value.trim().toLowerCase();
  if (!text) return;
  if (/^\d+$/.test(text) && Details.last !== text) {
    const index = Number(text), place = lowerBound(ops.i, index + 1) - 1;
    for (let i = place; i >= 0 && i > place - 5000; i--)
      if (ops.i[i] === index || (ops.r[i] >= 0 && ops.i[i] + ops.r[i] === index)) { Details.last = text; reveal(i); say("by index; again: by value"); return; }
  }
  Details.last = text;
  const number = /^-?\d+$/.test(text) ? Number(text) : null;
  step(direction, (i) => number !== null
    ? (ops.vk[i] === 1 && ops.va[i] === number) || (ops.qk[i] === 1 && ops.qa[i] === number) || (ops.vk[i] > 1 && ops.vk[i] !== 3 && (ops.va[i] === number || ops.vb[i] === number))
    : nameOf(data, "e", i).toLowerCase().includes(text) || textOfValue(data, "v", i).toLowerCase().includes(text) || textOfValue(data, "q", i).toLowerCase().includes(text));
}
