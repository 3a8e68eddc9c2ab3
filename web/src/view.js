// One time window and one cursor, shared by every chart; charts subscribe to both.

const APART_MS = 400;

export const View = {
  from: 0,
  to: 1,
  start: 0,
  end: 1,
  cursor: null,
  selected: null,
  listeners: [],
  cursorListeners: [],
  pending: false,
  // Windows to go back to; a run of quick changes, as by a wheel, is one.
  past: [],
  changedAt: -Infinity,

  reset(end, start = 0) {
    this.from = this.start = start;
    this.to = this.end = end;
  },

  set(from, to) {
    const span = Math.min(Math.max(to - from, 1e-4), this.end - this.start);
    const start = Math.min(Math.max(from, this.start), this.end - span);
    if (!Number.isFinite(start) || !Number.isFinite(span)) return;
    if (Math.abs(start - this.from) < 1e-9 && Math.abs(start + span - this.to) < 1e-9) return;
    if (performance.now() - this.changedAt > APART_MS) this.past.push([this.from, this.to]);
    this.changedAt = performance.now();
    this.from = start;
    this.to = start + span;
    this.changed();
  },

  back() {
    if (!this.past.length) return;
    [this.from, this.to] = this.past.pop();
    this.changedAt = -Infinity;
    this.changed();
  },

  // One redraw a frame, however many events asked for it.
  changed() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      for (const listener of this.listeners) listener();
    });
  },

  whole() {
    this.set(this.start, this.end);
  },
  zoom(factor, at) {
    this.set(at - (at - this.from) * factor, at + (this.to - at) * factor);
  },
  move(seconds) {
    this.set(this.from + seconds, this.to + seconds);
  },

  point(seconds) {
    if (seconds === this.cursor) return;
    this.cursor = seconds;
    for (const listener of this.cursorListeners) listener(seconds);
  },
};

// Keys while a canvas with the shared time is focused.
export const ViewKeys = {
  ArrowLeft: () => View.move((View.from - View.to) / 8),
  ArrowRight: () => View.move((View.to - View.from) / 8),
  "+": () => View.zoom(1 / 1.5, (View.from + View.to) / 2),
  "=": () => View.zoom(1 / 1.5, (View.from + View.to) / 2),
  "-": () => View.zoom(1.5, (View.from + View.to) / 2),
  0: () => View.whole(),
  Home: () => View.whole(),
};
