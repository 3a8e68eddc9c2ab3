// Queries over operations: op=cas & ok & lat>50ms & during:#2. Terms are joined by & and |, and ! negates one.

import { endOf, OUTCOMES, plainKey, textOfValue } from "./operations.js";

const TERM = /^(!?)\s*([a-z]+)\s*(!=|<=|>=|=|<|>|:)\s*(.+)$/;

const WORD = /^(!?)\s*(ok|info|fail|violation|open)$/;

const UNITS = { us: 1, µs: 1, ms: 1e3, s: 1e6 };

const COMPARE = {
  "=": (a, b) => a === b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};

export const QUERY_FIELDS = "op, key, node, process, phase, error, value, index, lat, t, during";

const TEXTS = { op: "f", kind: "f", key: "k", node: "n", phase: "ph", error: "e" };

const KNOWN = new Set([...Object.keys(TEXTS), "process", "value", "index", "lat", "t", "during"]);

// A text is a query if its first term is one; anything else is searched for among values and errors.
export function isQuery(text) {
  const first = text.split(/[&|]/)[0].trim();
  return WORD.test(first) || KNOWN.has(TERM.exec(first)?.[2]);
}

// The test of an operation by its place, as a query asks; throws an Error whose message says what is wrong.
export function compile(text, data) {
  const either = text.split("|").map((part) => {
    const all = part.split("&").map((term) => termTest(term.trim(), data));
    return (i) => all.every((test) => test(i));
  });
  return (i) => either.some((test) => test(i));
}

function termTest(text, data) {
  const word = WORD.exec(text);
  const [, not, ...parts] = word ?? TERM.exec(text) ?? [];
  if (!parts.length)
    throw new Error(`“${text}” is not a term; the choices are ok, info, fail, open, violation, ${QUERY_FIELDS}`);
  const test = word ? wordTest(parts[0], data) : fieldTest(parts[0], parts[1], parts[2].trim(), data);
  return not ? (i) => !test(i) : test;
}

function wordTest(word, data) {
  const { ops } = data;
  if (word === "open") return (i) => ops.d[i] < 0;
  if (word !== "violation") return (i) => ops.o[i] === OUTCOMES.indexOf(word);
  const members = new Set(data.violations.flatMap((violation) => violation.ops));
  return (i) => members.has(ops.i[i]);
}

function fieldTest(name, sign, wanted, data) {
  if (sign === "!=") {
    const same = fieldTest(name, "=", wanted, data);
    return (i) => !same(i);
  }
  const { ops } = data;
  if (name in TEXTS) return textTest(TEXTS[name], sign, wanted, data);
  if (name === "process") return numberTest(sign, wanted, (i) => ops.p[i]);
  if (name === "index") return numberTest(sign, wanted, (i) => ops.i[i]);
  if (name === "lat") return numberTest(sign, wanted, (i) => (ops.d[i] < 0 ? Infinity : ops.d[i]), 1e3);
  if (name === "t") return numberTest(sign, wanted, (i) => ops.t[i], 1e6);
  if (name === "value") return valueTest(sign, wanted, data);
  if (name === "during") return duringTest(wanted, data);
  throw new Error(`“${name}” is not known; the choices are ${QUERY_FIELDS}`);
}

// Names are compared once each, not once an operation.
function textTest(column, sign, wanted, data) {
  const word = wanted.toLowerCase();
  if (sign !== "=" && sign !== ":") throw new Error(`text can only be compared with = or :, not with ${sign}`);
  const found = data.names[column].map((name) => {
    const text = plainKey(name).toLowerCase();
    return sign === ":" ? text.includes(word) : text === word;
  });
  return (i) => data.ops[column][i] >= 0 && found[data.ops[column][i]];
}

// Times are in microseconds; without a unit a latency is in milliseconds and a moment in seconds.
function numberTest(sign, wanted, numberOf, unit = 1) {
  const [, digits, suffix] = /^(-?\d+(?:\.\d+)?)\s*([a-zµ]*)$/.exec(wanted) ?? [];
  const compare = COMPARE[sign];
  if (digits === undefined || !compare || (suffix && !(unit > 1 && suffix in UNITS)))
    throw new Error(`“${sign}${wanted}” does not compare with a number`);
  const limit = Number(digits) * (suffix ? UNITS[suffix] : unit);
  return (i) => compare(numberOf(i), limit);
}

function valueTest(sign, wanted, data) {
  const matches = (text) => (sign === ":" ? text.includes(wanted) : text === wanted);
  if (sign === "=" || sign === ":")
    return (i) => matches(plainKey(textOfValue(data, "v", i))) || matches(plainKey(textOfValue(data, "q", i)));
  const { ops } = data;
  const asked = numberTest(sign, wanted, (i) => (ops.vk[i] === 1 ? ops.va[i] : Number.NaN));
  const answered = numberTest(sign, wanted, (i) => (ops.qk[i] === 1 ? ops.qa[i] : Number.NaN));
  return (i) => asked(i) || answered(i);
}

// During a fault by its number, or any whose name or family holds the text; none: under no fault.
function duringTest(wanted, data) {
  const installed = data.faults.filter(({ state }) => state !== "skipped");
  const overlaps = (i) => (fault) => fault.start * 1e6 <= endOf(data, i) && fault.end * 1e6 >= data.ops.t[i];
  if (wanted === "none") return (i) => !installed.some(overlaps(i));
  const number = /^#(\d+)$/.exec(wanted)?.[1];
  const chosen = installed.filter(({ id, fault, family }) =>
    number === undefined ? fault.includes(wanted) || family === wanted : id === Number(number),
  );
  if (!chosen.length) throw new Error(`no fault matches ${wanted}`);
  return (i) => chosen.some(overlaps(i));
}
