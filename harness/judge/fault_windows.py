"""The windows in which each fault was certainly in effect, and whether a quorum could answer in them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from harness.judge.recorded import Recorded
from history import Probe, Receipt
from history.metrics.awake_clock import AwakeClock
from history.records.finding import Exempt
from history.records.probes import leader_now
from nemesis.core.errors import UnknownFaultError
from nemesis.faults.registry import find, one_at_a_time

#: A fault that is in effect for this long (s) is also judged by thirds.
THIRDS_S: Final = 3.0
#: A node's claim that it leads counts for this long (s).
FRESH_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Third:
    """One third of the time in which a fault was in effect (ns), and its length without standstills (s).

    ``quorum_s`` is how much of it had a quorum, and ``ready_s`` how much of that the system can be expected to serve.
    That begins when clients have had time to notice the last start or end of a fault, and the last change of leader
    that probes show. If probes show no leader, they get twice that time, because one election may fail: even a good
    system may serve nobody until then, which does not make the run worthless.
    """

    begin: int
    end: int
    seconds: float
    quorum_s: float
    ready_s: float


@dataclass(frozen=True, slots=True)
class Window:
    """The time from a fault's last command to the start of its healing, in the main phase (ns since the run's start).

    A fault that passes by itself, such as a rolling restart, lasts from its first command to its last.

    ``exempt`` says why no operation has to succeed in the window (empty if some must), and ``exempt_s`` which time was
    too short for that.  ``answerable_s`` is the longest
    uninterrupted time, in seconds, for which a quorum was left.  ``together``: the window is too short to be judged
    alone.  Such windows count jointly if they add up to enough time, or if nothing else can be required. ``thirds`` is
    empty for a short fault.
    """

    id: int
    fault: str
    begin: int
    end: int
    exempt: Exempt = ""
    exempt_s: float = 0.0
    answerable_s: float = 0.0
    together: bool = False
    thirds: tuple[Third, ...] = ()

    @property
    def asked(self) -> bool:
        return not self.exempt


def windows_of(recorded: Recorded) -> list[Window]:
    """Return the windows of all installed faults that were in effect at some time in the main phase."""
    moments = recorded.state.moments
    first = moments.get("main", 0)
    last = moments.get("main-end", recorded.operations.end if len(recorded.operations) else first)
    clock = recorded.clock
    notices = recorded.plan.under_test.surface(recorded.plan.setup()).notices_s
    stretches = _stretches(recorded, first, last, notices)
    lasting = []
    for receipt in recorded.receipts:
        if receipt.state != "installed" or receipt.stood is None:
            continue
        begin = max(first, receipt.stood)
        end = min((last, *_ends(receipt)))
        if end >= begin:
            parts, stood = _within(stretches, begin, end), (clock.at(end) - clock.at(begin)) / 1e9
            answerable = _answerable_s(parts, clock)
            exempt, exempt_s = _exempt(answerable, stood, notices)
            thirds = _thirds(parts, begin, end, clock) if stood >= THIRDS_S else ()
            lasting.append(Window(receipt.id, receipt.fault, begin, end, exempt, exempt_s, answerable, thirds=thirds))
    short = [window for window in lasting if window.exempt and window.answerable_s]
    if sum(window.answerable_s for window in short) >= notices or not any(window.asked for window in lasting):
        return [replace(window, exempt="", together=True) if window in short else window for window in lasting]
    return lasting


def _ends(receipt: Receipt) -> tuple[int, ...]:
    """Return the times (ns) whose earliest ends a fault: when its healing begins, or when it has passed by itself."""
    lasted_ms = receipt.witness.get("lasted_ms")
    passed = () if lasted_ms is None else (receipt.started + round(lasted_ms * 1e6),)
    return passed if receipt.heal_started is None else (*passed, receipt.heal_started)


def _exempt(answerable: float, stood: float, notices: float) -> tuple[Exempt, float]:
    """Return the reason to require nothing of a window, or an empty string, and the time that was too short.

    All times are in seconds; clients notice a fault within ``notices``.
    """
    if not answerable:
        return "no quorum", 0.0
    if stood < notices:
        return "brief", stood
    return ("brief quorum", answerable) if answerable < notices else ("", 0.0)


class TimeSpan(NamedTuple):
    """A span in which no fault begins or ends: whether it had a quorum, and since when the system must serve."""

    low: int
    high: int
    answerable: bool
    ready: int


def _stretches(recorded: Recorded, first: int, last: int, notices: float) -> list[TimeSpan]:
    """Cut a stretch of time wherever a fault begins or ends.

    Faults that each overlap a third one need not overlap each other.
    """
    edges = (edge for receipt in recorded.receipts for edge in (receipt.started, receipt.healed) if edge is not None)
    clock, notice, spans = recorded.clock, round(1e9 * notices), []
    probes = sorted(recorded.probes, key=lambda probe: probe.time)
    for low, high in pairwise(sorted({first, last, *(edge for edge in edges if first < edge < last)})):
        able = with_quorum(recorded.members, _standing(recorded, low, high))
        led = led_since(probes, recorded.members, able, low, high)
        ready = clock.at(low) + 2 * notice
        if led is not None:
            ready = min(ready, clock.at(led) + notice)
        spans.append(TimeSpan(low, high, bool(able), ready))
    return spans


def led_since(
    probes: Sequence[Probe], members: Sequence[str], able: Collection[str], low: int, high: int
) -> int | None:
    """Return the time since which one of the ``able`` nodes led until the end of a span, as probes show, or None.

    ``probes`` are in order.  A claim counts for :data:`FRESH_S`.
    """
    fresh = round(1e9 * FRESH_S)
    claims: dict[str, Probe] = {}
    since, leader = None, None
    begin = bisect_left(probes, low - fresh, key=lambda probe: probe.time)
    end = bisect_right(probes, high, key=lambda probe: probe.time)
    for probe in probes[begin:end]:
        claims.pop(probe.node, None)
        if probe.answered:
            claims[probe.node] = probe
        recent = {node: claim for node, claim in claims.items() if claim.time >= probe.time - fresh}
        name = leader_now(recent, members)
        now = (name, claims[name].term) if name in able and name in claims else None
        if now is None or now != leader:
            since = None if now is None else max(low, probe.time)
        leader = now
    return since if leader is not None and claims[leader[0]].time >= high - fresh else None


def _within(stretches: Sequence[TimeSpan], begin: int, end: int) -> list[TimeSpan]:
    """Return the parts of the stretches that are in a window."""
    clipped = (span._replace(low=max(span.low, begin), high=min(span.high, end)) for span in stretches)
    return [part for part in clipped if part.low < part.high]


def _answerable_s(parts: Sequence[TimeSpan], clock: AwakeClock) -> float:
    """Return the longest uninterrupted time (s) in a window for which a quorum was left."""
    longest = lasted = 0.0
    for low, high, answerable, _ in parts:
        lasted = lasted + (clock.at(high) - clock.at(low)) / 1e9 if answerable else 0.0
        longest = max(longest, lasted)
    return longest


def _thirds(parts: Sequence[TimeSpan], begin: int, end: int, clock: AwakeClock) -> tuple[Third, ...]:
    able = [part for part in parts if part.answerable]
    quorum = [(clock.at(part.low), clock.at(part.high)) for part in able]
    ready = [(max(clock.at(part.low), part.ready), clock.at(part.high)) for part in able]
    edges = [begin + (end - begin) * number // 3 for number in range(4)]

    def third(low: int, high: int) -> Third:
        since, until = clock.at(low), clock.at(high)

        def shared(spans: Sequence[tuple[int, int]]) -> float:
            return sum(max(0, min(until, stop) - max(since, start)) for start, stop in spans) / 1e9

        return Third(low, high, (until - since) / 1e9, shared(quorum), shared(ready))

    return tuple(third(low, high) for low, high in pairwise(edges))


def _standing(recorded: Recorded, low: int, high: int) -> list[Receipt]:
    """Return the faults that may have been in effect at some time between two times."""
    return [
        receipt
        for receipt in recorded.receipts
        if receipt.state != "skipped" and receipt.started < high and (receipt.healed is None or receipt.healed > low)
    ]


def with_quorum(members: Sequence[str], receipts: Iterable[Receipt]) -> set[str]:
    """Return the members that were up under these faults and could exchange packets with a majority of members."""
    standing = list(receipts)
    # If a fault also killed a successor, only its witness names it.
    down = {
        node
        for receipt in standing
        if stops(receipt.fault)
        for node in (*receipt.nodes, *receipt.witness.get("pids_gone", ()))
    }
    drops = defaultdict[str, set[str]](set)
    for receipt in standing:
        for node, peers in receipt.targets.get("grudge", {}).items():
            drops[node].update(map(str, peers))
    up = [node for node in members if node not in down]

    def exchange(node: str, other: str) -> bool:
        return other not in drops[node] and node not in drops[other]

    def reached(node: str) -> int:
        return 1 + sum(exchange(node, other) for other in up if other != node)

    return {node for node in up if reached(node) > len(members) // 2}


@cache
def stops(fault: str) -> bool:
    """Return whether a fault keeps all of its nodes from serving while it is in effect; False for an unknown fault."""
    try:
        return find(fault).stops and not one_at_a_time(fault)
    except UnknownFaultError:
        return False
