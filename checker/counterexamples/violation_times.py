"""Find when each violation of a register was seen, including those without a counterexample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from checker.core.calls import calls_of, ranked
from checker.core.model import Register
from checker.engines.registers import Finder, cluster_columns, groups_of, values_written_once
from checker.engines.zones import zones
from history import KeyVerdict, Operation

#: Above this many operations on one key, only counterexamples count, because columns are built call by call.
MAX_OPERATIONS: Final = 200_000


@dataclass(frozen=True, slots=True)
class Sighting:
    """First read ``by`` that shows a violation, and the operation ``newer`` that it missed."""

    newer: Operation
    by: Operation

    @property
    def begin(self) -> int:
        """Start of the sighting in nanoseconds since the run's start; ``end`` has the same unit."""
        return min(self.newer.invoked, self.by.invoked)

    @property
    def end(self) -> int:
        return self.by.ended


def sightings(operations: Sequence[Operation], verdict: KeyVerdict) -> list[Sighting]:
    """Return one sighting for each violation that the verdict counts, earliest first.

    ``operations`` are those of the verdict's key.  All violations are found only by zones, that is, in at most
    ``MAX_OPERATIONS`` reads and writes of values that are written once each.  For other keys there is one sighting
    for each counterexample.
    """
    if verdict.verdict != "invalid":
        return []
    sighted = _by_zones(operations) if len(operations) <= MAX_OPERATIONS else []
    if len(sighted) != verdict.violations:
        sighted = [_describe(example.operations) for example in verdict.counterexamples if example.operations]
    return sorted(sighted, key=lambda sighting: sighting.by.invoked)


def _describe(operations: Sequence[Operation]) -> Sighting:
    by = max(operations, key=lambda operation: operation.invoked)
    changes = [change for change in operations if change.f != "read" and not change.refused and change is not by]
    return Sighting(max(changes, key=lambda operation: operation.invoked, default=by), by)


def _by_zones(operations: Sequence[Operation]) -> list[Sighting]:
    model = Register()
    if any(operation.f not in ("read", "write") for operation in operations):
        return []
    calls = calls_of(operations, model)
    if not values_written_once(calls, model.initial):
        return []
    columns = cluster_columns(ranked(calls), model.initial)
    zone_set = zones(columns)
    finder, sighted = Finder(columns, zone_set), []
    for outer, inner in groups_of(zone_set):
        new = np.flatnonzero(columns.cluster == inner)
        rows = int(new[np.argmin(columns.invoke[new])]), finder.stale(outer, inner)
        sighted.append(Sighting(*(operations[calls[row].source] for row in rows)))
    return sighted
