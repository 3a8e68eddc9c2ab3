"""Recovery figures: what each fault did to the rate of ok operations, and how long the way back took.

The definitions, which ``docs/tables.md`` repeats:

- All durations and rates are by the clock of ``history.metrics.awake_clock``: no standstill of the harness counts.
- *ok*: the completion time of an ok operation of a client, whatever its kind, key and phase; not of one that the
  answering node had not applied, which is no service.
- *record*: up to the last invocation or completion of a client, or time in a fault's receipt, whichever is later.
- *load*: from the first invocation of the main phase (of the whole history where no phases are recorded) to the last
  time at which anything of it is known: an invocation or a completion of one of its operations, or the end of the
  record if one of them was never answered, since its client waited until then.  Outside of it clients do not
  ask at the usual rate, so no rate is taken there.
- A fault *stands* from ``started`` to ``healed``, or to the end of the record if it was never healed.  A skipped
  fault never stands, and has no figures.  An indeterminate one may have had an effect, so it stands.
- Faults that stand at the same time, directly or by way of others, form a *group*.  ``next`` is the start of the
  group after a fault's own, or the end of the load.
- ``rate_before``: ok a second in the calm before: the last :data:`CALM_S` s, or as much as there is back to the
  healing of the group before or the start of the load.  Null if that is less than :data:`LEAST_S` s (a fault right at
  the start).  The faults of one group share it: it is taken before the first of them.
- ``rate_during``: ok a second from ``stood`` (else ``started``) to ``heal_started`` (else the end), under load.
- ``rate_after``: ok a second from ``healed`` to ``next``.  Null if that is less than :data:`LEAST_S` s or has no begin.
- ``longest_gap_ms``: the longest stretch without an ok between ``started`` and ``next``; both ends count as edges, so
  a cluster that never answers again has a gap up to the end.
- ``first_ok_ms``: from ``healed`` to the first ok at or after it, in whatever phase.  Null if there never was one.
- ``recovered_ms``: from ``healed`` to the first ok that begins a second (not aligned to anything) in which the number
  of ok reaches 95 % of ``rate_before``, less what chance does to the count of one second: two standard deviations of
  arrivals at random, as the load's are (a second of 100 holds 80 to 120).  That second must be over at ``next``; the
  seconds after it are not looked at, they are in ``rate_after``.  Null means *never* if both rates are there, and
  *nothing to compare with* if ``rate_before`` or ``rate_after`` is null.  A rate of 0 is a rate: after a calm without a
  single ok, one ok in a second is the way back.  Below 6.4 ok a second before, chance leaves so little that a single
  ok is enough: reports say that these are *too few to tell*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from history.metrics.awake_clock import AwakeClock
from history.records.events import SECOND
from history.records.receipts import Receipt

CALM_S: Final = 5
LEAST_S: Final = 1
RECOVERED: Final = 0.95
#: Standard deviations of a Poisson count by which a second may fall short of that and be as good.
CHANCE: Final = 2.0

Times = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Asked:
    """Some operations of the load: first invocation, last invocation or completion (ns), and is one unanswered?"""

    begin: int
    known: int
    open: bool


@dataclass(frozen=True, slots=True)
class Load:
    """The time in which clients asked at the usual rate, ``begin`` to ``end``, and the end of the record (ns)."""

    begin: int
    end: int
    last: int

    def awake(self, clock: AwakeClock) -> Load:
        """Return the load by the clock without standstills."""
        return Load(clock.at(self.begin), clock.at(self.end), clock.at(self.last))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A fault's group, cut to the load: the calm before it, and what comes after."""

    calm_from: int
    calm_to: int
    next: int


def load_of(asked: Iterable[Asked], last: int, receipts: Iterable[Receipt]) -> Load:
    """The load, by the definition above, of a run whose operations of the load are in ``asked``.

    ``last`` is the last invocation or completion of any client, 0 if there is none.  Without operations the load is
    empty, at the end of the record.
    """
    times = [time for one in receipts for time in (one.started, one.stood, one.heal_started, one.healed)]
    end = max([last, *(time for time in times if time is not None)])
    parts = list(asked)
    if not parts:
        return Load(end, end, end)
    known = end if any(part.open for part in parts) else max(part.known for part in parts)
    return Load(min(part.begin for part in parts), known, end)


def surroundings(receipts: Sequence[Receipt], load: Load) -> dict[int, Surroundings]:
    """Map a fault's id to its surroundings; skipped faults are left out."""
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
    found: dict[int, Surroundings] = {}
    for place, (begin, _, members) in enumerate(groups):
        calm_from = max(load.begin, begin - CALM_S * SECOND, groups[place - 1][1] if place else load.begin)
        after = groups[place + 1][0] if place + 1 < len(groups) else load.end
        for number in members:
            found[number] = Surroundings(calm_from, min(begin, load.end), min(after, load.end))
    return found


def figures(receipt: Receipt, around: Surroundings | None, ok: Times, load: Load) -> dict[str, float | None]:
    """The figures of one fault by the definitions above; empty for one that never stood.

    ``ok`` may hold the completion times of one kind of operation alone: then they are that kind's figures.
    """
    if around is None:
        return {}
    stood = max(moment_or(receipt.stood, receipt.started), load.begin)
    until = min(moment_or(receipt.heal_started, load.last), load.end)
    before = _rate(ok, around.calm_from, around.calm_to, LEAST_S)
    found = {
        "rate_before": before,
        "rate_during": _rate(ok, stood, until, 0),
        "longest_gap_ms": _longest_gap(ok, receipt.started, around.next),
    }
    if receipt.healed is None:
        return found
    after = _rate(ok, receipt.healed, around.next, LEAST_S)
    compared = before is not None and after is not None
    return {
        **found,
        "rate_after": after,
        "first_ok_ms": _first_ok(ok, receipt.healed),
        "recovered_ms": _recovered(ok, receipt.healed, around.next, before or 0.0) if compared else None,
    }


def never_recovered(row: Mapping[str, Any]) -> bool:
    """Was the fault certainly there, and is ``recovered_ms`` null in the sense of *never*, by the definitions above?

    ``row`` holds ``state`` and the figures of a fault (of all operations or of one kind); what it lacks is null.
    """
    compared = row.get("rate_before") is not None and row.get("rate_after") is not None
    return row.get("state") == "installed" and compared and row.get("recovered_ms") is None


def too_few(before: float | None) -> bool:
    """Whether there was so little before that a single ok would be the rate of before again, which shows nothing."""
    return before is not None and enough(before) < 2


def _rate(ok: Times, begin: int, end: int, least_s: int) -> float | None:
    """ok a second in [begin, end), or None if that is empty or shorter than ``least_s``."""
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
    """The first ok from ``healed`` on that begins a second which holds enough ok, of those that are over by ``end``."""
    if healed + SECOND > end:
        return None
    need = enough(before)
    after = ok[np.searchsorted(ok, healed) : np.searchsorted(ok, end, side="right")]
    if len(after) < need:
        return None
    full = after[need - 1 :] - after[: len(after) - need + 1] <= SECOND
    return int(after[int(np.argmax(full))] - healed) / 1e6 if full.any() else None


def enough(before: float) -> int:
    """The number of ok in one second from which the rate of before is back."""
    return max(1, math.ceil(RECOVERED * before - CHANCE * math.sqrt(before) - 1e-9))


def moment_or(time: int | None, otherwise: int) -> int:
    """A time of a receipt, or ``otherwise`` where it has none."""
    return otherwise if time is None else time
