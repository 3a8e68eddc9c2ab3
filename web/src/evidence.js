// Marks in the charts open what they stand for: a violation its counterexample, a broken rule its section.  The bars of
// a counterexample open the details of their operations.

import { describe, hideCard, showCard } from "./details.js";
import { placeOfIndex, Timeline } from "./operations.js";
import { reveal } from "./selection.js";
import { showViolation } from "./violations.js";

const REACH = 6;

// The mark within some pixels of a moment: a violation by its place, or a finding; else the finding that stood then, by
// its bar; undefined if there is none.
export function markNear(data, seconds, perPixel) {
  const marks = [
    ...(data.violations ?? []).map(({ at }, violation) => ({ at, violation })),
    ...(data.findings ?? []).map((finding) => ({ at: finding.at, finding })),
  ];
  const away = (mark) => Math.abs(mark.at - seconds);
  const best = marks.reduce((a, b) => (a && away(a) <= away(b) ? a : b), undefined);
  if (best && away(best) <= REACH * perPixel) return best;
  return marks.findLast(({ at, finding }) => finding && at <= seconds && seconds <= (finding.until ?? at));
}

export function openEvidence({ violation, finding, at }) {
  if (finding) {
    const section = [...document.querySelectorAll(".invariant")].find(({ dataset }) => dataset.check === finding.check);
    show(nearest([...(section?.querySelectorAll("tr[data-at]") ?? [])], at) ?? section);
    return;
  }
  const article = document.querySelectorAll("article.violation")[violation];
  if (article) show(article);
  else if (Timeline.data) showViolation(violation);
}

// *Next* opens the fold that it speaks of: around its place, or there the log lines nearest to its moment.
export function wireNext() {
  for (const link of document.querySelectorAll(".next a, .headlines a"))
    link.addEventListener("click", (event) => {
      const place = document.getElementById(link.hash.slice(1));
      const folds = link.dataset.at === undefined ? [] : [...(place?.querySelectorAll("details[data-at]") ?? [])];
      const target = nearest(folds, Number(link.dataset.at)) ?? place?.closest(".violation");
      if (!target) return;
      event.preventDefault();
      if (target.tagName === "DETAILS") target.open = true;
      show(target, "start");
    });
}

// A link to a section that is one fold opens it.
export function wireFolds() {
  for (const link of document.querySelectorAll('a[href^="#"]'))
    link.addEventListener("click", () => {
      const fold = document.querySelector(`#${CSS.escape(link.hash.slice(1))} > details.body`);
      if (fold) fold.open = true;
    });
}

// The one of some elements whose moment is nearest.
function nearest(elements, at) {
  return elements.reduce(
    (a, b) => (a && Math.abs(a.dataset.at - at) <= Math.abs(b.dataset.at - at) ? a : b),
    undefined,
  );
}

// A bar of a drawing names its operation, and a click shows it in the timeline, with the violation's pinned.
export function wireDrawings() {
  document.querySelectorAll("article.violation").forEach((article, violation) => {
    for (const bar of article.querySelectorAll(".proof .op")) {
      const i = placeOfIndex(Number(bar.dataset.index));
      if (i < 0) continue;
      bar.classList.add("known");
      bar.addEventListener("pointermove", ({ clientX, clientY }) => showCard(describe(i), clientX, clientY));
      bar.addEventListener("pointerleave", hideCard);
      bar.addEventListener("click", () => {
        hideCard();
        showViolation(violation);
        reveal(i);
      });
    }
  });
}

// Opens the folds around an element, scrolls there, and frames it until the next one is shown.
function show(element, block = "center") {
  if (!element) return;
  for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  for (const other of document.querySelectorAll(".shown")) other.classList.remove("shown");
  element.classList.add("shown");
  element.scrollIntoView({ block });
}
