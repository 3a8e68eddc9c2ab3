// Fingers on a chart: two zoom and move, one that stays down reads what is under it as a pointer would.

import { View } from "./view.js";

const HOLD_MS = 450;

const STILL = 8;

const Fingers = { down: new Map() };

export function severalFingers() {
  return Fingers.down.size > 1;
}

// secondsAt: the moment under an event; read: shows what is there; moves: whether one finger moves the view as well.
export function wireTouch(element, secondsAt, read, moves) {
  let hold = 0;
  let pinch = null;
  const span = () => {
    const [a, b] = [...Fingers.down.values()];
    return { wide: Math.max(Math.abs(a.x - b.x), 20), at: (a.at + b.at) / 2 };
  };
  const forget = (event) => {
    clearTimeout(hold);
    Fingers.down.delete(event.pointerId);
    pinch = null;
  };
  element.style.touchAction = "pan-y";
  element.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch") return;
    Fingers.down.set(event.pointerId, { x: event.clientX, first: event.clientX, at: secondsAt(event) });
    clearTimeout(hold);
    if (Fingers.down.size === 1)
      hold = setTimeout(() => {
        View.point(secondsAt(event));
        read(event);
      }, HOLD_MS);
    pinch = Fingers.down.size === 2 ? { ...span(), from: View.from, to: View.to } : null;
  });
  element.addEventListener("pointermove", (event) => {
    const finger = Fingers.down.get(event.pointerId);
    if (!finger) return;
    const before = finger.x;
    finger.x = event.clientX;
    if (Math.abs(finger.x - finger.first) > STILL) clearTimeout(hold);
    if (pinch) {
      const factor = pinch.wide / span().wide;
      View.set(pinch.at - (pinch.at - pinch.from) * factor, pinch.at + (pinch.to - pinch.at) * factor);
    } else if (moves && Fingers.down.size === 1)
      View.move(((before - finger.x) / element.clientWidth) * (View.to - View.from));
  });
  for (const name of ["pointerup", "pointercancel"]) element.addEventListener(name, forget);
  element.addEventListener("contextmenu", (event) => {
    if (event.pointerType === "touch") event.preventDefault();
  });
}
