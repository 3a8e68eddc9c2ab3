"""Which nodes caught up after each fault, held against what was committed, and where each log ends.

The judge measures until when a node had *applied* what the leader held to be committed at the heal.  A leader that
lacks committed entries asks for less than that, and a node may have applied what its log does not hold any more: the
page calls neither caught up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from history import SECOND, Receipt
from reports.analysis.node_timeline import SILENT, NodeTimeline, logs
from reports.load.run import Run
from reports.style.format import milliseconds

BEHIND: Final = "behind"
NOT_ASKED: Final = "not asked"
LOG_CUT: Final = "log cut"
AGE_S: Final = 2.0
"""Seconds: a leader's answer may be so old at the heal, so what nodes committed within them it need not have known."""


@dataclass(frozen=True, slots=True)
class CatchingUp:
    """What the nodes reached between the heal of a fault and the next fault, or the end of the run.

    ``target`` is the leader's commit index at the heal, and ``committed`` what some node had reported before, if more.
    ``nodes`` says of each node in how many ms it passed the target, or why that is not to be said.
    ``short`` are those that passed a leader's target only, ``late`` all others that did not catch up.
    """

    fault: int
    target: str
    committed: str | None
    last: bool
    nodes: Mapping[str, str]
    late: tuple[str, ...]
    cut: tuple[str, ...]
    short: tuple[str, ...]

    def sentence(self) -> str:
        """Write "not caught up by the end: n1 n2, n5 (its log was cut)"; empty where all did."""
        named = [" ".join(self.late)] if self.late else []
        named += [f"{node} (its log was cut)" for node in self.cut]
        named += [f"{' '.join(self.short)} (at {self.target} of {self.committed})"] if self.short else []
        return f"not caught up {'by the end' if self.last else 'before the next'}: {', '.join(named)}" if named else ""


def catching_up(run: Run, timelines: Sequence[NodeTimeline]) -> dict[int, CatchingUp]:
    """Map the ids of the faults of which the results hold a target to what the nodes reached after them."""
    found = {}
    receipts = {receipt.id: receipt for receipt in run.receipts}
    last = max((one["id"] for one in run.results.get("windows", ()) if isinstance(one.get("id"), int)), default=None)
    for window in run.results.get("windows", ()):
        record, fault = window.get("caught_up"), window.get("id")
        took = record.get("nodes") if isinstance(record, Mapping) else None
        if isinstance(fault, int) and isinstance(record, Mapping) and isinstance(took, Mapping) and took:
            reached = _Reached(run, timelines, receipts.get(fault), record.get("target"))
            found[fault] = _judged(fault, took, reached, last=fault == last)
    return found


def late_of(run: Run, timelines: Sequence[NodeTimeline]) -> dict[int, str]:
    """Map a fault's id to the nodes that had not caught up when the next fault came, or until the end of the run."""
    return {fault: text for fault, one in catching_up(run, timelines).items() if (text := one.sentence())}


class _Reached:
    """What the probes show of the time from a heal until the next fault."""

    def __init__(self, run: Run, timelines: Sequence[NodeTimeline], receipt: Receipt | None, target: object) -> None:
        self._by_node = {timeline.node: timeline for timeline in timelines}
        self.write = run.index
        self.target = target if isinstance(target, int) else -1
        self._from = receipt.healed / SECOND if receipt and receipt.healed is not None else None
        later = [one.started / SECOND for one in run.receipts if one.state != "skipped"]
        self._until = min((at for at in later if self._from is not None and at >= self._from), default=float("inf"))
        heard = [one.committed[(one.time <= (self._from or 0.0) - AGE_S) & (one.role != SILENT)] for one in timelines]
        self.committed = max([self.target, *(int(mine.max(initial=-1)) for mine in heard)])

    def asked(self, node: str) -> bool:
        """Whether a node was probed at all in this time; where nothing was recorded of it, it counts as asked."""
        timeline = self._by_node.get(node)
        return timeline is None or self._from is None or bool(self._rows(timeline).any())

    def cut(self, node: str) -> bool:
        """Whether a node's log ended before the target in its last answer of this time."""
        timeline = self._by_node.get(node)
        if timeline is None or self._from is None or not logs(timeline):
            return False
        answers = np.flatnonzero(self._rows(timeline) & (timeline.role != SILENT))
        return bool(len(answers)) and int(timeline.log_end[answers[-1]]) < self.target

    def short(self, node: str) -> bool:
        """Whether a node did not apply in this time all that any node had said to be committed."""
        timeline = self._by_node.get(node)
        if timeline is None or self._from is None or self.committed <= self.target:
            return False
        return int(timeline.applied[self._rows(timeline)].max(initial=-1)) < self.committed

    def _rows(self, timeline: NodeTimeline) -> np.ndarray:
        assert self._from is not None
        rows: np.ndarray = (timeline.time >= self._from) & (timeline.time < self._until)
        return rows


def _judged(fault: int, took: Mapping[str, float | None], reached: _Reached, *, last: bool) -> CatchingUp:
    passed = [node for node, ms in took.items() if ms is not None]
    cut = [node for node in passed if reached.cut(node)]
    short = [node for node in passed if node not in cut and reached.short(node)]
    late = [node for node, ms in took.items() if ms is None and reached.asked(node)]

    def cell(node: str, ms: float | None) -> str:
        if ms is None:
            return BEHIND if node in late else NOT_ASKED
        return LOG_CUT if node in cut else BEHIND if node in short else milliseconds(ms)

    target = reached.write(reached.target)
    committed = reached.write(reached.committed) if reached.committed > reached.target else None
    cells = {str(node): cell(node, ms) for node, ms in took.items()}
    return CatchingUp(fault, target, committed, last, cells, tuple(late), tuple(cut), tuple(short))
