// Which role and term a node had at a moment.

export const ROLE_NAMES = [
  "leader",
  "follower",
  "candidate",
  "not reported",
  "no answer to probes",
  "its server is killed, another process answers",
];

// Nothing for a system that reports no terms.
export function termText(term) {
  return term >= 0 ? `, term ${term}` : "";
}

// The stretch of one role and term, [role, term, from, to], that a node was in at a moment.
export function stretchAt(data, place, seconds) {
  return data.stretches?.[place]?.find(([, , from, to]) => from <= seconds && seconds < to);
}

export function answersAt(data, node, seconds) {
  const place = data.nodes.findIndex((one) => one.name === node);
  const found = stretchAt(data, place, seconds);
  return found !== undefined && found[0] < 4;
}

export function leaderAt(data, seconds) {
  const found = data.led?.find(([, , from, to]) => from <= seconds && seconds < to);
  return found ? { node: data.nodes[found[0]].name, term: found[1] } : null;
}
