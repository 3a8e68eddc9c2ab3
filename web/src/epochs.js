// Indexes with an epoch in their upper bits (ZooKeeper's zxid): the page holds their places on an axis on which one epoch
// stands beside the next, and writes them in hexadecimal, as the tables do.

const ROOM = 11;

// The epoch of a place: [place of its first entry, index of that].
function epochAt({ begins }, place) {
  return begins.findLast(([begin]) => begin <= place) ?? begins[0];
}

export function indexOf(progress, place) {
  if (place === null || place === undefined) return "–";
  const [begin, first] = epochAt(progress, place);
  return `0x${(first + Math.round(place - begin)).toString(16)}`;
}

// From the first entry of the lowest epoch in view.
export function epochScale(progress) {
  return { range: (_, low, high) => [epochAt(progress, low ?? 0)[0], Math.max(high ?? 0, 1) * 1.05] };
}

// The epochs in view, and round counters within them where there is room: [place, text].
export function epochTicks({ begins, bits }, low, high) {
  const found = [];
  const room = (high - low) / ROOM;
  const add = (place, text) => {
    const near = found.some(([other]) => Math.abs(other - place) < room);
    if (place >= low && place <= high && !near) found.push([place, text]);
  };
  for (const [begin, first] of begins) add(begin, `epoch ${Math.floor(first / 2 ** bits)}`);
  let step = 1;
  while ((high - low) / step > 4) step *= 2;
  begins.forEach(([begin], i) => {
    const end = begins[i + 1]?.[0] ?? Number.POSITIVE_INFINITY;
    for (let counter = step; begin + counter < Math.min(end - room, high); counter += step)
      add(begin + counter, `+0x${counter.toString(16)}`);
  });
  return found.sort((a, b) => a[0] - b[0]);
}

export function epochAxis(progress) {
  return {
    splits: (_u, _axis, low, high) => epochTicks(progress, low, high).map(([place]) => place),
    values: (u, ticks) => {
      const texts = new Map(epochTicks(progress, u.scales.y.min, u.scales.y.max));
      return ticks.map((tick) => texts.get(tick) ?? "");
    },
  };
}
