"""Delay, reorder or duplicate packets with a helper program on the node (see ``queue_helper``).

An iptables rule hands the packets that a node receives over a shaped link to the helper.  Only one end of a link is
shaped, so that a round trip shows exactly the configured delay.

The witness first waits until the helper has treated packets of the system itself as configured.  Only then does it
measure every link with its own packets; delays are compared with round trips measured before the fault.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nemesis.core import grudges
from nemesis.core.errors import FaultError, SkippedError
from nemesis.core.fault import Context, Family, Targets, Witness, as_recorded
from nemesis.core.firewall import Iptables
from nemesis.core.ports import Command, run_each
from nemesis.faults.partitions import rules_of, see_rules_gone, system_packets

PROGRAM: Final = "/run/harness-queue.py"
PYTHON: Final = "python3"
PROBE_PORT: Final = 20999

_START: Final = """set -eu
ready=$1; shift
rm -f "$ready" "${ready%.ready}.done"
cat >"$0"
setsid python3 "$0" "$1" "$ready" "$2" "$3" "$4" "$5" "$6" >"$ready.log" 2>&1 </dev/null &
i=0
while [ ! -s "$ready" ]; do
  i=$((i + 1)); [ $i -lt 250 ] || { tail -n 3 "$ready.log" >&2; exit 1; }
  kill -0 $! 2>/dev/null || { tail -n 1 "$ready.log" >&2; exit 1; }
  sleep 0.02
done"""

#: Prints the helper's counts so far.
COUNTS: Final = """ready=$1; counts=${ready%.ready}.counts
rm -f "$counts"
kill -s USR1 "$(cat "$ready")" || exit
i=0
while [ ! -e "$counts" ]; do i=$((i + 1)); [ $i -lt 100 ] || exit 1; sleep 0.02; done
cat "$counts" """

#: Ends the helper and prints its counts, or ``{}`` if it had already ended.  Touches only a process that runs our
#: program.
_STOP: Final = """ready=$1
pid=$(cat "$ready" 2>/dev/null) || pid=
if [ -n "$pid" ] && tr '\\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF -- "$0"; then
  kill -s TERM "$pid"
  i=0
  while [ -e "/proc/$pid" ]; do
    i=$((i + 1)); [ $i -lt 150 ] || { kill -s KILL "$pid"; break; }
    sleep 0.02
  done
fi
cat "${ready%.ready}.done" 2>/dev/null || echo '{}'
rm -f "$ready" "${ready%.ready}.done" "${ready%.ready}.counts" "$ready.log" "$0"
exit 0"""

SWEEP: Final = f"""for c in $(grep -lsF -- {PROGRAM} /proc/[0-9]*/cmdline); do
  pid=${{c#/proc/}}; pid=${{pid%/cmdline}}
  # The shell that carries this out names the program as well.
  grep -qs '^Name:.python' "/proc/$pid/status" && kill -s TERM "$pid" || continue
  echo "ended helper pid $pid"
  i=0; while [ -e "/proc/$pid/exe" ] && [ $i -lt 100 ]; do i=$((i + 1)); sleep 0.02; done
  end "$pid"
done
rm -f /run/harness-queue[.-]*"""

_ROUND_TRIPS: Final = """
import socket, sys, time
for address in sys.argv[2:]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for _ in range(7):
        s = socket.socket(family); s.settimeout(3.0); began = time.monotonic()
        try:
            s.connect((address, int(sys.argv[1])))
        except ConnectionRefusedError:
            pass
        except OSError as error:
            print(address, "error", type(error).__name__); break
        print(address, round((time.monotonic() - began) * 1000, 2)); s.close()
"""

_RECEIVE: Final = """
import socket, sys, time
family = socket.AF_INET6 if ":" in sys.argv[3] else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM); s.bind(("", int(sys.argv[1]))); s.settimeout(2.0)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
seen, end = [], time.monotonic() + 6
try:
    while len(seen) < 2 * int(sys.argv[2]) and time.monotonic() < end:
        seen.append(int(s.recv(99))); s.settimeout(0.7)
except TimeoutError:
    pass
late = sum(1 for i in range(1, len(seen)) if seen[i] < max(seen[:i]))
print(len(seen), len(set(seen)), late)
"""

_SEND: Final = """
import socket, sys, time
family = socket.AF_INET6 if ":" in sys.argv[3] else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM); time.sleep(0.5)
for i in range(int(sys.argv[2])):
    try:
        s.sendto(b"%d" % i, (sys.argv[3], int(sys.argv[1])))
    except ConnectionError:
        pass
    time.sleep(0.001)
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """The parameters of the helper; ``number`` is the number of its queue, a different one for each fault."""

    number: int
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    reorder: float = 0.0
    duplicate: float = 0.0

    @property
    def ready(self) -> str:
        return f"/run/harness-queue-{self.number}.ready"

    def start(self, seed: int) -> Command:
        figures = (self.delay_ms, self.jitter_ms, self.reorder, self.duplicate)
        arguments = (self.ready, str(self.number), *(f"{figure:g}" for figure in figures), str(seed))
        source = Path(__file__).with_name("queue_helper.py").read_text()
        return Command(("sh", "-c", _START, PROGRAM, *arguments), stdin=source, timeout=15.0)

    def counts(self) -> Command:
        return Command(("sh", "-c", COUNTS, PROGRAM, self.ready))

    def stop(self) -> Command:
        return Command(("sh", "-c", _STOP, PROGRAM, self.ready))


class QueuedPackets:
    """Delay, reorder or duplicate packets that the smaller of two random halves receives from the larger one."""

    family: Family = "packet"
    stops = False
    beyond_quorum = False
    queues = True

    def __init__(
        self,
        name: str,
        summary: str,
        shape: Callable[[Context], Shape],
        proof: Callable[[Context, Targets, Shape], Witness],
        counted: str = "seen",
    ) -> None:
        self.name = name
        self.summary = summary
        self.shape = shape
        self.proof = proof
        self.counted = counted
        self.wall = Iptables("mangle")

    def precheck(self, ctx: Context) -> str | None:
        if len(ctx.members) < 2:
            return f"needs at least 2 nodes with data, this cluster has {len(ctx.members)}"
        return ctx.facts.refusal("can:nfqueue", PYTHON)

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        if ctx.wanted and ctx.wanted.grudge:
            grudge = dict(ctx.wanted.grudge)
        else:
            few, many = grudges.halves_of(ctx.members, rng)
            if ctx.wanted:
                few, many = list(ctx.wanted.nodes), [name for name in ctx.nodes.names if name not in ctx.wanted.nodes]
            shaped = grudges.one_way([*few, *many], few, many)
            grudge = grudges.to_mapping(shaped if ctx.wanted else grudges.joined(shaped, ctx.others, rng))
        if not grudge:
            raise SkippedError("no link would be shaped")
        shape = self.shape(ctx)
        figures = {"delay_ms": shape.delay_ms, "jitter_ms": shape.jitter_ms}
        shares = {"reorder": shape.reorder, "duplicate": shape.duplicate}
        seed = as_recorded(ctx, "seed", rng.randrange(2**31))
        before = {"round_trip_ms_before": round_trips(ctx, grudge)}
        return Targets(tuple(grudge), grudge, {**figures, **shares, **before, "seed": seed})

    def inject(self, ctx: Context, targets: Targets) -> None:
        shape = self.shape(ctx)
        ctx.run_checked({node: shape.start(targets.detail["seed"] + place) for place, node in enumerate(targets.nodes)})
        ctx.run_checked(
            {
                node: self.wall.install(self.name, rules_of(ctx, peers, "queue", shape.number))
                for node, peers in targets.grudge.items()
            }
        )

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        felt = system_packets(ctx, self.wall, self.name, targets.nodes)
        treated = self._treated(ctx, targets)
        return {**felt, **treated, **self.proof(ctx, targets, self.shape(ctx))}

    def _treated(self, ctx: Context, targets: Targets) -> Witness:
        """Wait until the helpers have treated packets, and return the counts.

        They are all the system's packets, because the harness has sent none yet.  Raises FaultError if there are none.
        """
        asks = dict.fromkeys(targets.nodes, self.shape(ctx).counts())

        def look() -> Witness | None:
            answers = ctx.run_checked(asks)
            counts = {node: json.loads(answer.stdout)[self.counted] for node, answer in answers.items()}
            return {f"helper_{self.counted}": counts} if any(counts.values()) else None

        if (treated := ctx.until(look, ctx.settings.witness_s, every_s=0.1)) is None:
            within = f"within {ctx.settings.witness_s:g} s"
            raise FaultError(f"none of the system's packets was affected ({self.counted}) {within}")
        return treated

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        """Remove the rules first, so that the helper only has to release the packets it holds; then end the helper."""
        shape, nodes = self.shape(ctx), targets.nodes
        listings, _ = run_each(ctx.nodes, {node: self.wall.counters(self.name) for node in nodes})
        try:
            removed = ctx.nodes.run({node: self.wall.remove(self.name) for node in nodes})
        finally:
            stopped = ctx.run_checked({node: shape.stop() for node in nodes})
        see_rules_gone(ctx, self.wall, self.name, removed)
        outputs = {node: answer.stdout.strip() for node, answer in stopped.items()}
        ruled = [node for node, answer in listings.items() if self.wall.packets(answer.stdout)]
        dead = [node for node in ruled if outputs[node] == "{}"]  # a repeated heal finds neither rules nor a helper
        why = f"the helper on {', '.join(dead)} had exited by itself: packets passed as usual"
        lapsed = {"lapsed": why} if dead else {}
        return {"rules_gone": list(nodes), "helpers": outputs, **lapsed}


def round_trips(ctx: Context, grudge: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
    """Measure median round trips from each node to its peers by connecting, in ms; 0 if there was no answer.

    Raises like ``nodes.run``.
    """
    tries = {
        node: Command(
            (PYTHON, "-c", _ROUND_TRIPS, str(ctx.settings.peer_ports[0]), *(ctx.facts.addresses[p][0] for p in peers)),
            timeout=40.0,
        )
        for node, peers in grudge.items()
    }
    trips: dict[str, float] = {}
    for node, answer in ctx.nodes.run(tries).items():
        for peer in grudge[node]:
            lines = (line.split() for line in answer.stdout.splitlines())
            times = [float(words[1]) for words in lines if words[0] == ctx.facts.addresses[peer][0] and len(words) == 2]
            trips[f"{node}<-{peer}"] = statistics.median(times) if times else 0.0
    return trips


def delayed(ctx: Context, targets: Targets, shape: Shape) -> Witness:
    """Prove that round trips became longer by about the delay.  Raises FaultError for a link where they did not."""
    before: Mapping[str, float] = targets.detail["round_trip_ms_before"]
    trips = round_trips(ctx, targets.grudge)
    # If the jitter is as large as the delay, some round trips are no longer than before, but their median is.
    least = 0.9 * max(shape.delay_ms - shape.jitter_ms, shape.delay_ms / 4)
    added = {link: round(trip - before.get(link, 0.0), 2) for link, trip in trips.items()}
    if quick := {link: more for link, more in added.items() if more < least}:
        raise FaultError(f"round trips did not become {least:g} ms longer: {quick}")
    return {"asked_ms": shape.delay_ms, "round_trip_ms": trips, "round_trip_ms_before": dict(before)}


def _numbered(ctx: Context, grudge: Mapping[str, tuple[str, ...]], count: int) -> dict[str, tuple[int, int, int]]:
    """Send numbered datagrams over one link of each shaping node; count those received, distinct ones, and late ones.

    Uses one link at a time, because a node can run only one command at a time.
    """
    counts = {}
    for node, peers in grudge.items():
        address = ctx.facts.addresses[node][0]
        arguments = (str(PROBE_PORT), str(count), address)
        both = {
            node: Command((PYTHON, "-c", _RECEIVE, *arguments), timeout=15.0),
            peers[0]: Command((PYTHON, "-c", _SEND, *arguments), timeout=15.0),
        }
        words = ctx.nodes.run(both)[node].stdout.split()
        if len(words) == 3:
            came, different, late = map(int, words)
            counts[f"{node}<-{peers[0]}"] = came, different, late
    return counts


def reordered(ctx: Context, targets: Targets, shape: Shape) -> Witness:
    """Prove that packets come out of order over each node's link.  Raises FaultError for a link where none does."""
    links = _numbered(ctx, targets.grudge, 300)
    late = {link: late for link, (_, _, late) in links.items()}
    if len(links) < len(targets.grudge) or not all(late.values()):
        raise FaultError(f"nothing was reordered on some link: {late}")
    return {"asked": shape.reorder, "sent": 300, "came_late": late}


def doubled(ctx: Context, targets: Targets, shape: Shape) -> Witness:
    """Prove that packets come twice over each node's link.  Raises FaultError for a link where none does."""
    links = _numbered(ctx, targets.grudge, 300)
    twice = {link: came - different for link, (came, different, _) in links.items()}
    if len(links) < len(targets.grudge) or not all(twice.values()):
        raise FaultError(f"nothing was duplicated on some link: {twice}")
    return {"asked": shape.duplicate, "sent": 300, "came_twice": twice}


def _delay(ctx: Context) -> Shape:
    return Shape(60, ctx.settings.option("delay_ms"), ctx.settings.option("jitter_ms"))


def _reorder(ctx: Context) -> Shape:
    return Shape(61, ctx.settings.option("reorder_delay_ms"), 5, reorder=ctx.settings.option("reorder"))


def _duplicate(ctx: Context) -> Shape:
    return Shape(62, duplicate=ctx.settings.option("duplicate"))


DELAY: tuple[QueuedPackets, ...] = (
    QueuedPackets("packet-delay", "packets between two halves are delayed by 50 ± 10 ms", _delay, delayed),
    QueuedPackets(
        "packet-reorder",
        "a share of the packets between two halves overtakes the others",
        _reorder,
        reordered,
        "overtook",
    ),
    QueuedPackets(
        "packet-duplicate", "a share of the packets between two halves arrives twice", _duplicate, doubled, "doubled"
    ),
)
