// The fault under the cursor is marked in the table and among the networks; the live network shows that moment.

import { answersAt, leaderAt, termText } from "./roles.js";
import { View } from "./view.js";

export function wireFaults(data) {
  const live = document.getElementById("live");
  let hot = null;
  if (live) live.calm = live.querySelector(".links").cloneNode(true);
  View.cursorListeners.push((seconds) => {
    const fault =
      seconds === null
        ? undefined
        : data.faults.find((f) => f.state === "installed" && f.start <= seconds && seconds <= f.end);
    const id = fault ? fault.id : null;
    if (live && seconds !== null) showMoment(data, live, seconds, fault);
    if (id === hot) return;
    hot = id;
    for (const element of document.querySelectorAll(".network[data-fault], .faults tbody tr"))
      element.classList.toggle(
        "hot",
        id !== null && (element.dataset.fault === String(id) || element.id === `fault-${id}`),
      );
  });
}

function showMoment(data, live, seconds, fault) {
  const shown = fault && document.querySelector(`.network[data-fault="${Number(fault.id)}"]`);
  const id = shown ? fault.id : -1;
  const led = leaderAt(data, seconds);
  if (live.shown !== id) {
    live.shown = id;
    live.querySelector(".links").replaceWith((shown ? shown.querySelector(".links") : live.calm).cloneNode(true));
  }
  // A fault that kills or pauses strikes one after the other: who answers is not struck yet, or not any more.
  const silences = fault?.family === "kill" || fault?.family === "pause";
  for (const node of live.querySelectorAll(".node")) {
    const name = node.dataset.node;
    const struck = Boolean(shown?.querySelector(`.node.struck[data-node="${CSS.escape(name)}"]`));
    node.classList.toggle("struck", struck && !(silences && answersAt(data, name, seconds)));
    node.classList.toggle("leader", led !== null && name === led.node);
  }
  const leader = led ? `leader ${led.node}${termText(led.term)}` : "no leader";
  const texts = [`${seconds.toFixed(2)} s`, ...(data.roles ? [leader] : []), ...(fault ? [fault.fault] : [])];
  document.getElementById("live-said").textContent = texts.join(", ");
}
