// Going from error to error and from violation to violation.

import { applyFilters, clearFilters, say } from "./filters.js";
import { endOf, lowerBound, placeOfIndex, plainKey, Timeline } from "./operations.js";
import { reveal, Selection } from "./selection.js";
import { View } from "./view.js";

export function step(direction, accepts) {
  const { data, mask } = Timeline;
  const count = data.ops.t.length;
  let i =
    View.selected ??
    (direction > 0 ? lowerBound(data.ops.t, View.from * 1e6) - 1 : lowerBound(data.ops.t, View.to * 1e6));
  for (i += direction; i >= 0 && i < count; i += direction)
    if (mask[i] && accepts(i)) {
      reveal(i);
      say("");
      return true;
    }
  say(direction > 0 ? "none after this" : "none before this");
  return false;
}

export function isError(i) {
  return Timeline.data.ops.o[i] !== 0;
}

const MOST_PINNED = 8;

// What is pinned of a violation: all of a small one; of a large one the suspects and the last that began before them.
function pinnedOf(violation, members) {
  if (members.length <= MOST_PINNED) return members;
  const { ops } = Timeline.data;
  const suspects = members.filter((i) => violation.suspects.includes(ops.i[i]));
  const others = members.filter((i) => !suspects.includes(i)).sort((a, b) => ops.t[b] - ops.t[a]);
  const chosen = [...suspects, ...others].slice(0, MOST_PINNED);
  return members.filter((i) => chosen.includes(i));
}

// The operations of one violation: its key alone, its time, those that tell it pinned, the one that cannot be placed
// selected.
export function showViolation(place) {
  const { data } = Timeline;
  const violation = data.violations[place];
  const members = violation.ops.map(placeOfIndex).filter((i) => i >= 0);
  if (!members.length) {
    say("the page holds none of its operations");
    return;
  }
  const culprit = placeOfIndex(violation.culprit ?? -1);
  const key = data.names.k.indexOf(violation.key ?? "");
  clearFilters();
  document.getElementById("f-key").value = key < 0 ? "" : String(key);
  applyFilters();
  const from = Math.min(...members.map((i) => data.ops.t[i])) / 1e6;
  const to = Math.max(...members.map((i) => endOf(data, i))) / 1e6;
  const room = (to - from) * 0.25 + 0.005;
  View.set(from - room, to + room);
  Timeline.focus = place;
  Selection.pins = pinnedOf(violation, members);
  reveal(culprit >= 0 ? culprit : members.at(-1));
  document.getElementById("timeline").scrollIntoView();
  const only = key < 0 ? "" : `; only ${plainKey(violation.key)} is shown`;
  const many = data.violations.length;
  const least = data.least ? "at least " : "";
  const marked = data.violated > many ? `${many} that are marked, ${least}${data.violated} in all` : `${least}${many}`;
  const pinned =
    Selection.pins.length < members.length ? `; ${Selection.pins.length} of its ${members.length} pinned` : "";
  say(`violation ${place + 1} of ${marked}, ${violation.kind}${only}${pinned}`);
}

export function stepViolation(direction) {
  const many = Timeline.data.violations.length;
  if (!many) {
    say("no violation");
    return;
  }
  showViolation(Timeline.focus === null ? (direction > 0 ? 0 : many - 1) : (Timeline.focus + direction + many) % many);
}
