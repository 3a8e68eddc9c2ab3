(() => {
  // src/view.js
  var View = {
    from: 0,
    to: 1,
    start: 0,
    end: 1,
    cursor: null,
    selected: null,
    listeners: [],
    cursorListeners: [],
    pending: false,
    reset(end, start2 = 0) {
      this.from = this.start = start2;
      this.to = this.end = end;
    },
    set(from, to) {
      const span = Math.min(Math.max(to - from, 1e-4), this.end - this.start);
      const start2 = Math.min(Math.max(from, this.start), this.end - span);
      if (!Number.isFinite(start2) || !Number.isFinite(span)) return;
      if (Math.abs(start2 - this.from) < 1e-9 && Math.abs(start2 + span - this.to) < 1e-9) return;
      this.from = start2;
      this.to = start2 + span;
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
    }
  };
  var ViewKeys = {
    ArrowLeft: () => View.move((View.from - View.to) / 8),
    ArrowRight: () => View.move((View.to - View.from) / 8),
    "+": () => View.zoom(1 / 1.5, (View.from + View.to) / 2),
    "=": () => View.zoom(1 / 1.5, (View.from + View.to) / 2),
    "-": () => View.zoom(1.5, (View.from + View.to) / 2),
    0: () => View.whole(),
    Home: () => View.whole()
  };

  // src/operations.js
  function textOfValue(data, letter, i) {
    const { ops, names } = data;
    const kind = ops[`${letter}k`][i];
    const a = ops[`${letter}a`][i];
    const b = ops[`${letter}b`][i];
    if (kind === 1) return String(a);
    if (kind === 2) return `${a} → ${b}`;
    if (kind === 3) return names.texts[a] ?? "…";
    if (kind === 4) return `absent → ${b}`;
    return "";
  }
  function nameOf(data, column2, i) {
    const code = data.ops[column2][i];
    return code < 0 ? "" : data.names[column2][code];
  }
  function plainKey(text) {
    return text.length > 1 && text[0] === '"' && text.at(-1) === '"' ? text.slice(1, -1) : text;
  }
  var OUTCOMES = ["ok", "info", "fail"];
  function lowerBound(array, value) {
    let low = 0;
    let high = array.length;
    while (low < high) {
      const middle = low + high >> 1;
      if (array[middle] < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  var Timeline = {
    data: null,
    canvas: null,
    row: null,
    rows: [],
    mask: null,
    reach: null,
    focus: null,
    rowHeight: 18
  };
  var BADNESS = [1, 3, 2];
  function endOf(data, i) {
    return data.ops.d[i] < 0 ? data.end * 1e6 : data.ops.t[i] + data.ops.d[i];
  }
  function reachOf(data) {
    const reach = new Float64Array(data.ops.t.length);
    let latest = 0;
    for (let i = 0; i < reach.length; i++) {
      latest = Math.max(latest, endOf(data, i));
      reach[i] = latest;
    }
    return reach;
  }
  function visibleRange() {
    const { ops } = Timeline.data;
    return [lowerBound(Timeline.reach, View.from * 1e6), lowerBound(ops.t, View.to * 1e6 + 1)];
  }
  function boxLabel(i, named = true) {
    const { data } = Timeline;
    const kind = data.names.f[data.ops.f[i]];
    const key = named ? plainKey(nameOf(data, "k", i)) : "";
    const value = kind === "read" ? data.ops.o[i] === 0 ? textOfValue(data, "q", i) || "absent" : "" : textOfValue(data, "v", i);
    return `${kind} ${key ? `${key} ` : ""}${value}`;
  }
  function placeOfIndex(index) {
    const { ops } = Timeline.data;
    const place = lowerBound(ops.i, index);
    return place < ops.i.length && ops.i[place] === index ? place : -1;
  }

  // src/rows.js
  var ORDER = new Intl.Collator("en", { numeric: true });
  function inOrder(a, b) {
    return ORDER.compare(a, b);
  }
  var MAX_ROWS = 1500;
  function groupRows(by) {
    const { data } = Timeline;
    const { ops } = data;
    if (by === "process") {
      Timeline.row = ops.lane;
      Timeline.rows = processLabels(data);
    } else Object.assign(Timeline, packRows(data, by === "node" ? "n" : "k"));
    Timeline.by = by;
    const count = Math.max(Timeline.rows.length, 1);
    Timeline.rowHeight = Math.max(5, Math.min(20, Math.floor(520 / count)));
  }
  function processLabels(data) {
    const first = new Array(data.lanes).fill(null);
    const many = new Array(data.lanes).fill(0);
    const last = new Array(data.lanes).fill(-1);
    for (let i = 0; i < data.ops.t.length; i++) {
      const lane = data.ops.lane[i];
      const process = data.ops.p[i];
      first[lane] ??= process;
      if (process !== last[lane]) {
        many[lane]++;
        last[lane] = process;
      }
    }
    return first.map((process, lane) => ({ label: many[lane] > 1 ? `${process} +${many[lane] - 1}` : String(process) }));
  }
  function packRows(data, column2) {
    const { ops, names } = data;
    const row = new Int32Array(ops.t.length);
    const groups = /* @__PURE__ */ new Map();
    for (let i = 0; i < row.length; i++) {
      const code = ops[column2][i];
      let group = groups.get(code);
      if (!group) {
        group = { code, free: [] };
        groups.set(code, group);
      }
      let lane = group.free.findIndex((end) => end <= ops.t[i]);
      if (lane < 0) lane = Math.min(group.free.length, 63);
      group.free[lane] = endOf(data, i);
      row[i] = lane;
    }
    const rows = [];
    const title = (code) => code < 0 ? "–" : plainKey(names[column2][code]);
    const order = [...groups.values()].map((group) => ({ group, name: title(group.code) })).sort((a, b) => inOrder(a.name, b.name));
    for (const { group, name } of order) {
      group.start = rows.length;
      for (const lane of group.free.keys()) rows.push({ label: lane ? "" : name, first: lane === 0 });
    }
    for (let i = 0; i < row.length; i++) row[i] += groups.get(ops[column2][i]).start;
    return { row, rows: rows.slice(0, MAX_ROWS) };
  }

  // src/dom.js
  function el(name, text, className) {
    const made = document.createElement(name);
    if (text !== void 0 && text !== null) made.textContent = text;
    if (className) made.className = className;
    return made;
  }
  function option(value, text) {
    const made = el("option", text);
    made.value = value;
    return made;
  }
  function svg(name, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }
  function button(name, action) {
    const made = el("button", name);
    made.type = "button";
    made.addEventListener("click", action);
    return made;
  }

  // src/roles.js
  var ROLE_NAMES = ["leader", "follower", "candidate", "unknown", "no answer"];
  function stretchAt(data, place, seconds) {
    return data.stretches?.[place]?.find(([, , from, to]) => from <= seconds && seconds < to);
  }
  function answersAt(data, node, seconds) {
    const place = data.nodes.findIndex((one) => one.name === node);
    const found = stretchAt(data, place, seconds);
    return found !== void 0 && ROLE_NAMES[found[0]] !== "no answer";
  }
  function leaderAt(data, seconds) {
    let best = null;
    data.stretches?.forEach((_, place) => {
      const found = stretchAt(data, place, seconds);
      if (found && found[0] === 0 && (best === null || found[1] > best.term))
        best = { node: data.nodes[place].name, term: found[1] };
    });
    return best;
  }

  // src/details.js
  function describe(i) {
    const { data } = Timeline;
    const { ops } = data;
    const ms = ops.d[i] / 1e3;
    const rows = [
      ["operation", boxLabel(i)],
      ["outcome", OUTCOMES[ops.o[i]]],
      ["error", nameOf(data, "e", i)],
      ["process", String(ops.p[i])],
      ["node", nameOf(data, "n", i)],
      ["key", plainKey(nameOf(data, "k", i))],
      ["invoked", secondsText(ops.t[i])],
      ["completed", ops.d[i] < 0 ? "" : secondsText(ops.t[i] + ops.d[i])],
      ["took", ops.d[i] < 0 ? "never answered" : `${ms.toLocaleString("en", { maximumFractionDigits: 3 })} ms`],
      ["index", ops.r[i] < 0 ? String(ops.i[i]) : `${ops.i[i]} to ${ops.i[i] + ops.r[i]}`],
      ["phase", nameOf(data, "ph", i)],
      ["leader then", leaderText(data, Math.min(endOf(data, i), data.end * 1e6) / 1e6)],
      ["its node then", roleText(data, nameOf(data, "n", i), endOf(data, i) / 1e6)],
      ["violation", violationText(data, ops.i[i])],
      [
        "fault",
        data.faults.filter((f) => f.state !== "skipped" && f.start <= endOf(data, i) / 1e6 && f.end >= ops.t[i] / 1e6).map((f) => f.fault).join(", ")
      ]
    ];
    return rows.filter(([, text]) => text !== "");
  }
  function secondsText(microseconds) {
    return `${(microseconds / 1e6).toFixed(6)} s`;
  }
  function leaderText(data, seconds) {
    if (!data.stretches?.length) return "";
    const led = leaderAt(data, seconds);
    return led ? `${led.node}, term ${led.term}` : "none";
  }
  function roleText(data, name, seconds) {
    const place = data.nodes.findIndex((node) => node.name === name);
    const found = place < 0 ? void 0 : stretchAt(data, place, seconds);
    return found ? `${ROLE_NAMES[found[0]]}${found[1] >= 0 && found[0] < 4 ? `, term ${found[1]}` : ""}` : "";
  }
  function violationText(data, index) {
    const texts = [];
    for (const [place, { kind, ops, suspects }] of data.violations.entries()) {
      if (!ops.includes(index)) continue;
      const blame = suspects.length > 1 ? ", one of those that cannot all be placed" : ", cannot be placed";
      texts.push(`${kind} (${place + 1})${suspects.includes(index) ? blame : ""}`);
    }
    return texts.slice(0, 4).join("; ");
  }
  function listOf(rows) {
    const list = el("dl");
    for (const [name, text] of rows) {
      list.append(el("dt", name), el("dd", text));
    }
    return list;
  }
  function showCard(rows, x, y) {
    const card = document.getElementById("card");
    card.hidden = rows === null;
    if (rows === null) return;
    card.replaceChildren(listOf(rows));
    const box = card.getBoundingClientRect();
    card.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    card.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18}px`;
  }
  function hideCard() {
    document.getElementById("card").hidden = true;
  }

  // src/selection.js
  var Selection = { pins: [] };
  var MOST_PINS = 12;
  function select(i) {
    View.selected = i;
    drawPins();
    if (i !== null) View.point(Timeline.data.ops.t[i] / 1e6);
    View.changed();
  }
  function pin(i) {
    Selection.pins = [i, ...Selection.pins.filter((other) => other !== i)].slice(0, MOST_PINS);
    select(i);
  }
  function unpinAll() {
    Selection.pins = [];
    Timeline.focus = null;
    hideCard();
    select(null);
  }
  function unpin(i) {
    Selection.pins = Selection.pins.filter((other) => other !== i);
    if (View.selected === i) select(null);
    else drawPins();
  }
  function drawPins() {
    const { selected } = View;
    const { pins } = Selection;
    const host = document.getElementById("pinned");
    const cards = pins.map((i) => pinCard(i, "Unpin", () => unpin(i)));
    if (selected !== null && !pins.includes(selected)) cards.unshift(pinCard(selected, "Pin", () => pin(selected)));
    if (pins.length > 1) cards.unshift(button("Unpin all (Escape)", unpinAll));
    host.replaceChildren(...cards);
  }
  function pinCard(i, name, action) {
    const { data } = Timeline;
    const culprit = data.violations.some((violation) => violation.suspects.includes(data.ops.i[i]));
    const box = el("div", "", `pin${i === View.selected ? " chosen" : ""}${culprit ? " culprit" : ""}`);
    box.append(
      listOf(describe(i)),
      button(name, action),
      button("Show", () => reveal(i))
    );
    return box;
  }
  function reveal(i) {
    const { data, canvas, row, rowHeight } = Timeline;
    const at = data.ops.t[i] / 1e6;
    const span = Math.min(View.to - View.from, Math.max(1, data.ops.d[i] / 1e6 * 3));
    if (at < View.from || at > View.to || View.to - View.from > 20) View.set(at - span / 2, at + span / 2);
    const host = canvas.parentElement;
    const y = row[i] * rowHeight;
    const box = host.getBoundingClientRect();
    if (y < host.scrollTop || y > host.scrollTop + host.clientHeight - rowHeight)
      host.scrollTop = y - host.clientHeight / 2;
    if (box.bottom < 120 || box.top > innerHeight - 120) document.getElementById("timeline").scrollIntoView();
    select(i);
  }

  // src/address.js
  function readHash() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const [from, to] = (parts.get("t") ?? "").split("-").map(Number);
    if (parts.has("t") && to > from) View.set(from, to);
    if (parts.has("rows") && ["process", "node", "key"].includes(parts.get("rows")) && Timeline.data) {
      document.getElementById("f-rows").value = parts.get("rows");
      groupRows(parts.get("rows"));
    }
    if (parts.has("op") && Timeline.data) {
      const i = placeOfIndex(Number(parts.get("op")));
      if (i >= 0) select(i);
    }
  }
  var hashTimer = 0;
  function writeHash() {
    clearTimeout(hashTimer);
    hashTimer = setTimeout(() => {
      const parts = [];
      if (View.from > 0 || View.to < View.end) parts.push(`t=${View.from.toFixed(4)}-${View.to.toFixed(4)}`);
      if (Timeline.by && Timeline.by !== "process") parts.push(`rows=${Timeline.by}`);
      if (View.selected !== null && Timeline.data) parts.push(`op=${Timeline.data.ops.i[View.selected]}`);
      const wanted = parts.length ? `#${parts.join("&")}` : location.pathname + location.search;
      if (parts.length || location.hash.includes("=")) history.replaceState(null, "", wanted);
    }, 200);
  }

  // src/canvas.js
  var GUTTER = 64;
  var MARGIN = 16;
  var Ink = {};
  var INKS = "paper ink quiet rule mark link ok info fail ok-ink info-ink fail-ink run-a run-b".split(" ");
  function readInk() {
    const style = getComputedStyle(document.documentElement);
    for (const name of INKS) Ink[name] = style.getPropertyValue(`--${name}`).trim();
    Ink.dark = luminance(Ink.paper) < 0.5;
    Ink.font = `12px ${style.getPropertyValue("--sans").trim()}`;
  }
  function luminance(colour) {
    const hex = colour.replace("#", "");
    return (parseInt(hex.slice(0, 2), 16) * 0.3 + parseInt(hex.slice(2, 4), 16) * 0.59 + parseInt(hex.slice(4, 6), 16) * 0.11) / 255;
  }
  function prepareCanvas(canvas, height) {
    const width = Math.max(canvas.parentElement.clientWidth, 120);
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = Ink.font;
    return { context, width, height, left: GUTTER, right: width - MARGIN };
  }
  function scaleX(area, from, to) {
    return (seconds) => area.left + (seconds - from) / (to - from) * (area.right - area.left);
  }
  function niceStep(span, wanted) {
    const rough = span / wanted;
    const power = 10 ** Math.floor(Math.log10(rough));
    for (const factor of [1, 2, 2.5, 5, 10]) if (factor * power >= rough) return factor * power;
    return 10 * power;
  }
  function timeText(seconds, step2) {
    let digits = 0;
    while (digits < 6 && Math.abs(step2 * 10 ** digits - Math.round(step2 * 10 ** digits)) > 1e-6) digits++;
    return seconds.toFixed(digits);
  }
  function timeTicks(width) {
    const step2 = niceStep(View.to - View.from, Math.max(2, width / 90));
    const ticks = [];
    for (let tick = Math.ceil(View.from / step2 - 1e-9) * step2; tick <= View.to + step2 * 1e-6; tick += step2)
      ticks.push(tick);
    return ticks;
  }
  function drawTimeAxis(area, toX, y) {
    const { context } = area;
    const ticks = timeTicks(area.right - area.left);
    const step2 = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
    context.fillStyle = Ink.quiet;
    context.strokeStyle = Ink.rule;
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const tick of ticks) {
      const x = Math.round(toX(tick)) + 0.5;
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x, y + 4);
      context.stroke();
      context.fillText(timeText(tick, step2), x, y + 6);
    }
  }
  function clip(context, text, width) {
    if (width < 12) return "";
    if (context.measureText(text).width <= width) return text;
    let low = 0;
    let high = text.length;
    while (low < high) {
      const middle = low + high + 1 >> 1;
      if (context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
      else high = middle - 1;
    }
    return low > 0 ? `${text.slice(0, low)}…` : "";
  }
  function cursorLine(host) {
    const line2 = document.createElement("div");
    line2.setAttribute("aria-hidden", "true");
    Object.assign(line2.style, {
      position: "absolute",
      top: "0",
      bottom: "0",
      width: "0",
      borderLeft: "1px dashed var(--quiet)",
      pointerEvents: "none",
      display: "none"
    });
    host.style.position = "relative";
    host.append(line2);
    const place = (seconds) => {
      const inside = seconds !== null && seconds >= View.from && seconds <= View.to;
      line2.style.display = inside ? "block" : "none";
      if (inside)
        line2.style.left = `${scaleX({ left: GUTTER, right: host.clientWidth - MARGIN }, View.from, View.to)(seconds)}px`;
    };
    View.cursorListeners.push(place);
    View.listeners.push(() => place(View.cursor));
  }
  function followPointer(canvas, dragZoom) {
    const secondsAt = (event) => {
      const box = canvas.getBoundingClientRect();
      return View.from + (event.clientX - box.left - GUTTER) / (box.width - GUTTER - MARGIN) * (View.to - View.from);
    };
    let start2 = null;
    canvas.addEventListener("pointermove", (event) => View.point(secondsAt(event)));
    canvas.addEventListener("pointerleave", () => View.point(null));
    if (!dragZoom) return secondsAt;
    canvas.addEventListener("pointerdown", (event) => {
      start2 = secondsAt(event);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointerup", (event) => {
      const stop = secondsAt(event);
      if (start2 !== null && Math.abs(stop - start2) > (View.to - View.from) * 0.01)
        View.set(Math.min(start2, stop), Math.max(start2, stop));
      start2 = null;
    });
    canvas.addEventListener("dblclick", () => View.whole());
    return secondsAt;
  }
  function rowLabel(area, text, y) {
    const { context } = area;
    context.fillStyle = Ink.quiet;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText(clip(context, text, GUTTER - 12), area.left - 8, y);
  }

  // src/marks.js
  function drawBands(context, data, toX, left, right, top, height) {
    context.save();
    context.globalAlpha = Ink.dark ? 0.26 : 0.45;
    for (const fault of data.faults) {
      if (fault.state === "skipped") continue;
      const a = Math.max(toX(fault.start), left);
      const b = Math.min(Math.max(toX(fault.end), a + 1), right);
      if (b <= left || a >= right) continue;
      context.fillStyle = data.faultColours[fault.family];
      const stood = Math.min(Math.max(toX(fault.stood ?? fault.start), a), b);
      const heal = Math.min(Math.max(toX(fault.heal ?? fault.end), stood), b);
      const full = context.globalAlpha;
      context.fillRect(stood, top, Math.max(heal - stood, 1), height);
      context.globalAlpha = full / 2;
      context.fillRect(a, top, stood - a, height);
      context.fillRect(heal, top, b - heal, height);
      context.globalAlpha = full;
    }
    context.restore();
  }
  function drawPhases(context, data, toX, left, right, top, height, ratio) {
    context.save();
    context.strokeStyle = Ink.quiet;
    context.lineWidth = ratio;
    context.setLineDash([2 * ratio, 3 * ratio]);
    for (const phase of data.phases) {
      const x = toX(phase.start);
      if (x < left || x > right) continue;
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, top + height);
      context.stroke();
    }
    context.restore();
  }
  function namePhases(context, data, toX, left, right, top, ratio) {
    context.save();
    context.fillStyle = Ink.quiet;
    context.strokeStyle = Ink.paper;
    context.lineWidth = 3 * ratio;
    context.lineJoin = "round";
    context.setLineDash([]);
    context.font = Ink.font.replace("12px", `${11 * ratio}px`);
    context.textBaseline = "top";
    for (const { name, start: start2 } of data.phases) {
      const x = toX(start2);
      const room = right - x > context.measureText(name).width + 6 * ratio;
      if (x < left || x > right) continue;
      const at = [x + (room ? 3 : -3) * ratio, top + (data.findings?.length || data.violations?.length ? 11 : 1) * ratio];
      context.textAlign = room ? "left" : "right";
      context.strokeText(name, ...at);
      context.fillText(name, ...at);
    }
    context.restore();
  }
  function drawViolationMarks(context, data, toX, left, right, top, height, ratio) {
    context.save();
    context.strokeStyle = Ink.mark;
    context.lineWidth = ratio;
    context.setLineDash([]);
    const marked = [
      ...(data.findings ?? []).map(({ at }) => [at, true]),
      ...(data.violations ?? []).map(({ at }) => [at, false])
    ];
    for (const [at, hollow] of marked) {
      const x = toX(at);
      if (x < left || x > right) continue;
      context.globalAlpha = 0.4;
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, top + height);
      context.stroke();
      context.globalAlpha = 1;
      triangle(context, x, top + (hollow ? 7 : 6) * ratio, 4 * ratio, hollow);
    }
    context.restore();
  }
  function drawAvailable(context, value, colour, from, to, top, step2) {
    context.fillStyle = value === 1 ? colour : value === 2 ? Ink["fail-ink"] : Ink.quiet;
    const inset = value === 1 ? 5 : value === 2 ? 3 : step2 / 2 - 0.5;
    context.fillRect(from, top + inset, to - from, step2 - 2 * inset);
  }
  function triangle(context, x, y, size, hollow = false) {
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x - size, y - size * 1.5);
    context.lineTo(x + size, y - size * 1.5);
    context.closePath();
    context.strokeStyle = Ink.paper;
    context.lineWidth = 3;
    context.stroke();
    context.fillStyle = hollow ? Ink.paper : Ink.mark;
    context.strokeStyle = Ink.mark;
    context.lineWidth = 1.25;
    context.fill();
    if (hollow) context.stroke();
    context.lineWidth = 1;
  }

  // src/plots.js
  var Charts = { plots: [], syncing: false };
  function axes(options) {
    return [
      {
        stroke: () => Ink.quiet,
        grid: { show: false },
        ticks: { stroke: () => Ink.rule, size: 4 },
        font: Ink.font,
        size: 28,
        splits: (u) => timeTicks(u.width - GUTTER - MARGIN),
        values: (_, ticks) => ticks.map((tick) => timeText(tick, ticks.length > 1 ? ticks[1] - ticks[0] : 1))
      },
      {
        stroke: () => Ink.quiet,
        grid: { stroke: () => Ink.rule, width: 1 },
        ticks: { show: false },
        font: Ink.font,
        size: GUTTER,
        ...options
      }
    ];
  }
  function makePlot(data, id, height, series, values, more) {
    const host = document.getElementById(id);
    const plot = new uPlot(
      {
        width: Math.max(host.clientWidth, 200),
        height,
        padding: [8, MARGIN, 0, 0],
        pxAlign: 1,
        cursor: {
          sync: { key: "run", setSeries: false },
          drag: { x: true, y: false, setScale: false },
          points: { show: !more.scatter },
          y: Boolean(more.scatter)
        },
        scales: {
          x: { time: false, range: () => [View.from, View.to] },
          y: more.scale ?? { range: (_, _low, high) => [0, Math.max(high, 1) * 1.05] }
        },
        axes: axes(more.axis),
        series: [{ label: "second", value: (_, v) => v === null || v === void 0 ? "–" : v.toFixed(2) }, ...series],
        legend: { show: !more.scatter, live: true },
        hooks: {
          drawClear: [
            (u) => {
              const ratio = uPlot.pxRatio;
              const context = u.ctx;
              const { left, top, width, height: height2 } = u.bbox;
              const toX = (seconds) => u.valToPos(seconds, "x", true);
              (more.background ?? drawBands)(context, data, toX, left, left + width, top, height2);
              drawPhases(context, data, toX, left, left + width, top, height2, ratio);
              if (more.scatter) {
                context.save();
                more.scatter(u, context, ratio);
                context.restore();
              }
            }
          ],
          draw: [
            (u) => {
              const { left, top, width, height: height2 } = u.bbox;
              const toX = (seconds) => u.valToPos(seconds, "x", true);
              namePhases(u.ctx, data, toX, left, left + width, top, uPlot.pxRatio);
              drawViolationMarks(u.ctx, data, toX, left, left + width, top, height2, uPlot.pxRatio);
            }
          ],
          setSelect: [
            (u) => {
              if (u.select.width > 4)
                View.set(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            }
          ],
          setCursor: [
            (u) => {
              if (Charts.syncing || !u.over.matches(":hover")) return;
              Charts.syncing = true;
              View.point(u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null);
              Charts.syncing = false;
            }
          ]
        }
      },
      values,
      host
    );
    plot.over.addEventListener("dblclick", () => View.whole());
    plot.over.addEventListener("pointerleave", () => View.point(null));
    Charts.plots.push({ plot, host, height });
    drawKeys(plot);
    return plot;
  }
  function drawKeys(plot) {
    plot.root.querySelectorAll(".u-legend .u-series").forEach((row, place) => {
      const { stroke, dash, width } = plot.series[place];
      const marker = row.querySelector(".u-marker");
      if (!marker || typeof stroke !== "function") return;
      const picture = svg("svg", { viewBox: "0 0 28 10", class: "line-key", "aria-hidden": "true" });
      const drawn = svg("line", {
        x1: 0,
        x2: 28,
        y1: 5,
        y2: 5,
        stroke: stroke(plot, place),
        "stroke-width": width,
        "stroke-dasharray": (dash ?? []).join(" ") || "none"
      });
      picture.append(drawn);
      marker.replaceChildren(picture);
    });
  }
  function line(label, colour, more) {
    return {
      label,
      stroke: colour,
      width: 1.25,
      points: { show: false },
      spanGaps: false,
      value: (_, v) => v === null || v === void 0 ? "–" : v.toLocaleString("en", { maximumFractionDigits: 1 }),
      ...more
    };
  }
  function logScale() {
    return {
      distr: 3,
      range: (_, low, high) => [
        Math.max(10 ** Math.floor(Math.log10(Math.max(low, 0.01))), 0.01),
        10 ** Math.ceil(Math.log10(Math.max(high, 1.01)))
      ]
    };
  }
  var decades = (_, ticks) => ticks.map((tick) => Math.abs(Math.log10(tick) % 1) < 1e-6 ? tick : null);
  var logAxis = {
    filter: decades,
    grid: { stroke: () => Ink.rule, width: 1, filter: decades },
    values: (_, ticks) => ticks.map((tick) => Math.abs(Math.log10(tick) % 1) < 1e-6 ? tick.toLocaleString("en") : null)
  };
  function shareView() {
    View.listeners.push(() => {
      for (const { plot } of Charts.plots) plot.setScale("x", { min: View.from, max: View.to });
    });
    View.cursorListeners.push((seconds) => {
      if (Charts.syncing || !Charts.plots.length) return;
      Charts.syncing = true;
      for (const { plot } of Charts.plots)
        plot.setCursor(
          seconds === null ? { left: -10, top: -10 } : { left: plot.valToPos(seconds, "x"), top: 10 },
          false
        );
      Charts.syncing = false;
    });
  }
  function resizeCharts() {
    for (const { plot, host, height } of Charts.plots) {
      plot.setSize({ width: Math.max(host.clientWidth, 200), height });
      drawKeys(plot);
    }
  }

  // src/scatter.js
  function scatterChart(data) {
    const { ops } = data;
    const count = ops.t.length;
    if (!count) {
      document.getElementById("c-scatter").parentElement.hidden = true;
      return;
    }
    let top = 1;
    let bottom = Infinity;
    for (let i = 0; i < count; i++)
      if (ops.d[i] > 0) {
        top = Math.max(top, ops.d[i]);
        bottom = Math.min(bottom, ops.d[i]);
      }
    const scale = {
      distr: 3,
      range: () => [
        10 ** Math.floor(Math.log10(Math.max(bottom / 1e3, 0.01))),
        10 ** Math.ceil(Math.log10(Math.max(top / 1e3, 1.01)))
      ]
    };
    const plot = makePlot(
      data,
      "c-scatter",
      240,
      [{ label: "latency", show: true, points: { show: false }, paths: () => null }],
      [
        [0, View.end],
        [Math.max(bottom, 10) / 1e3, top / 1e3]
      ],
      { scale, axis: logAxis, scatter: (u, context, ratio) => drawScatter(data, u, context, ratio) }
    );
    scatterPointer(data, plot);
  }
  function scatterAt(data, u, x, y) {
    const { ops } = data;
    const scale = (View.to - View.from) / u.over.clientWidth * 1e6;
    const at = View.from * 1e6 + x * scale;
    const reach = 8;
    const yTop = Math.log10(u.scales.y.max);
    const perPixel = (yTop - Math.log10(u.scales.y.min)) / u.over.clientHeight;
    let best = -1;
    let nearest = reach * reach;
    for (let i = lowerBound(ops.t, at - reach * scale), last = lowerBound(ops.t, at + reach * scale); i < last; i++) {
      if (ops.d[i] < 0) continue;
      const dx = (ops.t[i] - at) / scale;
      const dy = (yTop - Math.log10(Math.max(ops.d[i], 1) / 1e3)) / perPixel - y;
      const away = dx * dx + dy * dy - BADNESS[ops.o[i]] * 0.1;
      if (away < nearest) {
        best = i;
        nearest = away;
      }
    }
    return best;
  }
  function scatterPointer(data, plot) {
    const { over } = plot;
    const at = (event) => {
      const box = over.getBoundingClientRect();
      return scatterAt(data, plot, event.clientX - box.left, event.clientY - box.top);
    };
    let down = null;
    over.addEventListener("pointermove", (event) => {
      const i = event.buttons ? -1 : at(event);
      over.style.cursor = i < 0 ? "" : "pointer";
      showCard(i < 0 ? null : describe(i), event.clientX, event.clientY);
    });
    over.addEventListener("pointerdown", (event) => {
      down = event.clientX;
    });
    over.addEventListener("pointerup", (event) => {
      const i = down !== null && Math.abs(event.clientX - down) <= 3 ? at(event) : -1;
      down = null;
      if (i >= 0) {
        hideCard();
        pin(i);
        reveal(i);
      }
    });
    over.addEventListener("pointerleave", hideCard);
  }
  function drawScatter(data, u, context, ratio) {
    const { ops } = data;
    const box = u.bbox;
    const first = lowerBound(ops.t, View.from * 1e6);
    const last = lowerBound(ops.t, View.to * 1e6);
    const yTop = Math.log10(u.scales.y.max);
    const yBottom = Math.log10(u.scales.y.min);
    const across = box.width / ((View.to - View.from) * 1e6);
    const start2 = View.from * 1e6;
    const down = box.height / (yTop - yBottom);
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    if (last - first > 2e4) {
      drawDense(ops, context, box, { start: start2, across, yTop, down }, first, last, Math.max(2, Math.round(1.5 * ratio)));
      return;
    }
    const x = (i) => box.left + (ops.t[i] - start2) * across;
    const y = (i) => box.top + (yTop - Math.log10(Math.max(ops.d[i], 1) / 1e3)) * down;
    for (const outcome of [0, 2, 1]) {
      context.fillStyle = context.strokeStyle = Ink[OUTCOMES[outcome] + (outcome ? "-ink" : "")];
      context.globalAlpha = outcome ? 1 : 0.75;
      context.lineWidth = ratio;
      for (let i = first; i < last; i++)
        if (ops.o[i] === outcome && ops.d[i] >= 0) mark(context, data.names.f[ops.f[i]], outcome, x(i), y(i), 2 * ratio);
    }
  }
  function mark(context, kind, outcome, x, y, r) {
    context.beginPath();
    if (kind === "read") context.arc(x, y, r, 0, 7);
    else if (kind === "write") context.rect(x - r, y - r, 2 * r, 2 * r);
    else {
      context.moveTo(x, y - r * 1.3);
      context.lineTo(x + r * 1.2, y + r);
      context.lineTo(x - r * 1.2, y + r);
      context.closePath();
    }
    if (outcome === 0) context.fill();
    else context.stroke();
  }
  function rowTable(yTop, down, cell) {
    const rows = new Int32Array(32 * 64);
    for (let place = 0; place < rows.length; place++) {
      const octave = place >> 6;
      const microseconds = 2 ** octave * (1 + ((place & 63) + 0.5) / 64);
      rows[place] = Math.floor((yTop - Math.log10(microseconds / 1e3)) * down / cell);
    }
    return rows;
  }
  function drawDense(ops, context, box, { start: start2, across, yTop, down }, first, last, cell) {
    const columns = Math.ceil(box.width / cell);
    const rows = Math.ceil(box.height / cell);
    const worst = new Uint8Array(columns * rows);
    const many = new Uint16Array(columns * rows);
    const { t, d, o } = ops;
    const heights = rowTable(yTop, down, cell);
    const scale = across / cell;
    for (let i = first; i < last; i++) {
      const took = d[i];
      if (took < 0) continue;
      const octave = took < 1 ? 0 : 31 - Math.clz32(took);
      const cx = (t[i] - start2) * scale | 0;
      const cy = heights[took < 1 ? 0 : (octave << 6) + ((octave >= 6 ? took >> octave - 6 : took << 6 - octave) & 63)];
      if (cx < 0 || cy < 0 || cx >= columns || cy >= rows) continue;
      const place = cy * columns + cx;
      const bad = BADNESS[o[i]];
      if (bad > worst[place]) worst[place] = bad;
      if (many[place] < 65535) many[place]++;
    }
    const colours = [null, Ink.ok, Ink["fail-ink"], Ink["info-ink"]];
    for (let bad = 1; bad <= 3; bad++) {
      context.fillStyle = colours[bad];
      for (let place = 0; place < worst.length; place++) {
        if (worst[place] !== bad) continue;
        context.globalAlpha = bad > 1 ? 1 : Math.min(1, 0.35 + many[place] / 12);
        context.fillRect(box.left + place % columns * cell, box.top + (place / columns | 0) * cell, cell, cell);
      }
    }
  }

  // src/charts.js
  function initCharts(data) {
    const { rates, quantiles, progress } = data;
    scatterChart(data);
    if (rates)
      makePlot(
        data,
        "c-rate",
        170,
        OUTCOMES.map(
          (name) => line(name, () => Ink[`${name}-ink`], {
            dash: name === "ok" ? [] : name === "info" ? [6, 3] : [2, 3],
            paths: uPlot.paths.stepped({ align: 1 })
          })
        ),
        [rates.time.map((t) => t - rates.width / 2), ...rates.rows],
        {}
      );
    if (quantiles)
      makePlot(
        data,
        "c-quantiles",
        170,
        quantiles.names.map(
          (name, i) => line(name, () => Ink[i < 4 ? "ok-ink" : "info-ink"], {
            width: [2, 1.25, 1, 1, 1.25][i],
            dash: [[], [8, 3], [4, 3], [1, 3], [10, 3, 2, 3]][i]
          })
        ),
        [quantiles.time, ...quantiles.rows],
        { scale: logScale(), axis: logAxis }
      );
    if (progress) progressCharts(data, progress);
    hideEmpty(["c-rate", "c-quantiles", "c-applied", "c-lag"]);
    shareView();
  }
  var NODE_DASHES = [[], [14, 5], [7, 5], [], [5, 7]];
  var NODE_WIDTHS = [5, 4, 3.25, 2.5, 2.5];
  function progressCharts(data, progress) {
    const series = () => data.nodes.map(
      (node, i) => line(node.name, () => node.colour, {
        width: NODE_WIDTHS[Math.min(i, NODE_WIDTHS.length - 1)],
        dash: NODE_DASHES[i % NODE_DASHES.length]
      })
    );
    const thousands = (kind) => [
      progress.time,
      ...progress[kind].map((row) => row.map((v) => v === null ? null : v / 1e3))
    ];
    const plot = makePlot(data, "c-applied", 190, series(), thousands("applied"), {});
    makePlot(data, "c-lag", 150, series(), [progress.time, ...progress.lag], {});
    document.getElementById("progress-kind").addEventListener("input", (event) => plot.setData(thousands(event.target.value)));
  }
  function hideEmpty(ids) {
    for (const id of ids) {
      const host = document.getElementById(id);
      if (!host.firstChild) host.parentElement.hidden = true;
    }
  }

  // src/filters.js
  function say(text) {
    document.getElementById("f-said").textContent = text;
  }
  function clearFilters() {
    for (const id of ["f-key", "f-kind", "f-outcome", "f-process"]) document.getElementById(id).value = "";
  }
  function applyFilters() {
    const { ops } = Timeline.data;
    const { mask } = Timeline;
    const chosen = (id) => document.getElementById(id).value.trim();
    const key = chosen("f-key");
    const kind = chosen("f-kind");
    const outcome = chosen("f-outcome");
    const process = chosen("f-process");
    let shown = 0;
    for (let i = 0; i < mask.length; i++) {
      const keep = (key === "" || ops.k[i] === +key) && (kind === "" || ops.f[i] === +kind) && (process === "" || String(ops.p[i]) === process) && (outcome === "" || (outcome === "errors" ? ops.o[i] !== 0 : ops.o[i] === +outcome));
      mask[i] = keep ? 1 : 0;
      shown += mask[i];
    }
    document.getElementById("b-clear").hidden = shown === mask.length;
    say(shown === mask.length ? "" : `${shown.toLocaleString("en")} of ${mask.length.toLocaleString("en")}`);
    View.changed();
  }

  // src/search.js
  var Finding = { last: null };
  function search(direction) {
    const text = document.getElementById("f-search").value.trim().toLowerCase();
    if (!text) return;
    const again = Finding.last === text;
    Finding.last = text;
    if (/^#\d+$/.test(text)) {
      revealIndex(Number(text.slice(1)));
      return;
    }
    for (const [name, accepts] of [
      ["by value", holding(text)],
      ["by error", failingWith(text)]
    ]) {
      const { found, hidden } = matches(accepts);
      if (found.length) {
        revealMatch(found, direction, again, name);
        return;
      }
      if (hidden) {
        say(`${hidden.toLocaleString("en")} ${name}, but none passes the filters`);
        return;
      }
    }
    if (/^\d+$/.test(text)) revealIndex(Number(text));
    else say("nothing holds it");
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
  function revealMatch(found, direction, again, name) {
    const { ops } = Timeline.data;
    const here = again && View.selected !== null ? View.selected : null;
    let place = here === null ? lowerBound(found, lowerBound(ops.t, View.from * 1e6)) : lowerBound(found, direction > 0 ? here + 1 : here) - (direction > 0 ? 0 : 1);
    place = (place + found.length) % found.length;
    reveal(found[place]);
    say(`${place + 1} of ${found.length.toLocaleString("en")} ${name}`);
  }
  function revealIndex(index) {
    const { data, mask } = Timeline;
    const { ops } = data;
    const place = lowerBound(ops.i, index + 1) - 1;
    for (let i = place; i >= 0 && i > place - 5e3; i--) {
      if (ops.i[i] !== index && !(ops.r[i] >= 0 && ops.i[i] + ops.r[i] === index)) continue;
      if (!mask[i]) {
        say(`the operation with index ${index} does not pass the filters`);
        return;
      }
      reveal(i);
      say("by index");
      return;
    }
    say("nothing holds it");
  }
  function holding(text) {
    const { ops, names } = Timeline.data;
    const number = /^-?\d+$/.test(text) ? Number(text) : null;
    const word = number === null ? null : new RegExp(`(^|[^\\d.-])${text.replace("-", "\\-")}(?![\\d.])`);
    const texts = names.texts.map((value) => word ? word.test(value) : value.toLowerCase().includes(text));
    const one = (kinds, first, second) => (i) => {
      const kind = kinds[i];
      if (kind === 3) return texts[first[i]] === true;
      if (number !== null)
        return kind === 1 && first[i] === number || kind === 2 && (first[i] === number || second[i] === number) || kind === 4 && second[i] === number;
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

  // src/violations.js
  function step(direction, accepts) {
    const { data, mask } = Timeline;
    const count = data.ops.t.length;
    let i = View.selected ?? (direction > 0 ? lowerBound(data.ops.t, View.from * 1e6) - 1 : lowerBound(data.ops.t, View.to * 1e6));
    for (i += direction; i >= 0 && i < count; i += direction)
      if (mask[i] && accepts(i)) {
        reveal(i);
        say("");
        return true;
      }
    say(direction > 0 ? "none after this" : "none before this");
    return false;
  }
  function isError(i) {
    return Timeline.data.ops.o[i] !== 0;
  }
  function showViolation(place) {
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
    const room = (to - from) * 0.25 + 5e-3;
    View.set(from - room, to + room);
    Timeline.focus = place;
    Selection.pins = members;
    reveal(culprit >= 0 ? culprit : members.at(-1));
    document.getElementById("timeline").scrollIntoView();
    const only = key < 0 ? "" : `; only ${plainKey(violation.key)} is shown`;
    say(`violation ${place + 1} of ${data.violations.length}, ${violation.kind}${only}`);
  }
  function stepViolation(direction) {
    const many = Timeline.data.violations.length;
    if (!many) {
      say("no violation");
      return;
    }
    showViolation(Timeline.focus === null ? direction > 0 ? 0 : many - 1 : (Timeline.focus + direction + many) % many);
  }

  // src/controls.js
  function addOptions(id, names, plain) {
    const select2 = document.getElementById(id);
    const shown = names.slice(0, 2e3).map((name, code) => [plain ? plainKey(name) : name, code]);
    if (shown.length <= 500) shown.sort((a, b) => inOrder(a[0], b[0]));
    for (const [name, code] of shown) {
      select2.append(option(String(code), name));
    }
  }
  function fillFilters(data) {
    addOptions("f-key", data.names.k, true);
    addOptions("f-kind", data.names.f, false);
    const form = document.getElementById("filters");
    const on = (id, action) => document.getElementById(id)?.addEventListener("click", action);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      search(1);
    });
    for (const id of ["f-key", "f-kind", "f-outcome", "f-process"])
      document.getElementById(id).addEventListener("input", applyFilters);
    document.getElementById("f-rows").addEventListener("input", (event) => {
      groupRows(event.target.value);
      View.changed();
    });
    on("b-next", () => step(1, isError));
    on("b-prev", () => step(-1, isError));
    on("b-next-violation", () => stepViolation(1));
    on("b-prev-violation", () => stepViolation(-1));
    on("b-reset", () => View.whole());
    on("b-clear", () => {
      clearFilters();
      applyFilters();
    });
    for (const id of ["b-next-violation", "b-prev-violation"])
      document.getElementById(id).hidden = !data.violations.length;
    document.getElementById("f-search").addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        search(event.shiftKey ? -1 : 1);
      }
    });
  }
  function wireButtons() {
    for (const button2 of document.querySelectorAll(".copy"))
      button2.addEventListener("click", async () => {
        const text = button2.parentElement.querySelector("code").textContent;
        try {
          await navigator.clipboard.writeText(text);
          button2.textContent = "Copied";
        } catch {
          getSelection().selectAllChildren(button2.parentElement.querySelector("code"));
        }
      });
    for (const button2 of document.querySelectorAll("button.go")) button2.addEventListener("click", () => go(button2));
    for (const row of document.querySelectorAll(".faults tbody tr"))
      row.addEventListener("click", (event) => {
        if (!event.target.closest("button, a, summary, details") && !String(getSelection()))
          row.querySelector("button.go").click();
      });
  }
  function wireWords() {
    for (const link of document.querySelectorAll('a[href="#words"]'))
      link.addEventListener("click", () => {
        document.querySelector("#words details").open = true;
      });
  }
  function go(button2) {
    const { from, to, violation, chart, index } = button2.dataset;
    const kind = document.getElementById("progress-kind");
    if (violation !== void 0 && Timeline.data) {
      showViolation(Number(violation));
      return;
    }
    View.set(Number(from), Number(to));
    if (index && kind) {
      kind.value = index;
      kind.dispatchEvent(new Event("input"));
    }
    const shown = chart && document.getElementById(chart);
    (shown && !shown.hidden ? shown : document.getElementById("charts")).scrollIntoView();
  }
  var Keys = {
    n: () => step(1, isError),
    p: () => step(-1, isError),
    v: () => stepViolation(1),
    V: () => stepViolation(-1),
    0: () => View.whole(),
    Home: () => View.whole(),
    "/": () => {
      const box = document.getElementById("f-search");
      box.scrollIntoView({ block: "center" });
      box.focus();
    },
    Escape: () => {
      unpinAll();
      if (document.activeElement === Timeline.canvas) Timeline.canvas.blur();
    }
  };
  var TimelineKeys = {
    ...ViewKeys,
    Enter: () => {
      if (View.selected !== null) pin(View.selected);
    }
  };
  function wireKeys() {
    addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !Timeline.data || event.key !== "Escape" && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName))
        return;
      const action = Keys[event.key] ?? (event.target === Timeline.canvas ? TimelineKeys[event.key] : void 0);
      if (action) {
        event.preventDefault();
        action();
      }
    });
  }

  // src/decode.js
  function bytesOfBase64(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const raw = atob(text);
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return bytes;
  }
  async function inflate(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }
  function column(entry, bytes, offset) {
    const { n, width, delta } = entry;
    if (width > 4 || entry.wide) return wideColumn(entry, bytes, offset);
    const out = new Int32Array(n);
    const at = (plane) => bytes.subarray(offset + plane * n, offset + (plane + 1) * n);
    const [a, b, c, d] = [0, 1, 2, 3].map((plane) => plane < width ? at(plane) : null);
    if (width === 1) for (let i = 0; i < n; i++) out[i] = a[i] >>> 1 ^ -(a[i] & 1);
    else if (width === 2)
      for (let i = 0; i < n; i++) {
        const raw = a[i] | b[i] << 8;
        out[i] = raw >>> 1 ^ -(raw & 1);
      }
    else
      for (let i = 0; i < n; i++) {
        const raw = a[i] | b[i] << 8 | c[i] << 16 | (d ? d[i] << 24 : 0);
        out[i] = raw >>> 1 ^ -(raw & 1);
      }
    if (delta) for (let i = 1, sum = out[0]; i < n; i++) out[i] = sum = sum + out[i] | 0;
    return out;
  }
  function wideColumn({ n, width, delta }, bytes, offset) {
    const out = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      let raw = 0;
      let weight = 1;
      for (let plane = 0; plane < width; plane++, weight *= 256) raw += bytes[offset + plane * n + i] * weight;
      out[i] = raw % 2 ? -(raw + 1) / 2 : raw / 2;
    }
    if (delta) for (let i = 1; i < n; i++) out[i] += out[i - 1];
    return out;
  }
  function laterColumn(columns, entry, bytes, offset) {
    Object.defineProperty(columns, entry.name, {
      configurable: true,
      enumerable: true,
      get() {
        const value = column(entry, bytes, offset);
        Object.defineProperty(columns, entry.name, { value, enumerable: true });
        return value;
      }
    });
  }
  async function unpack(text) {
    const bytes = await inflate(bytesOfBase64(text.trim()));
    const length = new DataView(bytes.buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    const columns = {};
    let offset = 4 + length;
    for (const entry of head.columns) {
      laterColumn(columns, entry, bytes, offset);
      offset += entry.n * entry.width;
    }
    return { ops: columns, ...head.data };
  }

  // src/network.js
  function wireFaults(data) {
    const live = document.getElementById("live");
    let hot = null;
    if (live) live.calm = live.querySelector(".links").cloneNode(true);
    View.cursorListeners.push((seconds) => {
      const fault = seconds === null ? void 0 : data.faults.find((f) => f.state === "installed" && f.start <= seconds && seconds <= f.end);
      const id = fault ? fault.id : null;
      if (live && seconds !== null) showMoment(data, live, seconds, fault);
      if (id === hot) return;
      hot = id;
      for (const element of document.querySelectorAll(".network[data-fault], .faults tbody tr"))
        element.classList.toggle(
          "hot",
          id !== null && (element.dataset.fault === String(id) || element.id === `fault-${id}`)
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
    const silences = fault?.family === "kill" || fault?.family === "pause";
    for (const node of live.querySelectorAll(".node")) {
      const name = node.dataset.node;
      const struck = Boolean(shown?.querySelector(`.node.struck[data-node="${CSS.escape(name)}"]`));
      node.classList.toggle("struck", struck && !(silences && answersAt(data, name, seconds)));
      node.classList.toggle("leader", led !== null && name === led.node);
    }
    const leader = led ? `leader ${led.node}, term ${led.term}` : "no leader";
    const texts = [`${seconds.toFixed(2)} s`, leader, ...fault ? [fault.fault] : []];
    document.getElementById("live-said").textContent = texts.join(", ");
  }

  // src/strips.js
  function initStrips(data) {
    const canvas = document.getElementById("c-leaders");
    if (!data.stretches?.length && !data.available) {
      canvas.parentElement.hidden = true;
      return;
    }
    const draw = () => drawStrips(data, canvas);
    View.listeners.push(draw);
    followPointer(canvas, true);
    stripPointer(data, canvas);
    cursorLine(canvas.parentElement);
    draw();
  }
  var STRIP_STEP = 18;
  var AVAILABILITY = ["nothing was answered", "some were answered ok", "answered, but none ok"];
  function stripPointer(data, canvas) {
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const seconds = View.from + (event.clientX - box.left - GUTTER) / (box.width - GUTTER - MARGIN) * (View.to - View.from);
      const place = Math.floor((event.clientY - box.top) / STRIP_STEP) - 1;
      showCard(
        event.buttons || seconds < View.from || seconds > View.to ? null : stripRows(data, place, seconds),
        event.clientX,
        event.clientY
      );
    });
    canvas.addEventListener("pointerleave", hideCard);
  }
  function stripRows(data, place, seconds) {
    const at = ["at", `${seconds.toFixed(2)} s`];
    const fault = [
      "fault",
      data.faults.filter((f) => f.state === "installed" && f.start <= seconds && seconds <= f.end).map((f) => f.fault).join(", ") || "none"
    ];
    if (place === -1)
      return data.available ? [at, ["operations", AVAILABILITY[data.available[1][Math.floor(seconds / data.available[0])]] ?? "–"], fault] : null;
    const found = place < data.nodes.length ? stretchAt(data, place, seconds) : void 0;
    if (place >= data.nodes.length) return null;
    if (!found) return [at, ["node", data.nodes[place].name], ["role", "was not asked"]];
    const [role, term, from, to] = found;
    return [
      at,
      ["node", data.nodes[place].name],
      ["role", ROLE_NAMES[role]],
      ["term", role === 4 || term < 0 ? "–" : String(term)],
      ["from, to", `${from.toFixed(2)} – ${to.toFixed(2)} s`],
      fault
    ];
  }
  function drawStrips(data, canvas) {
    const rows = data.nodes;
    const step2 = STRIP_STEP;
    const height = (rows.length + 1) * step2 + 26;
    const area = prepareCanvas(canvas, height);
    const { context } = area;
    const toX = scaleX(area, View.from, View.to);
    drawBands(context, data, toX, area.left, area.right, 0, height - 22);
    drawPhases(context, data, toX, area.left, area.right, 0, height - 22, 1);
    context.textBaseline = "middle";
    drawAvailability(data, area, toX, step2);
    for (const [place, node] of rows.entries())
      drawRoles(area, toX, node, data.stretches[place], (place + 1) * step2, step2);
    drawSnapshots(data, area, toX, step2);
    drawViolationMarks(context, data, toX, area.left, area.right, 0, height - 22, 1);
    drawTimeAxis(area, toX, height - 22);
  }
  function drawAvailability(data, area, toX, step2) {
    rowLabel(area, "any ok", step2 / 2);
    if (!data.available) return;
    const [width, cells] = data.available;
    const { context } = area;
    for (let start2 = 0; start2 < cells.length; ) {
      let stop = start2 + 1;
      while (stop < cells.length && cells[stop] === cells[start2]) stop++;
      const a = Math.max(toX(start2 * width), area.left);
      const b = Math.min(toX(stop * width), area.right);
      if (b > a) {
        drawAvailable(context, cells[start2], Ink.ok, a, b, 0, step2);
      }
      start2 = stop;
    }
  }
  function drawRoles(area, toX, node, stretches, y, step2) {
    const { context } = area;
    const middle = y + step2 / 2;
    rowLabel(area, node.name, middle);
    for (const [role, term, from, to] of stretches) {
      const a = Math.max(toX(from), area.left);
      const b = Math.min(toX(to), area.right);
      if (b <= a) continue;
      context.fillStyle = node.colour;
      if (role === 0) {
        context.fillRect(a, y + 3, Math.max(b - a, 1.5), step2 - 6);
        context.fillStyle = luminance(node.colour) > 0.5 ? "#000" : "#fff";
        context.textAlign = "left";
        const label = clip(context, `term ${term}`, b - a - 8);
        if (label && !label.endsWith("…")) context.fillText(label, a + 4, middle);
      } else if (role === 1) context.fillRect(a, middle - 1, b - a, 2);
      else if (role === 2) {
        context.fillStyle = Ink.paper;
        context.strokeStyle = Ink.ink;
        context.fillRect(a, middle - 4, Math.max(b - a, 2), 8);
        context.strokeRect(a + 0.5, middle - 3.5, Math.max(b - a - 1, 1), 7);
      } else {
        context.fillStyle = Ink.quiet;
        for (let x = a; x < b; x += 5) context.fillRect(x, middle - 0.5, 2, 1);
      }
    }
  }
  function drawSnapshots(data, area, toX, step2) {
    const { context } = area;
    for (const kind of [0, 1, 2])
      for (const [node, seconds, what] of data.snapshots ?? []) {
        const x = toX(seconds);
        const y = (node + 1.5) * step2;
        if (what !== kind || x < area.left || x > area.right) continue;
        context.fillStyle = context.strokeStyle = Ink.ink;
        context.lineWidth = 1.25;
        context.beginPath();
        if (what === 0) {
          context.moveTo(x, y + 3);
          context.lineTo(x, y + step2 / 2 - 1);
          context.stroke();
          continue;
        }
        context.moveTo(x, y - 5);
        context.lineTo(x + 5, y);
        context.lineTo(x, y + 5);
        context.lineTo(x - 5, y);
        context.closePath();
        if (what === 1) context.fillStyle = Ink.paper;
        context.fill();
        context.stroke();
      }
  }

  // src/text.js
  var TEXT_STEP = 500;
  var TEXT_COLUMNS = ["index", "process", "node", "key", "operation", "outcome", "invoked, s", "completed, s", "error"];
  function textFold(details, entries) {
    const host = details.querySelector(".text-rows");
    const refill = () => {
      if (details.open) fillText(host, entries(), TEXT_STEP);
    };
    details.addEventListener("toggle", refill);
    return refill;
  }
  function fillText(host, entries, most) {
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    const body = table.createTBody();
    table.className = "text-table";
    for (const name of TEXT_COLUMNS) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = name;
      head.append(cell);
    }
    for (const entry of entries.slice(0, most)) body.append(entry.fault ? faultRow(entry) : operationRow(entry.i));
    const said = document.createElement("p");
    said.className = "quiet small";
    said.textContent = entries.length > most ? `The first ${most.toLocaleString("en")} of ${entries.length.toLocaleString("en")} rows. ` : `${entries.length.toLocaleString("en")} row${entries.length === 1 ? "" : "s"}.`;
    if (entries.length > most) said.append(button(`${TEXT_STEP} more`, () => fillText(host, entries, most + TEXT_STEP)));
    host.replaceChildren(table, said);
  }
  function operationRow(i) {
    const { data } = Timeline;
    const { ops } = data;
    const row = document.createElement("tr");
    const key = plainKey(nameOf(data, "k", i));
    const index = button(String(ops.i[i]), () => reveal(i));
    index.className = "link";
    row.className = memberClass(data, ops.i[i]);
    row.insertCell().append(index);
    for (const text of [
      String(ops.p[i]),
      nameOf(data, "n", i),
      key,
      boxLabel(i, false),
      OUTCOMES[ops.o[i]],
      (ops.t[i] / 1e6).toFixed(6),
      ops.d[i] < 0 ? "never" : ((ops.t[i] + ops.d[i]) / 1e6).toFixed(6),
      nameOf(data, "e", i)
    ])
      row.insertCell().textContent = text;
    return row;
  }
  function memberClass(data, index) {
    const mine = data.violations.filter(({ ops }) => ops.includes(index));
    return mine.some(({ suspects }) => suspects.includes(index)) ? "member culprit" : mine.length ? "member" : "";
  }
  function faultRow({ fault, at, what }) {
    const row = document.createElement("tr");
    row.className = "nemesis";
    for (const text of [
      "",
      "nemesis",
      fault.nodes.length === Timeline.data.nodes.length ? "all" : fault.nodes.join(" "),
      "",
      `#${fault.id} ${fault.fault}`,
      what,
      at.toFixed(6),
      "",
      ""
    ])
      row.insertCell().textContent = text;
    return row;
  }
  function entriesBetween(from, to, wanted) {
    const { data, reach } = Timeline;
    const { ops } = data;
    const found = [];
    for (let i = lowerBound(reach, from * 1e6), last = lowerBound(ops.t, to * 1e6 + 1); i < last; i++)
      if (endOf(data, i) >= from * 1e6 && wanted(i)) found.push({ at: ops.t[i] / 1e6, i });
    for (const fault of data.faults)
      for (const [at, what] of fault.state === "installed" ? [
        [fault.start, "begins"],
        [fault.end, fault.end < data.end ? "healed" : "not healed"]
      ] : [[fault.start, fault.state]])
        if (at >= from && at <= to) found.push({ at, fault, what });
    return found.sort((a, b) => a.at - b.at || (a.i ?? -1) - (b.i ?? -1));
  }
  function violationEntries(place, scope) {
    const { data } = Timeline;
    const { ops } = data;
    const violation = data.violations[place];
    const code = data.names.k.indexOf(violation.key ?? "");
    const culprit = placeOfIndex(violation.culprit ?? -1);
    const members = (scope === "culprit" && culprit >= 0 ? [culprit] : violation.ops.map(placeOfIndex)).filter(
      (i) => i >= 0
    );
    const ofKey = (i) => ops.k[i] === code;
    if (scope === "all" || !members.length) return entriesBetween(0, data.end, ofKey);
    return entriesBetween(
      Math.min(...members.map((i) => ops.t[i])) / 1e6,
      Math.max(...members.map((i) => endOf(data, i))) / 1e6,
      ofKey
    );
  }
  function initText() {
    for (const details of document.querySelectorAll("details.key-history")) {
      const scope = details.querySelector("select");
      scope.addEventListener(
        "input",
        textFold(details, () => violationEntries(Number(details.dataset.violation), scope.value))
      );
    }
    const inView = document.getElementById("as-text");
    if (inView) View.listeners.push(textFold(inView, () => entriesBetween(View.from, View.to, (i) => Timeline.mask[i])));
  }

  // src/theme.js
  function wireTheme(redraw) {
    document.getElementById("theme").addEventListener("click", () => {
      const root = document.documentElement;
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      redraw();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    addEventListener("beforeprint", redraw);
    addEventListener("afterprint", redraw);
  }

  // src/fault_rows.js
  var FAULT_ROW = 18;
  var MAX_FAULT_ROWS = 8;
  function layFaults() {
    const { data, canvas } = Timeline;
    const width = canvas.parentElement.clientWidth;
    const right = width - MARGIN;
    if (Timeline.laidFor === width) return;
    const context = canvas.getContext("2d");
    const toX = scaleX({ left: GUTTER, right }, 0, data.end);
    const rows = [];
    context.font = Ink.font;
    for (const fault of [...data.faults].sort((a, b) => a.start - b.start)) {
      const text = faultText(context, fault, toX(fault.start), toX(fault.end), right);
      let row = rows.find((row2) => row2.until <= text.from);
      const squeezed = !row && rows.length >= MAX_FAULT_ROWS;
      if (squeezed) row = rows.reduce((best, other) => other.until < best.until ? other : best);
      if (!row) {
        row = { bars: [], until: 0 };
        rows.push(row);
      }
      row.bars.push({ fault, squeezed });
      row.until = Math.max(row.until, text.to);
    }
    Object.assign(Timeline, { faultRows: rows.map(({ bars }) => bars), laidFor: width });
  }
  function faultText(context, fault, a, b, right) {
    const name = `#${fault.id} ${fault.fault}${fault.state === "installed" ? "" : `, ${fault.state}`}`;
    const wide = context.measureText(name).width;
    if (wide <= b - a - 6) return { name, x: a + 3, inside: true, from: a, to: b };
    return b + wide + 6 <= right ? { name, x: b + 3, from: a, to: b + wide + 6 } : { name, x: a - wide - 3, from: a - wide - 6, to: b };
  }
  function drawFaultRow(area, toX, row, y) {
    const { context } = area;
    const { data } = Timeline;
    context.textAlign = "left";
    context.textBaseline = "middle";
    for (const { fault, squeezed } of row) {
      const a = Math.max(toX(fault.start), area.left);
      const b = Math.min(Math.max(toX(fault.end), toX(fault.start) + 2), area.right);
      if (b <= a) continue;
      context.fillStyle = Ink.paper;
      context.fillRect(a, y + 1, b - a, FAULT_ROW - 3);
      context.globalAlpha = fault.state === "installed" ? 1 : 0.4;
      context.fillStyle = data.faultColours[fault.family];
      context.fillRect(a, y + 1, b - a, FAULT_ROW - 3);
      context.globalAlpha = 1;
      const text = faultText(context, fault, a, b, area.right);
      const cut = !text.inside && (squeezed || text.x < area.left);
      context.fillStyle = fault.state === "installed" && (text.inside || cut) ? "#10151a" : Ink.ink;
      context.fillText(cut ? clip(context, text.name, b - a - 6) : text.name, cut ? a + 3 : text.x, y + FAULT_ROW / 2);
    }
  }

  // src/minimap.js
  function drawMinimap() {
    const canvas = document.getElementById("c-minimap");
    const { data } = Timeline;
    const height = 48;
    const area = prepareCanvas(canvas, height);
    const { context } = area;
    const toX = scaleX(area, 0, View.end);
    context.save();
    context.beginPath();
    context.rect(area.left, 0, area.right - area.left, height);
    context.clip();
    drawBands(context, data, toX, area.left, area.right, 0, height);
    if (data.rates) drawMinimapRates(data, context, toX, height);
    const a = toX(View.from);
    const b = Math.max(toX(View.to), a + 3);
    context.fillStyle = Ink.paper;
    context.globalAlpha = 0.62;
    context.fillRect(area.left, 0, a - area.left, height);
    context.fillRect(b, 0, area.right - b, height);
    context.globalAlpha = 1;
    drawViolationMarks(context, data, toX, area.left, area.right, 0, height, 1);
    context.strokeStyle = Ink.link;
    context.strokeRect(a + 0.5, 0.5, Math.max(b - a - 1, 2), height - 1);
    context.restore();
  }
  function drawMinimapRates(data, context, toX, height) {
    const { time, width, rows } = data.rates;
    const top = Math.max(1, ...rows[0].map((v, i) => v + rows[1][i] + rows[2][i]));
    time.forEach((middle, i) => {
      const a = toX(middle - width / 2);
      const w = Math.max(toX(Math.min(middle + width / 2, View.end)) - a, 0.75);
      let y = height;
      [0, 2, 1].forEach((outcome) => {
        const h = rows[outcome][i] / top * (height - 6);
        context.fillStyle = Ink[OUTCOMES[outcome] + (outcome ? "-ink" : "")];
        context.fillRect(a, y - h, w, h);
        y -= h;
      });
    });
  }
  function minimapPointer(canvas) {
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return (event.clientX - box.left - GUTTER) / (box.width - GUTTER - MARGIN) * View.end;
    };
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      const seconds = at(event);
      const edge = View.end * 8 / canvas.clientWidth;
      if (Math.abs(seconds - View.from) < edge) held = { edge: "from" };
      else if (Math.abs(seconds - View.to) < edge) held = { edge: "to" };
      else {
        const span = View.to - View.from;
        if (span >= View.end * 0.999) {
          held = { fresh: seconds };
          return;
        }
        if (seconds < View.from || seconds > View.to) View.set(seconds - span / 2, seconds + span / 2);
        held = { grip: seconds - View.from };
      }
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held) return;
      const seconds = at(event);
      if (held.edge === "from") View.set(Math.min(seconds, View.to - 1e-3), View.to);
      else if (held.edge === "to") View.set(View.from, Math.max(seconds, View.from + 1e-3));
      else if (held.fresh !== void 0) {
        if (Math.abs(seconds - held.fresh) > View.end / 200)
          View.set(Math.min(seconds, held.fresh), Math.max(seconds, held.fresh));
      } else {
        const span = View.to - View.from;
        View.set(seconds - held.grip, seconds - held.grip + span);
      }
    });
    for (const name of ["pointerup", "pointercancel"])
      canvas.addEventListener(name, () => {
        held = null;
      });
  }

  // src/pyramid.js
  function tellHeld(data) {
    if (!data.pyramid) return;
    const { total, held, errors, errorsHeld } = data.pyramid;
    const count = (number) => number.toLocaleString("en");
    const others = errorsHeld < errors ? `${count(errorsHeld)} of the ${count(errors)}` : `all ${count(errors)}`;
    const text = `This page holds ${count(held)} of ${count(total)} operations: those of violations, ${others} that are not ok, the slowest, and a part of the others, taken evenly. Rates, quantiles and tables of counts are of all operations, and so are the colours of the rows by client; boxes, points, rows by node or key, filters, searches and the tables of what is in view are of those that the page holds. harness export has them all.`;
    const note = el("p", text, "quiet small");
    note.id = "held";
    document.getElementById("timeline-scroll").before(note);
  }
  function applies() {
    return Timeline.data.pyramid && Timeline.by === "process" && document.getElementById("b-clear").hidden;
  }
  function eachBucket(columns, found) {
    const { data, rows } = Timeline;
    const { buckets } = data.pyramid;
    const { worst } = data.ops;
    const length = data.end / buckets;
    const scale = columns / (View.to - View.from);
    const first = Math.max(Math.floor(View.from / length), 0);
    const last = Math.min(Math.ceil(View.to / length), buckets);
    for (let row = 0; row < rows.length; row++)
      for (let place = first; place < last; place++) {
        const bad = worst[row * buckets + place];
        if (bad) found(row, bad, (place * length - View.from) * scale, ((place + 1) * length - View.from) * scale);
      }
  }
  function fillBins(bins, columns) {
    if (!applies() || bucketPixels(columns) > 2) return;
    eachBucket(columns, (row, bad, from, to) => {
      const stop = Math.min(Math.max(Math.ceil(to), Math.floor(from) + 1), columns);
      for (let x = Math.max(Math.floor(from), 0); x < stop; x++) {
        const place = row * columns + x;
        if (bad > bins[place]) bins[place] = bad;
      }
    });
  }
  function drawBuckets(area, columns) {
    if (!applies() || bucketPixels(columns) <= 2) return;
    const { context } = area;
    const { rowHeight } = Timeline;
    const colours = [null, Ink.ok, Ink["fail-ink"], Ink["info-ink"]];
    context.globalAlpha = 0.22;
    eachBucket(columns, (row, bad, from, to) => {
      const a = Math.max(from, 0);
      context.fillStyle = colours[bad];
      context.fillRect(area.left + a, row * rowHeight + 3, Math.min(to, columns) - a, rowHeight - 2);
    });
    context.globalAlpha = 1;
  }
  function bucketPixels(columns) {
    return Timeline.data.end / Timeline.data.pyramid.buckets / (View.to - View.from) * columns;
  }

  // src/timeline.js
  function initTimeline(data) {
    const canvas = document.getElementById("c-timeline");
    if (!data.ops.t.length) {
      document.getElementById("timeline").hidden = true;
      return;
    }
    Object.assign(Timeline, {
      data,
      canvas,
      mask: new Uint8Array(data.ops.t.length).fill(1),
      reach: reachOf(data),
      faultRows: []
    });
    groupRows("process");
    tellHeld(data);
    View.listeners.push(drawTimeline, drawMinimap);
    timelinePointer(canvas);
    minimapPointer(document.getElementById("c-minimap"));
    cursorLine(canvas.parentElement);
    drawTimeline();
    drawMinimap();
  }
  function drawTimeline() {
    layFaults();
    const { data, canvas, rows, rowHeight } = Timeline;
    const faults = Timeline.faultRows.length * FAULT_ROW;
    const height = rows.length * rowHeight + faults + 30;
    const area = prepareCanvas(canvas, height);
    const { context } = area;
    const toX = scaleX(area, View.from, View.to);
    const bottom = rows.length * rowHeight + faults + 4;
    drawBands(context, data, toX, area.left, area.right, 0, bottom);
    context.strokeStyle = Ink.rule;
    context.lineWidth = 1;
    rows.forEach((row, place) => {
      if (row.label && (rowHeight >= 11 || place % Math.ceil(11 / rowHeight) === 0 || row.first))
        rowLabel(area, row.label, place * rowHeight + rowHeight / 2 + 2);
      if (row.first && place) {
        context.beginPath();
        context.moveTo(area.left, place * rowHeight + 1.5);
        context.lineTo(area.right, place * rowHeight + 1.5);
        context.stroke();
      }
    });
    context.save();
    context.beginPath();
    context.rect(area.left, 0, area.right - area.left, bottom);
    context.clip();
    drawOperations(area, toX);
    for (const [place, row] of Timeline.faultRows.entries())
      drawFaultRow(area, toX, row, bottom - faults + place * FAULT_ROW - 1);
    context.restore();
    if (faults) rowLabel(area, "faults", bottom - faults + FAULT_ROW / 2);
    drawTimeAxis(area, toX, bottom);
  }
  function drawOperations(area, toX) {
    const { data, row, rows, mask } = Timeline;
    const { ops } = data;
    const [first, last] = visibleRange();
    const columns = Math.ceil(area.right - area.left);
    const bins = new Uint8Array(columns * rows.length);
    fillBins(bins, columns);
    drawBuckets(area, columns);
    const wide = [];
    const scale = (area.right - area.left) / ((View.to - View.from) * 1e6);
    const offset = area.left - View.from * 1e6 * scale;
    for (let i = first; i < last; i++) {
      if (!mask[i] || row[i] >= rows.length) continue;
      const end = endOf(data, i);
      const width = (end - ops.t[i]) * scale;
      if (width >= 2) {
        if (end * scale + offset >= area.left) wide.push(i);
        continue;
      }
      const x = ops.t[i] * scale + offset - area.left | 0;
      if (x < 0 || x >= columns) continue;
      const place = row[i] * columns + x;
      if (BADNESS[ops.o[i]] > bins[place]) bins[place] = BADNESS[ops.o[i]];
    }
    drawBins(area, bins, columns);
    for (const i of wide) drawBox(area, i, ops.t[i] * scale + offset, endOf(data, i) * scale + offset);
    drawMarked(area, toX);
  }
  function drawBins(area, bins, columns) {
    const { context } = area;
    const { rows, rowHeight } = Timeline;
    const colours = [null, Ink.ok, Ink["fail-ink"], Ink["info-ink"]];
    for (let row = 0; row < rows.length; row++) {
      for (let x = 0; x < columns; ) {
        const value = bins[row * columns + x];
        let stop = x + 1;
        while (stop < columns && bins[row * columns + stop] === value) stop++;
        if (value) {
          context.fillStyle = colours[value];
          context.fillRect(area.left + x, row * rowHeight + 3, stop - x, rowHeight - 2);
        }
        x = stop;
      }
    }
  }
  function drawBox(area, i, x0, x1) {
    const { data, row, rowHeight } = Timeline;
    const { ops } = data;
    const { context } = area;
    const outcome = ops.o[i];
    const a = Math.max(x0, area.left - 4);
    const b = Math.min(x1, area.right + 4);
    const y = row[i] * rowHeight + 3;
    const h = rowHeight - 3;
    const w = Math.max(b - a, 1);
    const name = OUTCOMES[outcome];
    if (outcome === 2) {
      context.strokeStyle = Ink["fail-ink"];
      context.strokeRect(a + 0.5, y + 0.5, Math.max(w - 1, 1), h - 1);
      if (w > 6) {
        context.beginPath();
        context.moveTo(a, y + h);
        context.lineTo(a + Math.min(w, h), y);
        context.stroke();
      }
    } else {
      context.fillStyle = Ink[name];
      context.globalAlpha = outcome ? 0.55 : 0.85;
      context.fillRect(a, y, w, h);
      context.globalAlpha = 1;
      context.fillStyle = Ink[`${name}-ink`];
      context.fillRect(a, y, 1, h);
      if (outcome === 1 && w > 8) for (let yy = y; yy < y + h; yy += 4) context.fillRect(b - 1, yy, 2, 2);
    }
    if (w > 22 && rowHeight >= 11) {
      context.fillStyle = outcome === 2 || Ink.dark && outcome ? Ink.ink : "#10151a";
      context.textAlign = "left";
      context.textBaseline = "middle";
      context.fillText(clip(context, boxLabel(i), w - 6), a + 4, y + h / 2 + 0.5);
    }
  }
  function drawMarked(area, toX) {
    const { data, focus } = Timeline;
    const { context } = area;
    const framed = /* @__PURE__ */ new Map();
    data.violations.forEach(({ ops }, place) => {
      for (const index of ops) framed.set(index, place === focus || framed.get(index) === true);
    });
    for (const [index, focused] of framed) {
      const i = placeOfIndex(index);
      if (i < 0 || !Timeline.mask[i]) continue;
      context.globalAlpha = focus === null || focused ? 1 : 0.45;
      outline(area, toX, i, Ink.mark, focused ? 2.5 : focus === null ? 2 : 1);
      context.globalAlpha = 1;
      if (data.violations.some(({ suspects }, place) => suspects.includes(index) && (focus === null || place === focus)))
        pointAt(area, toX, i);
    }
    if (View.selected !== null) outline(area, toX, View.selected, Ink.ink, 1.5, 2);
  }
  function outline(area, toX, i, colour, width, away = 0) {
    const { data, row, rows, rowHeight } = Timeline;
    const { context } = area;
    if (row[i] >= rows.length) return;
    const a = Math.max(toX(data.ops.t[i] / 1e6), area.left - 9);
    const b = Math.min(Math.max(toX(endOf(data, i) / 1e6), a + 3), area.right + 9);
    if (b < area.left || a > area.right) return;
    const box = [a - 1 - away, row[i] * rowHeight + 2 - away, b - a + 2 + 2 * away, rowHeight - 1 + 2 * away];
    context.strokeStyle = Ink.paper;
    context.lineWidth = width + 2;
    context.strokeRect(...box);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.strokeRect(...box);
    context.lineWidth = 1;
  }
  function pointAt(area, toX, i) {
    const { data, row, rowHeight } = Timeline;
    const x = toX(data.ops.t[i] / 1e6) + 1;
    if (x >= area.left - 4 && x <= area.right) triangle(area.context, x, row[i] * rowHeight + 1, 4);
  }
  function operationAt(x, y) {
    const { data, canvas, row, rowHeight, mask } = Timeline;
    const line2 = Math.floor((y - 2) / rowHeight);
    const width = canvas.clientWidth - GUTTER - MARGIN;
    const span = (View.to - View.from) * 1e6;
    const slack = span / width * 3;
    const at = View.from * 1e6 + (x - GUTTER) / width * span;
    const [first, last] = visibleRange();
    let best = -1;
    let distance = Infinity;
    for (let i = first; i < last; i++) {
      if (row[i] !== line2 || !mask[i] || data.ops.t[i] > at + slack || endOf(data, i) < at - slack) continue;
      const away = Math.max(data.ops.t[i] - at, at - endOf(data, i), 0) - BADNESS[data.ops.o[i]] * 1e-3;
      if (away <= distance) {
        best = i;
        distance = away;
      }
    }
    return best;
  }
  function takesWheel(event, canvas) {
    if (event.shiftKey || !(event.ctrlKey || document.activeElement === canvas)) return false;
    const whole = View.from <= View.start && View.to >= View.end;
    return !(whole && event.deltaY > 0 && Math.abs(event.deltaY) >= Math.abs(event.deltaX)) || event.ctrlKey;
  }
  function timelinePointer(canvas) {
    const secondsAt = followPointer(canvas, false);
    let drag = null;
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (!takesWheel(event, canvas)) return;
        event.preventDefault();
        if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
          View.move(event.deltaX / canvas.clientWidth * (View.to - View.from));
        else View.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 240))), secondsAt(event));
      },
      { passive: false }
    );
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, from: View.from, to: View.to, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const shift = (drag.x - event.clientX) / (canvas.clientWidth - GUTTER - MARGIN) * (drag.to - drag.from);
        if (Math.abs(event.clientX - drag.x) > 3) drag.moved = true;
        if (drag.moved) {
          hideCard();
          View.set(drag.from + shift, drag.to + shift);
        }
        return;
      }
      const box = canvas.getBoundingClientRect();
      const i = operationAt(event.clientX - box.left, event.clientY - box.top);
      showCard(i < 0 ? null : describe(i), event.clientX, event.clientY);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved) {
        const box = canvas.getBoundingClientRect();
        const i = operationAt(event.clientX - box.left, event.clientY - box.top);
        if (i >= 0) pin(i);
        else select(null);
      }
      drag = null;
    });
    canvas.addEventListener("pointercancel", () => {
      drag = null;
    });
    canvas.addEventListener("pointerleave", hideCard);
  }

  // src/report.js
  function redrawAll() {
    readInk();
    resizeCharts();
    if (Timeline.data) View.changed();
  }
  function nothingToDraw() {
    const waiting = document.getElementById("waiting");
    const timeline = document.getElementById("timeline");
    if (waiting) waiting.textContent = "There is nothing to draw.";
    if (timeline) timeline.hidden = true;
    document.documentElement.dataset.ready = "yes";
  }
  function redrawWhenResized(element) {
    let width = element.clientWidth;
    new ResizeObserver(() => {
      if (element.clientWidth !== width) {
        width = element.clientWidth;
        redrawAll();
      }
    }).observe(element);
  }
  async function start() {
    wireTheme(redrawAll);
    wireButtons();
    wireWords();
    readInk();
    const packed = document.getElementById("packed").textContent;
    if (!packed.trim()) {
      nothingToDraw();
      return;
    }
    const data = await unpack(packed);
    document.getElementById("packed").remove();
    View.reset(data.end);
    document.getElementById("waiting").hidden = true;
    for (const id of ["charts-body", "beside"]) document.getElementById(id)?.removeAttribute("hidden");
    initTimeline(data);
    initCharts(data);
    initStrips(data);
    if (Timeline.data) {
      fillFilters(data);
      initText();
    }
    wireKeys();
    wireFaults(data);
    readHash();
    addEventListener("hashchange", readHash);
    View.listeners.push(writeHash);
    redrawWhenResized(document.getElementById("charts"));
    document.documentElement.dataset.ready = "yes";
    performance.mark("usable");
  }
  window.page = {
    applyFilters,
    Charts,
    drawTimeline,
    endOf,
    GUTTER,
    groupRows,
    isError,
    lowerBound,
    MARGIN,
    placeOfIndex,
    Selection,
    search,
    select,
    step,
    Timeline,
    View
  };
  start().catch((error) => {
    const place = document.getElementById("waiting") ?? document.querySelector(".sentence");
    place.hidden = false;
    place.textContent = `The charts could not be drawn: ${error.message}`;
    console.error(error);
  });
})();
