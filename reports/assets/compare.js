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
    reset(end, start = 0) {
      this.from = this.start = start;
      this.to = this.end = end;
    },
    set(from, to) {
      const span = Math.min(Math.max(to - from, 1e-4), this.end - this.start);
      const start = Math.min(Math.max(from, this.start), this.end - span);
      if (!Number.isFinite(start) || !Number.isFinite(span)) return;
      if (Math.abs(start - this.from) < 1e-9 && Math.abs(start + span - this.to) < 1e-9) return;
      this.from = start;
      this.to = start + span;
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
  function timeText(seconds, step) {
    let digits = 0;
    while (digits < 6 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits++;
    return seconds.toFixed(digits);
  }
  function timeTicks(width) {
    const step = niceStep(View.to - View.from, Math.max(2, width / 90));
    const ticks = [];
    for (let tick = Math.ceil(View.from / step - 1e-9) * step; tick <= View.to + step * 1e-6; tick += step)
      ticks.push(tick);
    return ticks;
  }
  function drawTimeAxis(area, toX, y) {
    const { context } = area;
    const ticks = timeTicks(area.right - area.left);
    const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
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
      context.fillText(timeText(tick, step), x, y + 6);
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
    let start = null;
    canvas.addEventListener("pointermove", (event) => View.point(secondsAt(event)));
    canvas.addEventListener("pointerleave", () => View.point(null));
    if (!dragZoom) return secondsAt;
    canvas.addEventListener("pointerdown", (event) => {
      start = secondsAt(event);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointerup", (event) => {
      const stop = secondsAt(event);
      if (start !== null && Math.abs(stop - start) > (View.to - View.from) * 0.01)
        View.set(Math.min(start, stop), Math.max(start, stop));
      start = null;
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

  // src/dom.js
  function el(name, text, className) {
    const made = document.createElement(name);
    if (text !== void 0 && text !== null) made.textContent = text;
    if (className) made.className = className;
    return made;
  }
  function figure(value, digits) {
    if (value === null || value === void 0 || value === "") return "–";
    const text = Number(value).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return text.replaceAll(",", " ");
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
    for (const { name, start } of data.phases) {
      const x = toX(start);
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
  function drawAvailable(context, value, colour, from, to, top, step) {
    context.fillStyle = value === 1 ? colour : value === 2 ? Ink["fail-ink"] : Ink.quiet;
    const inset = value === 1 ? 5 : value === 2 ? 3 : step / 2 - 0.5;
    context.fillRect(from, top + inset, to - from, step - 2 * inset);
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
        values: (_, ticks) => ticks.map((tick) => figure(tick, Number.isInteger(tick) ? 0 : 1)),
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
      value: (_, v) => figure(v, Number.isInteger(v) ? 0 : 1),
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

  // src/compare.js
  var Compare = { data: null, a: null, b: null };
  var FIGURES = [
    ["rate", "ok/s", 1, 1],
    ["gap_s", "longest gap, s", 2, -1],
    ["recovery_s", "rate back, worst, s", 2, -1],
    ["never", "faults after which the rate was not back", 0, -1],
    ["violations", "violations", 0, -1],
    ["operations", "operations", 0, 0],
    ["length_s", "length, s", 1, 0]
  ];
  var FACTS = ["test", "run", "started", "nemesis", "version", "timers", "seed"];
  function tableOf(id, heads, rows, labelled) {
    const head = el("tr");
    const thead = el("thead");
    const body = el("tbody");
    for (const [text, className] of heads) {
      const cell = el("th", text, className);
      cell.scope = "col";
      head.append(cell);
    }
    thead.append(head);
    for (const { cells, differs } of rows) {
      const line2 = el("tr", void 0, differs ? "differs" : "");
      cells.forEach(([text, className], place) => {
        const cell = el(place ? "td" : "th", text, className);
        if (!place) cell.scope = "row";
        if (labelled && place && text) cell.dataset.label = heads[place][0];
        line2.append(cell);
      });
      body.append(line2);
    }
    document.getElementById(id).replaceChildren(thead, body);
  }
  function verdictCard(letter, run) {
    const card = el("section", void 0, "versus-run");
    const head = el("h2");
    const list = el("dl", void 0, "facts");
    const link = el("a", "report");
    head.append(
      el("span", letter.toUpperCase(), `letter ${letter}`),
      document.createTextNode(" "),
      el("span", run.verdict, `verdict ${run.verdict.replace(" ", "-")}`)
    );
    for (const name of FACTS) {
      const box = el("div");
      box.append(el("dt", name), el("dd", String(run[name] || "–"), "mono"));
      list.append(box);
    }
    link.href = run.href;
    link.textContent = run.href.endsWith("report.html") ? "Report" : "Files";
    card.append(head, el("p", run.sentence, "statement"), list);
    if (run.curves?.command) {
      const command = el("div", void 0, "command");
      const [title, text] = run.curves.command;
      command.append(el("span", title, "label"), el("code", text));
      card.append(command);
    }
    card.append(link);
    return card;
  }
  function drawTables(a, b) {
    document.getElementById("cmp-verdicts").replaceChildren(verdictCard("a", a), verdictCard("b", b));
    tableOf(
      "cmp-figures",
      [
        ["", ""],
        ["A", "num"],
        ["B", "num"],
        ["B less A", "num"],
        ["", "num"]
      ],
      FIGURES.map(([name, title, digits, better]) => {
        const [x, y] = [a[name], b[name]];
        const known = typeof x === "number" && typeof y === "number";
        const change = known ? y - x : null;
        const share = known && x ? `${change > 0 ? "+" : ""}${(change / x * 100).toFixed(0)} %` : "";
        const worse = known && better && change * better < 0;
        return {
          differs: known ? change !== 0 : x !== y,
          cells: [
            [title],
            [figure(x, digits), "num"],
            [figure(y, digits), "num"],
            [known ? (change > 0 ? "+" : "") + figure(change, digits) : "–", `num${worse ? " red" : ""}`],
            [share, "num quiet"]
          ]
        };
      })
    );
    const names = [...new Set([...a.checks, ...b.checks].map(([name]) => name))];
    const said = (run, name) => (run.checks.find(([other]) => other === name) ?? ["", "–"])[1];
    tableOf(
      "cmp-checks",
      [["check or gate"], ["A"], ["B"]],
      names.map((name) => {
        const [x, y] = [said(a, name), said(b, name)];
        return { differs: x !== y, cells: [[name], [x, `verdict ${x}`], [y, `verdict ${y}`]] };
      })
    );
    drawFaultTable(a.curves?.faults ?? [], b.curves?.faults ?? []);
  }
  function drawFaultTable(a, b) {
    const heads = [
      ["#", "num"],
      ["fault of A", "line"],
      ["nodes"],
      ["start s", "num"],
      ["gap s", "num"],
      ["rate back ms", "num"],
      ["fault of B", "line"],
      ["nodes"],
      ["start s", "num"],
      ["gap s", "num"],
      ["rate back ms", "num"]
    ];
    const cellsOf = (fault) => fault ? [
      [fault.state === "installed" ? fault.fault : `${fault.fault} (${fault.state})`, "line"],
      [fault.nodes.join(" "), "nowrap"],
      [figure(fault.start, 1), "num"],
      [figure(fault.gap_s, 2), "num"],
      [fault.never ? "never" : figure(fault.recovered_ms, 0), `num${fault.never ? " red strong" : ""}`]
    ] : [["–", "line"], [""], [""], [""], [""]];
    if (!a.length && !b.length) {
      tableOf("cmp-faults", [["faults"]], [{ cells: [["No fault was started in either."]] }]);
      return;
    }
    tableOf(
      "cmp-faults",
      heads,
      Array.from({ length: Math.max(a.length, b.length) }, (_, place) => ({
        differs: false,
        cells: [[String(place), "num"], ...cellsOf(a[place]), ...cellsOf(b[place])]
      })),
      true
    );
  }
  function merged(a, b, names) {
    return uPlot.join([a, b].map((run) => [run.time, ...names.map((name) => run[name])]));
  }
  function halfBands(context, _data, toX, left, right, top, height) {
    for (const [half, run] of [Compare.a, Compare.b].entries()) {
      const data = { faults: run.curves?.faults ?? [], faultColours: Compare.data.faultColours };
      drawBands(context, data, toX, left, right, top + half * height / 2, height / 2);
    }
  }
  function drawCurves(a, b) {
    for (const { plot } of Charts.plots) plot.destroy();
    Charts.plots.length = 0;
    const curves = [a.curves, b.curves].filter(Boolean);
    View.reset(Math.max(1, ...curves.map((run) => run.end)), Math.min(0, ...curves.map((run) => run.start)));
    if (curves.length < 2) return;
    const inks = { a: () => Ink["run-a"], b: () => Ink["run-b"] };
    const data = { faults: [], phases: [{ name: "main", start: 0 }], faultColours: Compare.data.faultColours };
    makePlot(
      data,
      "c-rate",
      200,
      [line("A", inks.a, { width: 1.75 }), line("B", inks.b, { width: 1.75, dash: [6, 3] })],
      merged(a.curves, b.curves, ["ok"]),
      { background: halfBands }
    );
    const [times, a50, a99, b50, b99] = merged(a.curves, b.curves, ["p50", "p99"]);
    makePlot(
      data,
      "c-latency",
      200,
      [
        line("A p50", inks.a, { width: 1 }),
        line("A p99", inks.a, { width: 2 }),
        line("B p50", inks.b, { width: 1, dash: [6, 3] }),
        line("B p99", inks.b, { width: 2, dash: [6, 3] })
      ],
      [times, a50, a99, b50, b99],
      { scale: logScale(), axis: logAxis, background: halfBands }
    );
  }
  function drawAvailability() {
    const canvas = document.getElementById("c-availability");
    const step = 18;
    const area = prepareCanvas(canvas, 4 * step + 34);
    const { context } = area;
    const toX = scaleX(area, View.from, View.to);
    [
      ["A", Compare.a],
      ["B", Compare.b]
    ].forEach(([letter, run], place) => {
      const top = place * (2 * step + 6);
      const { curves } = run;
      rowLabel(area, `${letter} faults`, top + step / 2);
      rowLabel(area, `${letter} ok`, top + step * 1.5);
      if (!curves) return;
      drawBands(
        context,
        { faults: curves.faults, faultColours: Compare.data.faultColours },
        toX,
        area.left,
        area.right,
        top,
        2 * step
      );
      context.fillStyle = Ink.ink;
      context.textAlign = "left";
      context.textBaseline = "middle";
      for (const fault of curves.faults) {
        const from = Math.max(toX(fault.start), area.left);
        const to = Math.min(toX(fault.end), area.right);
        if (fault.state !== "skipped")
          context.fillText(clip(context, fault.fault, to - from - 8), from + 4, top + step / 2);
      }
      const [width, lengths] = curves.available;
      let at = curves.start;
      for (const [value, count] of lengths) {
        const from = Math.max(toX(at), area.left);
        const to = Math.min(toX(Math.min(at + count * width, curves.end)), area.right);
        at += count * width;
        if (to <= from) continue;
        drawAvailable(context, value, Ink[`run-${letter.toLowerCase()}`], from, to, top + step, step);
      }
    });
    drawTimeAxis(area, toX, 4 * step + 12);
  }
  function drawLegend(a, b) {
    const item = (name, make) => {
      const entry = el("li");
      entry.append(make, document.createTextNode(name));
      return entry;
    };
    const swatch = (kind, className, width, y, height) => {
      const picture = svg("svg", { class: kind, viewBox: `0 0 ${width} 10`, "aria-hidden": "true" });
      picture.append(svg("rect", { class: className, width, y, height }));
      return picture;
    };
    const strip = (text, ...bars) => {
      const entry = el("li");
      for (const [className, y, height] of bars) entry.append(swatch("swatch long", className, 28, y, height));
      entry.append(text);
      return entry;
    };
    const families = [
      ...new Set(
        [a, b].flatMap((run) => run.curves?.faults ?? []).filter((fault) => fault.state !== "skipped").map((fault) => fault.family)
      )
    ];
    document.getElementById("cmp-legend").replaceChildren(
      item(` ${a.run}`, el("span", "A", "letter a")),
      item(` ${b.run}`, el("span", "B", "letter b")),
      ...families.map((family) => item(`${family} fault`, swatch("swatch band", `f-${family}`, 10, 0, 10))),
      ...families.length ? [el("li", "bands: while a fault stood, paler while it was installed or healed")] : [],
      strip("some ok in a quarter of a second", ["o-run-a", 2, 6], ["o-run-b", 2, 6]),
      strip("answers, none of them ok", ["o-no-ok", 0, 10]),
      strip("no answer", ["role", 4.5, 1])
    );
  }
  function showPair(keepAddress) {
    const { a, b } = Compare;
    document.getElementById("cmp-body").hidden = false;
    const without = [a, b].filter((run) => !run.curves).map((run) => run.place);
    document.getElementById("cmp-said").textContent = without.length ? `No operations can be read of ${without.join(" and of ")}: the curves are left out.` : "";
    for (const id of ["c-rate", "c-latency", "c-availability"])
      document.getElementById(id).closest(".chart").hidden = id !== "c-availability" && without.length > 0;
    drawTables(a, b);
    drawLegend(a, b);
    drawCurves(a, b);
    drawAvailability();
    document.getElementById("cmp-a").value = a.place;
    document.getElementById("cmp-b").value = b.place;
    if (!keepAddress)
      try {
        history.replaceState(null, "", `?${new URLSearchParams({ a: a.place, b: b.place })}`);
      } catch {
      }
  }
  function wireChoice() {
    const { runs } = Compare.data;
    for (const letter of ["a", "b"]) {
      const select = document.getElementById(`cmp-${letter}`);
      for (const run of runs) select.append(option(run.place, `${run.place} · ${run.verdict}`));
      select.addEventListener("input", () => {
        Compare[letter] = runs.find((run) => run.place === select.value);
        showPair(false);
      });
    }
    document.getElementById("cmp-swap").addEventListener("click", () => {
      [Compare.a, Compare.b] = [Compare.b, Compare.a];
      showPair(false);
    });
    document.getElementById("cmp-choice").hidden = false;
  }
  async function startCompare() {
    readInk();
    const redraw = () => {
      readInk();
      resizeCharts();
      View.changed();
    };
    wireTheme(redraw);
    const packed = document.getElementById("packed").textContent;
    Compare.data = packed.trim() ? await unpack(packed) : { runs: [] };
    const { runs } = Compare.data;
    const asked = new URLSearchParams(location.search);
    if (runs.length > 1) {
      const find = (letter, otherwise) => runs.find((run) => run.place === asked.get(letter)) ?? (asked.has(letter) ? null : otherwise);
      Compare.a = find("a", runs[1]);
      Compare.b = find("b", runs[0]);
      const missing = ["a", "b"].filter((letter) => !Compare[letter]).map((letter) => asked.get(letter));
      View.listeners.push(() => {
        if (Compare.a && Compare.b) drawAvailability();
      });
      shareView();
      wireChoice();
      if (missing.length) {
        document.getElementById("cmp-said").textContent = `This copy holds the curves of the newest ${runs.length} runs only, not those of ${missing.join(" and ")}; harness serve compares any two.`;
        Compare.a ??= runs[1];
        Compare.b ??= runs[0];
      } else showPair(true);
      const canvas = document.getElementById("c-availability");
      followPointer(canvas, true);
      cursorLine(canvas.parentElement);
      canvas.addEventListener("keydown", (event) => {
        if (ViewKeys[event.key] && !event.ctrlKey && !event.metaKey) {
          event.preventDefault();
          ViewKeys[event.key]();
        }
      });
      new ResizeObserver(redraw).observe(document.querySelector("main"));
    }
    document.documentElement.dataset.ready = "yes";
    performance.mark("usable");
  }
  window.page = { Charts, Compare, View };
  startCompare().catch((error) => {
    document.getElementById("cmp-said").textContent = `The comparison could not be drawn: ${error.message}`;
    console.error(error);
  });
})();
