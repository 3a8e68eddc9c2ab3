"""The run's clock without the times in which the harness itself was stalled.

While the harness or its machine is stopped, it observes nothing and sends no requests.  So the judge's deadlines,
rates, gaps and recovery times count awake time only: recorded standstills are removed from the clock.  A period without
probes that is not recorded as a standstill is also the harness's fault.  What happened then is unknown, so a check that
depends on it is unknown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from history.records.probes import Probe
from history.records.receipts import Receipt

if TYPE_CHECKING:
    from history.columns.operations import Operations

#: Nodes are probed four times a second, and a probe ends within a second whatever the node does.
GAP_NS: Final = 5_000_000_000

Span = tuple[int, int]


class AwakeClock:
    """Converts times of the run (ns since its start) to awake time, which excludes the harness's standstills."""

    def __init__(self, standstills: Iterable[Span] = ()) -> None:
        self.spans = merged(standstills)
        self._begins = [begin for begin, _ in self.spans]
        self._before = [0]
        for begin, end in self.spans:
            self._before.append(self._before[-1] + end - begin)

    @classmethod
    def recorded(cls, state: Mapping[str, Any]) -> AwakeClock:
        """Make the clock of a run from its ``run.json``; ignore malformed standstills."""
        raw = state.get("standstills")
        pairs = [span for span in raw if isinstance(span, list | tuple)] if isinstance(raw, list) else []
        spans = [tuple(span) for span in pairs if len(span) == 2 and all(type(moment) is int for moment in span)]
        return cls((max(begin, 0), end) for begin, end in spans)

    def at(self, moment: int) -> int:
        """Return the awake time at a given time. It never decreases and is constant during a standstill."""
        number = bisect_right(self._begins, moment)
        slept = self._before[number]
        if number:
            slept -= max(0, self.spans[number - 1][1] - moment)
        return moment - slept

    def times(self, moments: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the awake time for each time in an array, like :meth:`at`."""
        if not self.spans:
            return moments
        number = np.searchsorted(self._begins, moments, side="right")
        ends = np.array([self._begins[0], *(end for _, end in self.spans)])[number]
        inside = np.where(number > 0, np.maximum(ends - moments, 0), 0)
        awake: npt.NDArray[np.int64] = moments - np.array(self._before)[number] + inside
        return awake

    def maybe(self, moment: int | None) -> int | None:
        return None if moment is None else self.at(moment)

    def back(self, awake: int) -> int:
        """Return the time of the run at an awake time, the inverse of :meth:`at`; for a standstill, its end."""
        slept = 0
        for (begin, end), before in zip(self.spans, self._before, strict=False):
            if begin - before > awake:
                break
            slept = before + end - begin
        return awake + slept

    def maybe_back(self, awake: int | None) -> int | None:
        return None if awake is None else self.back(awake)

    def slept(self, begin: int, end: int) -> int:
        """Return how long the harness was stalled between two times, in nanoseconds."""
        return (end - begin) - (self.at(end) - self.at(begin))

    def probes(self, probes: Sequence[Probe]) -> Sequence[Probe]:
        """Return the probes with their times on this clock."""
        return [replace(probe, time=self.at(probe.time)) for probe in probes] if self.spans else probes

    def operations(self, operations: Operations) -> Operations:
        """Return the operations with their times on this clock."""
        if not self.spans:
            return operations
        returned = np.where(operations.returned < 0, operations.returned, self.times(operations.returned))
        return replace(operations, invoked=self.times(operations.invoked), returned=returned)

    def receipts(self, receipts: Sequence[Receipt]) -> Sequence[Receipt]:
        """Return the receipts with their times on this clock."""
        if not self.spans:
            return receipts
        return [
            replace(
                receipt, started=self.at(receipt.started), stood=self.maybe(receipt.stood),
                heal_started=self.maybe(receipt.heal_started), healed=self.maybe(receipt.healed),
            )
            for receipt in receipts
        ]  # fmt: skip


def merged(spans: Iterable[Span]) -> list[Span]:
    """Sort spans and merge those that overlap or touch, dropping empty ones."""
    joined: list[Span] = []
    for begin, end in sorted((begin, end) for begin, end in spans if end > begin):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((begin, end))
    return joined


def gaps(moments: Iterable[int], begin: int, end: int) -> list[Span]:
    """Return the parts of ``begin`` to ``end`` without any of these moments that are longer than :data:`GAP_NS`.

    ``moments`` are the times of all probes, including failed ones, on the clock of an :class:`AwakeClock`.
    """
    times = sorted({begin, end, *(moment for moment in moments if begin <= moment <= end)})
    return [(before, after) for before, after in pairwise(times) if after - before > GAP_NS]
