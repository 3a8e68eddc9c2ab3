// Search among the operations: by value, by error, by index, or by a query. What is found is marked.

import { say } from "./filters.js";
import { lowerBound, Timeline } from "./operations.js";
import { compile, isQuery } from "./query.js";
import { reveal } from "./selection.js";
import { View } from "./view.js";

const Finding = { last: null };

// Values first, then errors, both among what passes the filters; a number that is neither, or #number, is an index.
export function search(direction) {
  const text = document.getElementById("f-search").value.trim();
  const again = Finding.last === text;
  Finding.last = text;
  const { name, found, hidden, index, wrong } = lookFor(text);
  setHits(found);
  if (index !== undefined) revealIndex(index);
  else if (found.length) revealMatch(found, direction, again, name);
  else if (hidden) say(`${hidden.toLocaleString("en")} ${name}, but the filters hide them all`);
  else if (text) say(wrong ?? "no match");
}

// Marks what the field asks for, and moves nothing: after a filter or a link.
export function markHits() {
  const { name, found, wrong } = lookFor(document.getElementById("f-search").value.trim());
  setHits(found);
  if (wrong) say(wrong);
  else if (found.length) say(`${found.length.toLocaleString("en")} ${name}`);
}

// Steps through what was found, from the selected operation or the time window.
export function stepHit(direction) {
  const { hits } = Timeline;
  if (hits.length) revealMatch(hits, direction, true, "found");
  else say("no search, or no match");
}

function setHits(found) {
  Timeline.hits = found;
  for (const id of ["b-prev-hit", "b-next-hit"]) document.getElementById(id).hidden = !found.length;
  View.changed();
}

function lookFor(text) {
  const nothing = { name: "", found: [], hidden: 0 };
  if (!text) return nothing;
  if (/^#\d+$/.test(text)) return { ...nothing, index: Number(text.slice(1)) };
  if (isQuery(text))
    try {
      return { name: "by query", ...matches(compile(text, Timeline.data)) };
    } catch (error) {
      return { ...nothing, wrong: error.message };
    }
  const word = text.toLowerCase();
  for (const [name, accepts] of [
    ["by value", holding(word)],
    ["by error", failingWith(word)],
  ]) {
    const both = matches(accepts);
    if (both.found.length || both.hidden) return { name, ...both };
  }
  return /^\d+$/.test(text) ? { ...nothing, index: Number(text) } : nothing;
}

function matches(accepts) {
  const { mask } = Timeline;
  const found = [];
  let hidden = 0;
  for (let i = 0; i < mask.length; i++)
    if (accepts(i)) {
      if (mask[i]) found.push(i);
      else hidden++;
    }
  return { found, hidden };
}

// A new search starts at the time window; a repeated one goes to the next match and wraps around.
function revealMatch(found, direction, again, name) {
  const { ops } = Timeline.data;
  const here = again && View.selected !== null ? View.selected : null;
  let place =
    here === null
      ? lowerBound(found, lowerBound(ops.t, View.from * 1e6))
      : lowerBound(found, direction > 0 ? here + 1 : here) - (direction > 0 ? 0 : 1);
  place = (place + found.length) % found.length;
  reveal(found[place]);
  say(`${place + 1} of ${found.length.toLocaleString("en")} ${name}`);
}

function revealIndex(index) {
  const { data, mask } = Timeline;
  const { ops } = data;
  const place = lowerBound(ops.i, index + 1) - 1;
  for (let i = place; i >= 0 && i > place - 5000; i--) {
    if (ops.i[i] !== index && !(ops.r[i] >= 0 && ops.i[i] + ops.r[i] === index)) continue;
    if (!mask[i]) {
      say(`the operation with index ${index} does not pass the filters`);
      return;
    }
    reveal(i);
    say("by index");
    return;
  }
  say("no match");
}

// Whether an operation's value or result is a number or contains a text; the list of texts is searched only once.
function holding(text) {
  const { ops, names } = Timeline.data;
  const number = /^-?\d+$/.test(text) ? Number(text) : null;
  const word = number === null ? null : new RegExp(`(^|[^\\d.-])${text.replace("-", "\\-")}(?![\\d.])`);
  const texts = names.texts.map((value) => (word ? word.test(value) : value.toLowerCase().includes(text)));
  const one = (kinds, first, second) => (i) => {
    const kind = kinds[i];
    if (kind === 3) return texts[first[i]] === true;
    if (number !== null)
      return (
        (kind === 1 && first[i] === number) ||
        (kind === 2 && (first[i] === number || second[i] === number)) ||
        (kind === 4 && second[i] === number)
      );
    return false;
  };
  const asked = one(ops.vk, ops.va, ops.vb);
  const answered = one(ops.qk, ops.qa, ops.qb);
  return (i) => asked(i) || answered(i);
}

function failingWith(text) {
  const { ops, names } = Timeline.data;
  const codes = names.e.map((error) => error.toLowerCase().includes(text));
  return (i) => ops.e[i] >= 0 && codes[ops.e[i]];
}
