"""When no operation of a kind succeeded, over the whole run: neither phases nor faults cut such a stretch.

What a node acknowledged without having applied it is no success: it shows nothing of the cluster's health.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from reports.load.columns import NONE, Flags, Ints, Operations

LONG_S: Final = 5.0
"""Seconds without a success that are called an outage; nobody is said to have waited through so long a pause."""
EXAMINED: Final = 64
"""Limit of stretches of a kind that are looked at, the longest."""


@dataclass(frozen=True, slots=True)
class Outage:
    """Clients asked from ``start`` to ``stop`` (s), no operation of the ``kind`` succeeded; ``ended``: one did then."""

    kind: str
    start: float
    stop: float
    ended: bool

    @property
    def length(self) -> float:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Service:
    """The longest stretch without a success of a kind of operation, and all that last :data:`LONG_S` or more."""

    kind: str
    longest: Outage
    outages: tuple[Outage, ...]

    @property
    def total(self) -> float:
        """Seconds of all outages together."""
        return sum(outage.length for outage in self.outages)


def services_of(operations: Operations, end_ns: int) -> list[Service]:
    """List the kinds of operations that clients asked for, in the order of their first appearance."""
    found = (_service(operations, code, name, end_ns) for code, name in enumerate(operations.f.names))
    return [service for service in found if service is not None]


def outages_of(operations: Operations, end_ns: int) -> list[Outage]:
    """List the outages of all kinds, the earliest first."""
    found = (outage for service in services_of(operations, end_ns) for outage in service.outages)
    return sorted(found, key=lambda outage: (outage.start, outage.kind))


def _service(operations: Operations, code: int, kind: str, end_ns: int) -> Service | None:
    mine = operations.f.codes == code
    if not mine.any():
        return None
    served = operations.served[mine]
    begun, waited = operations.invoked[mine], operations.returned[mine]
    waited = np.where(waited == NONE, end_ns, waited)
    oks = np.sort(waited[served])
    edges = np.concatenate(([begun.min()], oks, [waited.max()]))
    gaps = np.diff(edges)
    stretches = [
        _outage(kind, begun, waited, served, int(edges[place]), int(edges[place + 1]), ended=bool(place < len(oks)))
        for place in np.argsort(-gaps, kind="stable")[:EXAMINED]
    ]
    longest = max(stretches, key=lambda outage: outage.length)
    long = sorted((one for one in stretches if one.length >= LONG_S), key=lambda outage: outage.start)
    return Service(kind, longest, tuple(long))


def _outage(kind: str, begun: Ints, waited: Ints, served: Flags, low: int, high: int, *, ended: bool) -> Outage:
    """Cut a stretch between two successes to the time in which clients waited for another one."""
    mine = (waited > low) & (begun < high)
    order = np.argsort(begun[mine], kind="stable")
    starts, known = begun[mine][order], np.maximum.accumulate(waited[mine][order])
    if not len(starts):
        return Outage(kind, low / 1e9, low / 1e9, ended)
    pauses = np.flatnonzero(starts[1:] - known[:-1] > LONG_S * 1e9)
    stop, last = high, int(pauses[-1]) if len(pauses) else -1
    if last >= 0 and bool(served[mine][order][last + 1 :].all()):
        stop, ended = int(known[last]), True  # what came after the pause succeeded
    return Outage(kind, max(low, int(starts[0])) / 1e9, stop / 1e9, ended)
