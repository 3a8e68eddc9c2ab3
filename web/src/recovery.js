// The rates of two runs around their heals, over each other: an SVG, since its time is not that of the runs.

import { el, svg } from "./dom.js";

const [WIDEST, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [760, 220, 64, 16, 8, 28];

// So many steps are drawn at least, to 5 s after the heal.
const SHORTEST = 20;

export function drawRecovery(a, b) {
  const host = document.getElementById("c-recovery");
  const every = Object.entries({ a, b }).map(([letter, run]) => ({ letter, curve: run.curves?.recovery }));
  const drawn = every.filter(({ curve }) => curve?.faults);
  const many = (curve) =>
    curve?.faults
      ? `${curve.faults} fault${curve.faults > 1 ? "s" : ""}`
      : (curve?.why ?? "no operations could be read");
  const said = every.map(({ letter, curve }) => `${letter.toUpperCase()}: ${many(curve)}`).join("; ");
  if (!drawn.length) {
    host.replaceChildren(el("p", `Nothing to draw. ${said}.`, "quiet"));
    return;
  }
  // As many units as there are pixels: the lettering has the size of every other drawing's, on any screen.
  const width = Math.min(host.clientWidth || WIDEST, WIDEST);
  const last = Math.max(...drawn.map(({ curve }) => curve.share.findLastIndex((v) => v !== null)));
  const time = drawn[0].curve.time.slice(0, Math.max(last + 1, SHORTEST));
  const top = Math.max(1.25, ...drawn.flatMap(({ curve }) => curve.share.map((v) => v ?? 0)));
  const x = (seconds) => LEFT + ((seconds - time[0]) / (time.at(-1) - time[0])) * (width - LEFT - RIGHT);
  const y = (share) => HEIGHT - BOTTOM - (share / top) * (HEIGHT - TOP - BOTTOM);
  const picture = svg("svg", {
    viewBox: `0 0 ${width} ${HEIGHT}`,
    width,
    height: HEIGHT,
    class: "recovery",
    role: "img",
  });
  picture.setAttribute("aria-label", "Share of the rate before, around the heals of both runs");
  const write = (content, attributes) => {
    const made = svg("text", attributes);
    made.textContent = content;
    picture.append(made);
  };
  for (const share of [0, 0.5, 1]) {
    picture.append(svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(share), y2: y(share) }));
    write(`${share * 100} %`, { x: LEFT - 8, y: y(share) + 4, "text-anchor": "end" });
  }
  for (let tick = Math.ceil(time[0] / 5) * 5; tick <= time.at(-1); tick += 5)
    write(String(tick), { x: x(tick), y: HEIGHT - 8, "text-anchor": "middle" });
  picture.append(svg("line", { class: "heal", x1: x(0), x2: x(0), y1: TOP, y2: HEIGHT - BOTTOM }));
  for (const { letter, curve } of drawn) {
    let path = "";
    curve.share.forEach((share, i) => {
      if (share !== null) path += `${path && curve.share[i - 1] !== null ? "L" : "M"}${x(time[i])} ${y(share)}`;
    });
    picture.append(svg("path", { class: `run-${letter}`, d: path }));
  }
  const text = `${said}; A solid, B dashed; a curve ends at the next fault or at the end of the load.`;
  host.replaceChildren(picture, el("p", text, "quiet small"));
}
