"""Windows in which each fault stood for certain, and whether it left a quorum able to answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from harness.judge.awake import AwakeClock
from harness.judge.recorded import Recorded
from history import Receipt
from nemesis.core.errors import UnknownFaultError
from nemesis.faults.registry import find

#: Stop all their nodes, but one after another.
ONE_BY_ONE: Final = ("restart-rolling", "rolling-kill")


@dataclass(frozen=True, slots=True)
class Window:
    """From the fault's last command to the begin of its healing, cut to the main phase (ns since the run's start).

    ``exempt`` is the reason why no operation needs to have ended; empty where some must.
    """

    id: int
    fault: str
    begin: int
    end: int
    exempt: str = ""

    @property
    def asked(self) -> bool:
        return not self.exempt

    def describe(self) -> str:
        """Text such as "#3 kill-leader (20.0 to 30.0 s)"."""
        return f"#{self.id} {self.fault} ({self.begin / 1e9:.1f} to {self.end / 1e9:.1f} s)"


def windows_of(recorded: Recorded) -> list[Window]:
    """The windows of all installed faults that stood at some time of the main phase."""
    moments = recorded.state.moments
    first = moments.get("main", 0)
    last = moments.get("main-end", max((op.returned or op.invoked for op in recorded.operations), default=first))
    clock = AwakeClock(recorded.state.standstills)
    found = []
    for receipt in recorded.receipts:
        if receipt.state != "installed" or receipt.stood is None:
            continue
        begin = max(first, receipt.stood)
        end = last if receipt.heal_started is None else min(last, receipt.heal_started)
        if end >= begin:
            why = _exempt(receipt, recorded, (clock.at(end) - clock.at(begin)) / 1e9)
            found.append(Window(receipt.id, receipt.fault, begin, end, why))
    return found


def _exempt(receipt: Receipt, recorded: Recorded, seconds: float) -> str:
    beside = [other for other in recorded.receipts if _overlap(receipt, other)]
    if not quorum_left(recorded.members, beside):
        return "no quorum could have answered"
    if seconds < recorded.plan.under_test.surface(recorded.plan.setup()).notices_s:
        return f"stood for only {seconds:.1f} s of the load"
    return ""


def _overlap(receipt: Receipt, other: Receipt) -> bool:
    def over(one: Receipt) -> float:
        return float("inf") if one.healed is None else one.healed

    return other.state != "skipped" and other.started <= over(receipt) and over(other) >= receipt.started


def quorum_left(members: Sequence[str], receipts: Iterable[Receipt]) -> bool:
    """Whether, under all of these, some member was up and could exchange packets with a majority of them."""
    standing = list(receipts)
    down = {node for receipt in standing if _stops(receipt.fault) for node in receipt.nodes}
    cut = {
        frozenset((node, str(peer)))
        for receipt in standing
        for node, peers in receipt.targets.get("grudge", {}).items()
        for peer in peers
    }
    up = [node for node in members if node not in down]
    reached = (1 + sum(frozenset((node, other)) not in cut for other in up if other != node) for node in up)
    return max(reached, default=0) > len(members) // 2


def _stops(fault: str) -> bool:
    """Whether its nodes do not serve while it stands; False for a fault unknown to this release."""
    try:
        return find(fault).stops and fault not in ONE_BY_ONE
    except UnknownFaultError:
        return False
