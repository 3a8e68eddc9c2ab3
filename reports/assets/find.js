"use strict";
// Filters, search, and going from error to error and from violation to violation.
const Finding = { last: null };

// Brings an operation into view, wherever on the page the reader is, and chooses it.
function reveal(i) {
  const { data, canvas, row, rowHeight } = Timeline, at = data.ops.t[i] / 1e6;
  const span = Math.min(View.to - View.from, Math.max(1, data.ops.d[i] / 1e6 * 3));
  if (at < View.from || at > View.to || View.to - View.from > 20) View.set(at - span / 2, at + span / 2);
  const host = canvas.parentElement, y = row[i] * rowHeight, box = host.getBoundingClientRect();
  if (y < host.scrollTop || y > host.scrollTop + host.clientHeight - rowHeight) host.scrollTop = y - host.clientHeight / 2;
  if (box.bottom < 120 || box.top > innerHeight - 120) document.getElementById("timeline").scrollIntoView();
  select(i);
}

function step(direction, accepts) {
  const { data, mask } = Timeline, count = data.ops.t.length;
  let i = View.selected ?? (direction > 0 ? lowerBound(data.ops.t, View.from * 1e6) - 1 : lowerBound(data.ops.t, View.to * 1e6));
  for (i += direction; i >= 0 && i < count; i += direction) if (mask[i] && accepts(i)) { reveal(i); say(""); return true; }
  say(direction > 0 ? "none after this" : "none before this");
  return false;
}

function isError(i) { return Timeline.data.ops.o[i] !== 0; }

function say(text) { document.getElementById("f-said").textContent = text; }

// The operations of one violation: its key alone, its time, all of it pinned, the one that cannot be placed chosen.
function showViolation(place) {
  const { data } = Timeline, violation = data.violations[place], members = violation.ops.map(placeOfIndex).filter((i) => i >= 0);
  if (!members.length) { say("the page holds none of its operations"); return; }
  const culprit = placeOfIndex(violation.culprit ?? -1), key = data.names.k.indexOf(violation.key ?? "");
  clearFilters();
  document.getElementById("f-key").value = key < 0 ? "" : String(key);
  applyFilters();
  const from = Math.min(...members.map((i) => data.ops.t[i])) / 1e6, to = Math.max(...members.map((i) => endOf(data, i))) / 1e6, room = (to - from) * 0.25 + 0.005;
  View.set(from - room, to + room);
  Timeline.focus = place;
  Details.pins = members;
  reveal(culprit >= 0 ? culprit : members.at(-1));
  document.getElementById("timeline").scrollIntoView();
  say(`violation ${place + 1} of ${data.violations.length}, ${violation.kind}` + (key < 0 ? "" : `; only ${plainKey(violation.key)} is shown`));
}

function stepViolation(direction) {
  const many = Timeline.data.violations.length;
  if (!many) { say("no violation"); return; }
  showViolation(Timeline.focus === null ? (direction > 0 ? 0 : many - 1) : (Timeline.focus + direction + many) % many);
}

function addOptions(id, names, plain) {
  const select = document.getElementById(id), shown = names.slice(0, 2000).map((name, code) => [plain ? plainKey(name) : name, code]);
  if (shown.length <= 500) shown.sort((a, b) => inOrder(a[0], b[0]));
  for (const [name, code] of shown) {
    const option = document.createElement("option");
    option.value = String(code); option.textContent = name;
    select.append(option);
  }
}

function fillFilters(data) {
  addOptions("f-key", data.names.k, true);
  addOptions("f-kind", data.names.f, false);
  const form = document.getElementById("filters"), on = (id, action) => document.getElementById(id)?.addEventListener("click", action);
  form.addEventListener("submit", (event) => { event.preventDefault(); search(1); });
  for (const id of ["f-key", "f-kind", "f-outcome", "f-process"]) document.getElementById(id).addEventListener("input", applyFilters);
  document.getElementById("f-rows").addEventListener("input", (event) => { groupRows(event.target.value); View.changed(); });
  on("b-next", () => step(1, isError)); on("b-prev", () => step(-1, isError));
  on("b-next-violation", () => stepViolation(1)); on("b-prev-violation", () => stepViolation(-1));
  on("b-reset", () => View.whole()); on("b-clear", () => { clearFilters(); applyFilters(); });
  for (const id of ["b-next-violation", "b-prev-violation"]) document.getElementById(id).hidden = !data.violations.length;
  document.getElementById("f-search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); search(event.shiftKey ? -1 : 1); }
  });
}

function clearFilters() { for (const id of ["f-key", "f-kind", "f-outcome", "f-process"]) document.getElementById(id).value = ""; }

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
  document.getElementById("b-clear").hidden = shown === mask.length;
  say(shown === mask.length ? "" : `${shown.toLocaleString("en")} of ${mask.length.toLocaleString("en")}`);
  View.changed();
}

// Values first, then errors, both among what passes the filters; a number that is neither, or #number, is an index.
function search(direction) {
  const text = document.getElementById("f-search").value.trim().toLowerCase();
  if (!text) return;
  const again = Finding.last === text;
  Finding.last = text;
  if (/^#\d+$/.test(text)) { revealIndex(Number(text.slice(1))); return; }
  for (const [name, accepts] of [["by value", holding(text)], ["by error", failingWith(text)]]) {
    const { found, hidden } = matches(accepts);
    if (found.length) { revealMatch(found, direction, again, name); return; }
    if (hidden) { say(`${hidden.toLocaleString("en")} ${name}, but none passes the filters`); return; }
  }
  if (/^\d+$/.test(text)) revealIndex(Number(text)); else say("nothing holds it");
}

function matches(accepts) {
  const { mask } = Timeline, found = [];
  let hidden = 0;
  for (let i = 0; i < mask.length; i++) if (accepts(i)) { if (mask[i]) found.push(i); else hidden++; }
  return { found, hidden };
}

// The first time from where the reader looks, then from one to the next, round and round.
function revealMatch(found, direction, again, name) {
  const { ops } = Timeline.data, here = again && View.selected !== null ? View.selected : null;
  let place = here === null ? lowerBound(found, lowerBound(ops.t, View.from * 1e6)) : lowerBound(found, direction > 0 ? here + 1 : here) - (direction > 0 ? 0 : 1);
  place = (place + found.length) % found.length;
  reveal(found[place]);
  say(`${place + 1} of ${found.length.toLocaleString("en")} ${name}`);
}

function revealIndex(index) {
  const { data, mask } = Timeline, { ops } = data, place = lowerBound(ops.i, index + 1) - 1;
  for (let i = place; i >= 0 && i > place - 5000; i--) {
    if (ops.i[i] !== index && !(ops.r[i] >= 0 && ops.i[i] + ops.r[i] === index)) continue;
    if (!mask[i]) { say(`the operation with index ${index} does not pass the filters`); return; }
    reveal(i);
    say("by index");
    return;
  }
  say("nothing holds it");
}

// Whether an operation's value or answer is a number or holds a text; the lists of texts are looked through once.
function holding(text) {
  const { ops, names } = Timeline.data, number = /^-?\d+$/.test(text) ? Number(text) : null;
  const word = number === null ? null : new RegExp(`(^|[^\\d.-])${text.replace("-", "\\-")}(?![\\d.])`);
  const texts = names.texts.map((value) => word ? word.test(value) : value.toLowerCase().includes(text));
  const one = (kinds, first, second) => (i) => {
    const kind = kinds[i];
    if (kind === 3) return texts[first[i]] === true;
    if (number !== null) return (kind === 1 && first[i] === number) || (kind === 2 && (first[i] === number || second[i] === number)) || (kind === 4 && second[i] === number);
    return false;
  };
  const asked = one(ops.vk, ops.va, ops.vb), answered = one(ops.qk, ops.qa, ops.qb);
  return (i) => asked(i) || answered(i);
}

function failingWith(text) {
  const { ops, names } = Timeline.data, codes = names.e.map((error) => error.toLowerCase().includes(text));
  return (i) => ops.e[i] >= 0 && codes[ops.e[i]];
}
