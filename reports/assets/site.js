(() => {
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
  function button(name, action) {
    const made = el("button", name);
    made.type = "button";
    made.addEventListener("click", action);
    return made;
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

  // src/site.js
  var Site = { rows: [], shown: [], sort: "started", down: true, picked: [], base: "", limit: 300 };
  var COLUMNS = [
    "started",
    "verdict",
    "finding",
    "nemesis",
    "version",
    "seed",
    "operations",
    "rate",
    "gap_s",
    "recovery_s",
    "sentence"
  ];
  var NUMERIC = { operations: 0, rate: 1, gap_s: 2, recovery_s: 2 };
  var CLASSES = { seed: "num", sentence: "what", version: "mono", started: "nowrap" };
  var FILTERS = ["verdict", "group", "fault", "version", "workload", "test"];
  var SEVERITIES = ["data lost", "inconsistent", "no commits", "replica behind", "alarm"];
  function byId(id) {
    return document.getElementById(id);
  }
  function nameOr(row, name) {
    return row[name] || (name === "nemesis" ? "no fault" : "–");
  }
  function valuesOf(row, name) {
    if (name === "fault") return row.fault.length ? row.fault : ["no fault"];
    return [nameOr(row, name)];
  }
  function rankOf(group) {
    const place = SEVERITIES.indexOf(group);
    return place < 0 ? SEVERITIES.length : place;
  }
  function shownValue(row, name) {
    if (name === "recovery_s" && row.never) return "never";
    return name in NUMERIC ? figure(row[name], NUMERIC[name]) : String(row[name] ?? "") || "–";
  }
  function sortValue(row, name) {
    if (name === "recovery_s" && row.never) return Infinity;
    if (name === "finding") return row.finding ? `${rankOf(row.group)} ${row.finding}` : "9";
    const value = row[name];
    return value ?? (name in NUMERIC ? -Infinity : "");
  }
  function filterRows() {
    const text = byId("s-search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = FILTERS.map((name) => [name, byId(`s-${name}`).value]).filter(([, value]) => value !== "");
    Site.shown = Site.rows.filter(
      (row) => wanted.every(([name, value]) => valuesOf(row, name).includes(value)) && text.every((word) => row.text.includes(word))
    );
    const direction = Site.down ? -1 : 1;
    Site.shown.sort((a, b) => {
      const x = sortValue(a, Site.sort);
      const y = sortValue(b, Site.sort);
      return x < y ? -direction : x > y ? direction : 0;
    });
    Site.limit = 300;
    drawRows();
    const parts = new URLSearchParams(wanted);
    if (byId("s-search").value) parts.set("q", byId("s-search").value);
    try {
      history.replaceState(null, "", parts.size ? `#${parts}` : location.pathname);
    } catch {
    }
  }
  function drawRow(row) {
    const line = el("tr");
    const pick = el("input");
    const first = el("td");
    pick.type = "checkbox";
    pick.checked = Site.picked.includes(row);
    pick.setAttribute("aria-label", `Compare ${row.run}`);
    pick.addEventListener("change", () => pickRow(row, pick.checked));
    first.append(pick);
    line.append(first);
    for (const name of COLUMNS) {
      const cell = el("td", void 0, CLASSES[name] ?? (name in NUMERIC ? "num" : ""));
      if (name === "started") {
        const link = el("a", row.started || row.run);
        link.href = Site.base + row.href + (row.files.includes("report.html") ? "/report.html" : "/index.html");
        cell.append(link);
      } else if (name === "nemesis") {
        const link = el("a", nameOr(row, "nemesis"));
        link.href = Site.base + row.nemesisHref;
        cell.append(link);
      } else if (name === "sentence") {
        const text = el("div", row.sentence);
        text.title = row.sentence;
        cell.append(text);
      } else cell.textContent = shownValue(row, name);
      if (name === "verdict") cell.className = `verdict nowrap ${row.verdict.replace(" ", "-")}`;
      if (name === "finding" && row.group === "data lost") cell.className = "lost";
      if (name === "recovery_s" && row.never) cell.className = "num red strong";
      line.append(cell);
    }
    return line;
  }
  function drawRows() {
    const body = document.querySelector("#runs tbody");
    body.replaceChildren(...Site.shown.slice(0, Site.limit).map(drawRow));
    byId("s-said").textContent = Site.shown.length === Site.rows.length ? `${Site.rows.length.toLocaleString("en")} runs` : `${Site.shown.length.toLocaleString("en")} of ${Site.rows.length.toLocaleString("en")} runs`;
    const more = byId("s-more");
    more.replaceChildren();
    if (Site.shown.length > Site.limit) {
      const left = (Site.shown.length - Site.limit).toLocaleString("en");
      const showMore = () => {
        Site.limit += 1e3;
        drawRows();
      };
      more.append(button(`Show more (${left} left)`, showMore));
    }
    for (const head of document.querySelectorAll("#runs th[data-sort]")) {
      if (head.dataset.sort === Site.sort) head.setAttribute("aria-sort", Site.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  }
  function pickRow(row, on) {
    Site.picked = Site.picked.filter((other) => other !== row);
    if (on) Site.picked.push(row);
    if (Site.picked.length > 2) {
      Site.picked.shift();
      drawRows();
    }
    byId("s-compare").disabled = Site.picked.length !== 2;
    byId("s-compare").title = Site.picked.length === 2 ? "" : "Tick two runs";
  }
  function compare() {
    const [a, b] = Site.picked.map((row) => `${row.test}/${row.run}`);
    location.href = `${Site.base}compare.html?${new URLSearchParams({ a, b })}`;
  }
  function wireList() {
    for (const name of FILTERS) {
      const select = byId(`s-${name}`);
      const counts = /* @__PURE__ */ new Map();
      for (const row of Site.rows) {
        for (const value of valuesOf(row, name)) counts.set(value, (counts.get(value) ?? 0) + 1);
      }
      const byName = (a, b) => rankOf(a[0]) - rankOf(b[0]) || (a[0] < b[0] ? -1 : 1);
      for (const [value, count] of [...counts].sort(byName)) {
        select.append(option(value, `${value} (${count})`));
      }
      select.addEventListener("input", filterRows);
    }
    byId("s-search").addEventListener("input", filterRows);
    byId("site-filters").addEventListener("submit", (event) => event.preventDefault());
    byId("s-compare").addEventListener("click", compare);
    for (const head of document.querySelectorAll("#runs th[data-sort]")) {
      const { sort } = head.dataset;
      const sortBy = () => {
        Site.down = Site.sort === sort ? !Site.down : sort in NUMERIC || sort === "started";
        Site.sort = sort;
        filterRows();
      };
      head.replaceChildren(button(head.textContent, sortBy));
    }
    readAddress();
    window.addEventListener("hashchange", () => {
      readAddress();
      filterRows();
    });
    byId("site-filters").hidden = false;
  }
  function readAddress() {
    const parts = new URLSearchParams(location.hash.slice(1));
    for (const name of FILTERS) byId(`s-${name}`).value = parts.get(name) ?? "";
    byId("s-search").value = parts.get("q") ?? "";
  }
  async function startSite() {
    wireTheme(() => {
    });
    const packed = byId("packed").textContent;
    if (packed.trim()) {
      const data = await unpack(packed);
      Site.base = data.base;
      Site.rows = data.rows.map((row) => ({
        ...row,
        text: [row.test, row.run, row.sentence, row.finding, row.seed, row.nemesis, row.version, row.verdict].join(" ").toLowerCase()
      }));
      wireList();
      filterRows();
    }
    document.documentElement.dataset.ready = "yes";
    performance.mark("usable");
  }
  window.page = { byId, filterRows, Site };
  startSite().catch((error) => console.error(error));
})();
