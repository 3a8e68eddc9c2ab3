"""Recovery figures: how each fault affected the rate of ok operations, and how long recovery took.

The definitions, which ``docs/tables.md`` repeats:

- All durations and rates use the clock of ``history.metrics.awake_clock``, which skips standstills of the harness.
- An *ok* is the completion time of an ok operation of any client, kind, key and phase.  An operation that the answering
  node had not applied does not count, because the client was not served.
- The *record* ends at the last invocation or completion of a client or the last time in a fault's receipt, whichever is
  later.
- The *load* begins with the first invocation of the main phase (of the whole history if no phases are recorded).  It
  ends with the last invocation or completion of its operations, or at the end of the record if one of them was never
  answered, because its client waited until then.  Outside the load, clients do not send requests at the usual rate, so
  no rates are taken there.
- A fault is *active* from ``started`` to ``healed``, or to the end of the record if it was never healed. A skipped
  fault is never active and has no figures. An indeterminate one may have had an effect, so it counts as active.
- Faults that are active at the same time, directly or through others, form a *group*.  ``next`` is the start of the
  group after a fault's own, or the end of the load.
- ``rate_before``: ok per second in the calm before the fault's group.  The calm is the last :data:`CALM_S` s, cut at
  the healing of the previous group and at the start of the load.  Null if that is less than :data:`LEAST_S` s (a fault
  right at the start).  All faults of a group share this rate.
- ``rate_during``: ok per second from ``stood`` (else ``started``) to ``heal_started`` (else the end), under load.
- ``rate_after``: ok per second from ``healed`` to ``next``.  Null if that is less than :data:`LEAST_S` s, or if the
  fault was never healed.
- ``longest_gap_ms``: the longest time without an ok between ``started`` and ``next``.  Both ends count as edges, so a
  cluster that never answers again has a gap up to the end.
- ``first_ok_ms``: from ``healed`` to the first ok at or after it, in any phase.  Null if there was none.
- ``recovered_ms``: from ``healed`` to the first ok that begins a second with enough ok.  The second is not aligned to
  anything and must be over by ``next``; later seconds do not matter here but count in ``rate_after``.  Enough is 95 %
  of ``rate_before``, less two standard deviations, because the load's arrivals are random (at 100 per second, a second
  holds 80 to 120).  Null means *never* if ``rate_before`` and ``rate_after`` are present, and *nothing to compare with*
  if one of them is null.  A rate of 0 is a rate: after a calm without a single ok, one ok in a second counts as
  recovered.  If ``rate_before`` is below 6.4, a single ok is enough, and reports say that there were *too few to tell*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from history.metrics.awake_clock import AwakeClock
from history.records.events import SECOND
from history.records.receipts import Receipt

if TYPE_CHECKING:
    from history.columns.operations import Operations

CALM_S: Final = 5
LEAST_S: Final = 1
RECOVERED: Final = 0.95
#: A second may fall short of that by this many standard deviations of a Poisson count.
CHANCE: Final = 2.0

Times = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Asked:
    """Summary of some operations of the load.

    ``begin`` is their first invocation and ``known`` their last invocation or completion (ns).  ``open`` says whether
    one of them was never answered.
    """

    begin: int
    known: int
    open: bool


@dataclass(frozen=True, slots=True)
class LoadSpan:
    """The time in which clients sent requests at the usual rate, from ``begin`` to ``end`` (ns).

    ``last`` is the end of the record.
    """

    begin: int
    end: int
    last: int

    def awake(self, clock: AwakeClock) -> LoadSpan:
        """Return the load with its times on the clock without standstills."""
        return LoadSpan(clock.at(self.begin), clock.at(self.end), clock.at(self.last))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Times around a fault's group, limited to the load: the calm before it, and the start of the next group (ns)."""

    calm_from: int
    calm_to: int
    next: int


def load_of(summaries: Iterable[Asked], last: int, receipts: Iterable[Receipt]) -> LoadSpan:
    """Return the load of a run, as defined above, from summaries of the load's operations.

    ``last`` is the last invocation or completion of any client, or 0 if there is none.  Without operations, the load is
    empty and lies at the end of the record.
    """
    times = [time for fault in receipts for time in (fault.started, fault.stood, fault.heal_started, fault.healed)]
    end = max([last, *(time for time in times if time is not None)])
    parts = list(summaries)
    if not parts:
        return LoadSpan(end, end, end)
    known = end if any(part.open for part in parts) else max(part.known for part in parts)
    return LoadSpan(min(part.begin for part in parts), known, end)


def load_in(operations: Operations, receipts: Sequence[Receipt]) -> LoadSpan:
    """Return when clients were sending requests, as defined above."""
    main = operations.in_main
    invoked, returned = operations.invoked[main], operations.returned[main]
    summaries = []
    if len(invoked):
        known = int(max(invoked.max(), returned.max()))
        summaries = [Asked(int(invoked.min()), known, bool((returned < 0).any()))]
    return load_of(summaries, operations.end, receipts)


def surroundings(receipts: Sequence[Receipt], load: LoadSpan) -> dict[int, Surroundings]:
    """Return the surroundings of each fault by its id, without skipped faults."""
    standing = sorted(
        (receipt.started, moment_or(receipt.healed, max(load.last, receipt.started)), receipt.id)
        for receipt in receipts
        if receipt.state != "skipped"
    )
    groups: list[tuple[int, int, list[int]]] = []
    for begin, end, number in standing:
        if groups and begin <= groups[-1][1]:
            first, last, members = groups[-1]
            groups[-1] = (first, max(last, end), [*members, number])
        else:
            groups.append((begin, end, [number]))
    around: dict[int, Surroundings] = {}
    for place, (begin, _, members) in enumerate(groups):
        calm_from = max(load.begin, begin - CALM_S * SECOND, groups[place - 1][1] if place else load.begin)
        after = groups[place + 1][0] if place + 1 < len(groups) else load.end
        for number in members:
            around[number] = Surroundings(calm_from, min(begin, load.end), min(after, load.end))
    return around


def figures(receipt: Receipt, around: Surroundings | None, ok: Times, load: LoadSpan) -> dict[str, float | None]:
    """Return the figures of one fault, as defined above; empty for a fault that was never active.

    ``ok`` holds sorted completion times.  With those of only one kind of operation, the figures are that kind's.
    """
    if around is None:
        return {}
    stood = max(moment_or(receipt.stood, receipt.started), load.begin)
    until = min(moment_or(receipt.heal_started, load.last), load.end)
    before = _rate(ok, around.calm_from, around.calm_to, LEAST_S)
    measured = {
        "rate_before": before,
        "rate_during": _rate(ok, stood, until, 0),
        "longest_gap_ms": _longest_gap(ok, receipt.started, around.next),
    }
    if receipt.healed is None:
        return measured
    after = _rate(ok, receipt.healed, around.next, LEAST_S)
    compared = before is not None and after is not None
    return {
        **measured,
        "rate_after": after,
        "first_ok_ms": _first_ok(ok, receipt.healed),
        "recovered_ms": _recovered(ok, receipt.healed, around.next, before or 0.0) if compared else None,
    }


def never_recovered(row: Mapping[str, Any]) -> bool:
    """Return whether a fault was certainly installed and its ``recovered_ms`` is null in the sense of *never*.

    ``row`` holds ``state`` and the figures of a fault, for all operations or one kind.  Missing figures count as null.
    """
    compared = row.get("rate_before") is not None and row.get("rate_after") is not None
    return row.get("state") == "installed" and compared and row.get("recovered_ms") is None


def too_few(before: float | None) -> bool:
    """Return whether the rate before a fault was so low that a single ok would count as recovery."""
    return before is not None and enough(before) < 2


def _rate(ok: Times, begin: int, end: int, least_s: int) -> float | None:
    """Return ok per second in [begin, end); None if that is empty or shorter than ``least_s``."""
    seconds = (end - begin) / SECOND
    if seconds <= 0 or seconds < least_s:
        return None
    low, high = np.searchsorted(ok, [begin, end])
    return float(high - low) / seconds


def _longest_gap(ok: Times, begin: int, end: int) -> float | None:
    if end <= begin:
        return None
    low, high = np.searchsorted(ok, [begin, end])
    edges = np.concatenate(([begin], ok[low:high], [end]))
    return float(np.diff(edges).max()) / 1e6


def _first_ok(ok: Times, healed: int) -> float | None:
    place = int(np.searchsorted(ok, healed))
    return float(ok[place] - healed) / 1e6 if place < len(ok) else None


def _recovered(ok: Times, healed: int, end: int, before: float) -> float | None:
    """Return the time (ms) from ``healed`` to the first ok that begins a second with enough ok, over by ``end``."""
    if healed + SECOND > end:
        return None
    need = enough(before)
    after = ok[np.searchsorted(ok, healed) : np.searchsorted(ok, end, side="right")]
    if len(after) < need:
        return None
    # Element i says whether ok number i and the following ones, ``need`` in total, fall within one second.
    full = after[need - 1 :] - after[: len(after) - need + 1] <= SECOND
    return int(after[int(np.argmax(full))] - healed) / 1e6 if full.any() else None


def enough(before: float) -> int:
    """Return how many ok operations in a second count as a return to the rate ``before`` a fault."""
    return max(1, math.ceil(RECOVERED * before - CHANCE * math.sqrt(before) - 1e-9))


def moment_or(time: int | None, otherwise: int) -> int:
    """Return the time in a receipt, or ``otherwise`` if it is None."""
    return otherwise if time is None else time
