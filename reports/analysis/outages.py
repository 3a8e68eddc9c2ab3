"""Outages: times without a successful operation of a kind, in the whole run, across phases and faults.

An operation that a node acknowledged but did not apply is not a success, because it says nothing about the cluster's
health.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from history.columns.operations import NONE, Ints, Operations
from history.metrics.awake_clock import AwakeClock
from history.records.finding import Comeback
from reports.analysis.faults import FaultWindow
from reports.load.cut_record import is_cut
from reports.load.run import LoadedRun

#: An outage lasts at least this many seconds; a longer pause of all clients ends an outage.
LONG_S: Final = 5.0
#: Number of longest stretches that are examined for each kind.
EXAMINED: Final = 64


@dataclass(frozen=True, slots=True)
class Outage:
    """A time from ``start`` to ``stop`` (s) when clients sent operations of a ``kind`` and none succeeded.

    ``ended``: a later one did succeed.  ``slept``: seconds of that time when the harness itself was stalled.
    """

    kind: str
    start: float
    stop: float
    ended: bool
    slept: float = 0.0

    @property
    def length(self) -> float:
        return self.stop - self.start - self.slept


@dataclass(frozen=True, slots=True)
class ServiceOutages:
    """The longest time without a success of one kind of operation, and all times of at least :data:`LONG_S`."""

    kind: str
    longest: Outage
    outages: tuple[Outage, ...]

    @property
    def total(self) -> float:
        """Total length of all outages, in seconds."""
        return sum(outage.length for outage in self.outages)


def unserved(run: LoadedRun, about: Comeback) -> tuple[float, float | None] | None:
    """Return the time since which no client was served around the last heal, and until when (s; None: to the end).

    Returns None if recovery was not judged by clients, if the history does not show it, or if other operations,
    which prove no recovery, were served meanwhile.
    """
    if not about.by_clients or is_cut(run):
        return None
    again, served = about.served_ns, run.operations.applied_at()
    before = served[served < again] if again is not None else served
    if not len(before) or before[-1] > about.healed_ns + 1e9:
        return None
    return float(before[-1]) / 1e9, None if again is None else again / 1e9


def services_of(operations: Operations, end_ns: int, clock: AwakeClock) -> list[ServiceOutages]:
    """Return the outages of each kind of operation, in the order of first appearance."""
    kinds = enumerate(operations.f.names)
    services = (_service(operations, operations.f.codes == code, name, end_ns, clock) for code, name in kinds)
    return [service for service in services if service is not None]


def total_outages(operations: Operations, end_ns: int, clock: AwakeClock) -> list[Outage]:
    """Return the times when no operation of any kind succeeded, earliest first; their kind is empty."""
    every = _service(operations, np.ones(len(operations), bool), "", end_ns, clock)
    return list(every.outages) if every else []


def outages_of(services: Sequence[ServiceOutages]) -> list[Outage]:
    """Return the outages of all kinds, earliest first."""
    outages = (outage for service in services for outage in service.outages)
    return sorted(outages, key=lambda outage: (outage.start, outage.kind))


def by_fault(outages: Sequence[Outage], windows: Sequence[FaultWindow], end_s: float) -> dict[int, list[Outage]]:
    """Map each fault's id to its outages: those that it overlaps longer than any other fault.

    An outage that overlaps no fault belongs to the last fault before it.
    """
    standing = [window for window in windows if window.state != "skipped"]

    def overlap(window: FaultWindow, outage: Outage) -> float:
        healed = end_s if window.healed is None else window.healed
        return min(healed, outage.stop) - max(window.started, outage.start)

    mapped: dict[int, list[Outage]] = {}
    for outage in outages:
        longest = max(standing, key=lambda window: overlap(window, outage), default=None)
        if longest is None or overlap(longest, outage) <= 0:
            longest = next((window for window in reversed(standing) if window.started <= outage.start), None)
        if longest is not None:
            mapped.setdefault(longest.id, []).append(outage)
    return mapped


def _service(
    operations: Operations, mine: npt.NDArray[np.bool_], kind: str, end_ns: int, clock: AwakeClock
) -> ServiceOutages | None:
    if not mine.any():
        return None
    served = operations.applied[mine]
    begun, waited = operations.invoked[mine], operations.returned[mine]
    begun, waited = clock.times(begun), clock.times(np.where(waited == NONE, end_ns, waited))
    oks = np.sort(waited[served])
    edges = np.concatenate(([begun.min()], oks, [waited.max()]))
    gaps = np.diff(edges)
    # The longest gaps first, and the earlier of two that are as long.
    rank = max(gaps.size - EXAMINED, 0)
    places = np.flatnonzero(gaps >= np.partition(gaps, rank)[rank])
    stretches: list[Outage] = []
    most = -math.inf
    for place in places[np.argsort(-gaps[places], kind="stable")][:EXAMINED]:
        # No outage is longer than its gap, apart from rounding.
        if gaps[place] / 1e9 < min(LONG_S, most - 1e-6):
            break
        between = int(edges[place]), int(edges[place + 1])
        stretches += _outages(kind, begun, waited, between, clock, ended=bool(place < len(oks)))
        most = max(outage.length for outage in stretches)
    longest = max(stretches, key=lambda outage: outage.length)
    long = sorted((stretch for stretch in stretches if stretch.length >= LONG_S), key=lambda outage: outage.start)
    return ServiceOutages(kind, longest, tuple(long))


def _outages(
    kind: str, begun: Ints, waited: Ints, between: tuple[int, int], clock: AwakeClock, *, ended: bool
) -> list[Outage]:
    """Reduce the time between two successes to the times when clients waited, earliest first.

    Nothing requested before the last of these times succeeded; ``ended`` says whether an operation succeeded after
    them.  Arguments are times of ``clock``, results are times of the run.
    """
    low, high = between
    mine = (waited > low) & (begun < high)
    if not mine.any():
        return [Outage(kind, clock.back(low) / 1e9, clock.back(low) / 1e9, ended)]
    order = np.argsort(begun[mine], kind="stable")
    starts, known = begun[mine][order], np.maximum.accumulate(waited[mine][order])
    pauses = np.flatnonzero(starts[1:] - known[:-1] > LONG_S * 1e9)
    first = np.maximum(starts[np.concatenate(([0], pauses + 1))], low)
    last = np.concatenate((known[pauses], [high]))
    spans = [(clock.back(int(start)), clock.back(int(other))) for start, other in zip(first, last, strict=True)]
    return [Outage(kind, start / 1e9, other / 1e9, ended, clock.slept(start, other) / 1e9) for start, other in spans]
