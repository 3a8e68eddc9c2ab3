"use strict";
// Puts the page together: unpack, draw, then keyboard, theme, links into the timeline, and the address.
function readHash() {
  const parts = new URLSearchParams(location.hash.slice(1)), [from, to] = (parts.get("t") ?? "").split("-").map(Number);
  if (parts.has("t") && to > from) View.set(from, to);
  if (parts.has("rows") && ["process", "node", "key"].includes(parts.get("rows")) && Timeline.data) {
    document.getElementById("f-rows").value = parts.get("rows"); groupRows(parts.get("rows"));
  }
  if (parts.has("op") && Timeline.data) { const i = placeOfIndex(Number(parts.get("op"))); if (i >= 0) select(i); }
}

let hashTimer = 0;
function writeHash() {
  clearTimeout(hashTimer);
  hashTimer = setTimeout(() => {
    const parts = [];
    if (View.from > 0 || View.to < View.end) parts.push(`t=${View.from.toFixed(4)}-${View.to.toFixed(4)}`);
    if (Timeline.by && Timeline.by !== "process") parts.push("rows=" + Timeline.by);
    if (View.selected !== null && Timeline.data) parts.push("op=" + Timeline.data.ops.i[View.selected]);
    const wanted = parts.length ? "#" + parts.join("&") : location.pathname + location.search;
    if (parts.length || location.hash.includes("=")) history.replaceState(null, "", wanted);
  }, 200);
}

function redrawAll() { readInk(); resizeCharts(); if (Timeline.data) View.changed(); }

function wireButtons() {
  for (const button of document.querySelectorAll(".copy"))
    button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector("code").textContent;
      try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { getSelection().selectAllChildren(button.parentElement.querySelector("code")); }
    });
  for (const button of document.querySelectorAll("button.go")) button.addEventListener("click", () => go(button));
  for (const row of document.querySelectorAll(".faults tbody tr"))
    row.addEventListener("click", (event) => { if (!event.target.closest("button, a, summary, details") && !String(getSelection())) row.querySelector("button.go").click(); });
}

// A link to the words opens the fold in which they stand.
function wireWords() {
  for (const link of document.querySelectorAll('a[href="#words"]')) link.addEventListener("click", () => { document.querySelector("#words details").open = true; });
}

// To the violation, or to a stretch of time in the chart that shows it, with the index that tells.
function go(button) {
  const { from, to, violation, chart, index } = button.dataset, kind = document.getElementById("progress-kind");
  if (violation !== undefined && Timeline.data) { showViolation(Number(violation)); return; }
  View.set(Number(from), Number(to));
  if (index && kind) { kind.value = index; kind.dispatchEvent(new Event("input")); }
  const shown = chart && document.getElementById(chart);
  (shown && !shown.hidden ? shown : document.getElementById("charts")).scrollIntoView();
}

const Keys = {
  n: () => step(1, isError), p: () => step(-1, isError), v: () => stepViolation(1), V: () => stepViolation(-1), 0: () => View.whole(), Home: () => View.whole(),
  "/": () => { const box = document.getElementById("f-search"); box.scrollIntoView({ block: "center" }); box.focus(); },
  Escape: () => { unpinAll(); if (document.activeElement === Timeline.canvas) Timeline.canvas.blur(); },
};
const TimelineKeys = { ...ViewKeys, Enter: () => { if (View.selected !== null) pin(View.selected); } };

function wireKeys() {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Timeline.data || (event.key !== "Escape" && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName))) return;
    const action = Keys[event.key] ?? (event.target === Timeline.canvas ? TimelineKeys[event.key] : undefined);
    if (action) { event.preventDefault(); action(); }
  });
}

// The fault under the cursor is marked in the table and among the networks, and the live network shows that moment.
function wireFaults(data) {
  const live = document.getElementById("live");
  let hot = null;
  if (live) live.calm = live.querySelector(".links").cloneNode(true);
  View.cursorListeners.push((seconds) => {
    const fault = seconds === null ? undefined : data.faults.find((f) => f.state === "installed" && f.start <= seconds && seconds <= f.end);
    const id = fault ? fault.id : null;
    if (live && seconds !== null) showMoment(data, live, seconds, fault);
    if (id === hot) return;
    hot = id;
    for (const element of document.querySelectorAll(".network[data-fault], .faults tbody tr"))
      element.classList.toggle("hot", id !== null && (element.dataset.fault === String(id) || element.id === "fault-" + id));
  });
}

function showMoment(data, live, seconds, fault) {
  const shown = fault && document.querySelector(`.network[data-fault="${Number(fault.id)}"]`), id = shown ? fault.id : -1;
  const led = leaderAt(data, seconds);
  if (live.shown !== id) {
    live.shown = id;
    live.querySelector(".links").replaceWith((shown ? shown.querySelector(".links") : live.calm).cloneNode(true));
    for (const node of live.querySelectorAll(".node"))
      node.classList.toggle("struck", Boolean(shown?.querySelector(`.node.struck[data-node="${CSS.escape(node.dataset.node)}"]`)));
  }
  for (const node of live.querySelectorAll(".node")) node.classList.toggle("leader", led !== null && node.dataset.node === led.node);
  document.getElementById("live-said").textContent = `${seconds.toFixed(2)} s` + (led ? `, leader ${led.node}, term ${led.term}` : ", no leader") + (fault ? `, ${fault.fault}` : "");
}

function nothingToDraw() {
  const waiting = document.getElementById("waiting"), timeline = document.getElementById("timeline");
  if (waiting) waiting.textContent = "There is nothing to draw.";
  if (timeline) timeline.hidden = true;
  document.documentElement.dataset.ready = "yes";
}

// Only when the width has changed: the first call tells the width that everything was drawn for.
function redrawWhenResized(element) {
  let width = element.clientWidth;
  new ResizeObserver(() => { if (element.clientWidth !== width) { width = element.clientWidth; redrawAll(); } }).observe(element);
}

async function start() {
  wireTheme(redrawAll); wireButtons(); wireWords(); readInk();
  const packed = document.getElementById("packed").textContent;
  if (!packed.trim()) { nothingToDraw(); return; }
  const data = await unpack(packed);
  document.getElementById("packed").remove();
  View.reset(data.end);
  document.getElementById("waiting").hidden = true;
  for (const id of ["charts-body", "beside"]) document.getElementById(id)?.removeAttribute("hidden");
  initTimeline(data); initCharts(data); initStrips(data);
  if (Timeline.data) initText();
  wireKeys(); wireFaults(data);
  readHash();
  addEventListener("hashchange", readHash);
  View.listeners.push(writeHash);
  redrawWhenResized(document.getElementById("charts"));
  document.documentElement.dataset.ready = "yes";
  performance.mark("usable");
}

start().catch((error) => {
  const place = document.getElementById("waiting") ?? document.querySelector(".sentence");
  place.hidden = false;
  place.textContent = "The charts could not be drawn: " + error.message;
  console.error(error);
});
