"""Windows in which each fault stood for certain, and whether it left a quorum able to answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from harness.judge.recorded import Recorded
from history import Receipt
from history.metrics.awake_clock import AwakeClock
from nemesis.core.errors import UnknownFaultError
from nemesis.faults.registry import find, one_at_a_time

#: A fault that stands for this long (s) is looked at by thirds.
THIRDS_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class Third:
    """A third of the time (ns) that a fault stood, and its length without standstills (s).

    ``ready_s``: how long of it the system can be asked to serve.  That is where a quorum was left, and where twice the
    time in which clients notice a fault had gone by since this or another one began or ended.  Twice, because an
    election may fail once: a good system may serve nobody until then, and that makes no run worthless.
    """

    begin: int
    end: int
    seconds: float
    ready_s: float


@dataclass(frozen=True, slots=True)
class Window:
    """The time from a fault's last command to the begin of its healing, in the main phase (ns since the run's start).

    A fault that passes, as a rolling restart does, stands from its first command to its last.

    ``exempt`` is the reason why no operation needs to have ended; empty where some must.  ``answerable_s`` are the most
    seconds on end for which a quorum was left.  ``together``: it was too short by itself, and counts with others that
    were, if there are enough of them or nothing else is asked.  ``thirds``: none of a short fault.
    """

    id: int
    fault: str
    begin: int
    end: int
    exempt: str = ""
    answerable_s: float = 0.0
    together: bool = False
    thirds: tuple[Third, ...] = ()

    @property
    def asked(self) -> bool:
        return not self.exempt

    def describe(self) -> str:
        """Text such as "#3 kill-leader (stood 20.0 to 30.0 s)"."""
        return f"#{self.id} {self.fault} (stood {self.begin / 1e9:.1f} to {self.end / 1e9:.1f} s)"


def windows_of(recorded: Recorded) -> list[Window]:
    """The windows of all installed faults that stood at some time of the main phase."""
    moments = recorded.state.moments
    first = moments.get("main", 0)
    last = moments.get("main-end", max((op.ended for op in recorded.operations), default=first))
    clock = recorded.clock
    stretches = _stretches(recorded, first, last)
    notices = recorded.plan.under_test.surface(recorded.plan.setup()).notices_s
    found = []
    for receipt in recorded.receipts:
        if receipt.state != "installed" or receipt.stood is None:
            continue
        begin = max(first, receipt.stood)
        end = min((last, *_ends(receipt)))
        if end >= begin:
            parts, stood = _within(stretches, begin, end), (clock.at(end) - clock.at(begin)) / 1e9
            answerable = _answerable_s(parts, clock)
            exempt = _exempt(answerable, stood, notices)
            thirds = _thirds(parts, begin, end, clock, notices) if stood >= THIRDS_S else ()
            found.append(Window(receipt.id, receipt.fault, begin, end, exempt, answerable, thirds=thirds))
    short = [window for window in found if window.exempt and window.answerable_s]
    if sum(window.answerable_s for window in short) >= notices or not any(window.asked for window in found):
        return [replace(one, exempt="", together=True) if one in short else one for one in found]
    return found


def _ends(receipt: Receipt) -> tuple[int, ...]:
    """The times (ns) of which the first ends a fault: its healing begins, or it has passed."""
    lasted_ms = receipt.witness.get("lasted_ms")
    passed = () if lasted_ms is None else (receipt.started + round(lasted_ms * 1e6),)
    return passed if receipt.heal_started is None else (*passed, receipt.heal_started)


def _exempt(answerable: float, stood: float, notices: float) -> str:
    """The reason to ask nothing of a window; clients notice a fault within ``notices``, all in seconds."""
    if not answerable:
        return "no quorum could have answered"
    if stood < notices:
        # Two digits: the ends are shown with one, and a length rounded on its own would contradict them.
        return f"stood for only {stood:.2f} s of the load"
    return f"a quorum could have answered for only {answerable:.1f} s of it" if answerable < notices else ""


class Stretch(NamedTuple):
    """A time in which no fault begins or ends, and whether a quorum was left in it."""

    low: int
    high: int
    answerable: bool


def _stretches(recorded: Recorded, first: int, last: int) -> list[Stretch]:
    """Cut a time where a fault begins or ends: faults that overlap another need not overlap each other."""
    edges = (edge for one in recorded.receipts for edge in (one.started, one.healed) if edge is not None)
    return [
        Stretch(low, high, quorum_left(recorded.members, _standing(recorded, low, high)))
        for low, high in pairwise(sorted({first, last, *(edge for edge in edges if first < edge < last)}))
    ]


def _within(stretches: Sequence[Stretch], begin: int, end: int) -> list[Stretch]:
    """The parts of stretches that a window holds."""
    clipped = (Stretch(max(low, begin), min(high, end), answerable) for low, high, answerable in stretches)
    return [part for part in clipped if part.low < part.high]


def _answerable_s(parts: Sequence[Stretch], clock: AwakeClock) -> float:
    """Seconds without an interruption for which a quorum was left: the longest such part of a window."""
    longest = lasted = 0.0
    for low, high, answerable in parts:
        lasted = lasted + (clock.at(high) - clock.at(low)) / 1e9 if answerable else 0.0
        longest = max(longest, lasted)
    return longest


def _thirds(parts: Sequence[Stretch], begin: int, end: int, clock: AwakeClock, notices: float) -> tuple[Third, ...]:
    notice = round(2e9 * notices)
    ready = [(clock.at(low) + notice, clock.at(high)) for low, high, answerable in parts if answerable]
    edges = [begin + (end - begin) * number // 3 for number in range(4)]

    def third(low: int, high: int) -> Third:
        since, until = clock.at(low), clock.at(high)
        able = sum(max(0, min(until, stop) - max(since, start)) for start, stop in ready)
        return Third(low, high, (until - since) / 1e9, able / 1e9)

    return tuple(third(low, high) for low, high in pairwise(edges))


def _standing(recorded: Recorded, low: int, high: int) -> list[Receipt]:
    """The faults that may have stood at some time between two moments."""
    return [
        one
        for one in recorded.receipts
        if one.state != "skipped" and one.started < high and (one.healed is None or one.healed > low)
    ]


def quorum_left(members: Sequence[str], receipts: Iterable[Receipt]) -> bool:
    """Whether, under all of these, some member was up and could exchange packets with a majority of them."""
    standing = list(receipts)
    # A successor that was killed is known by its witness alone.
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

    def exchange(one: str, other: str) -> bool:
        return other not in drops[one] and one not in drops[other]

    reached = (1 + sum(exchange(node, other) for other in up if other != node) for node in up)
    return max(reached, default=0) > len(members) // 2


@cache
def stops(fault: str) -> bool:
    """Whether its nodes do not serve while it stands; False for a fault unknown to this release."""
    try:
        return find(fault).stops and not one_at_a_time(fault)
    except UnknownFaultError:
        return False
