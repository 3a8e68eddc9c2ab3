"""Refute counters by bounds: find reads that no order allows, and the fewest operations that show this.

Let R be a read, and R0 a read that returned before R began; or let R0 be the start, when the sum was 0 and nothing had
begun.  In any linearization, the adds that take effect between the two make up the difference of their answers, and

* an add that began after R0 had returned, and returned before R began, is in between: it is *sure*;
* an add that returned before R0 began, or began after R had returned, is not in between.

So R answers at least R0's answer plus the sure adds, less everything that adds of negative numbers may have taken away
in between.  With the signs changed, the same bounds it from above.  Some of the sure adds are enough: fewer of them
make the bound weaker but still true.  So the *evidence* that an answer is too low is R, perhaps R0, and the fewest adds
whose sum is too large even if everything was taken away that could be.  The adds that may have taken something away are
not part of the evidence, because without them the answer is even more clearly too low.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from operator import itemgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from checker.core.calls import Call
from checker.core.engine import PLAIN_SEARCH_CALLS, Engine
from checker.core.model import ILLEGAL, Model, State
from checker.core.result import EngineResult
from checker.models.objects import Counter as CounterModel
from checker.models.objects import exact
from checker.search.jit import ENGINE

#: At most this many earlier reads are tried together with adds, the newest first.
_MAX_EARLIER_READS: Final = 64
_WIDE: Final = 1 << 61


class PartOfCounter(Model):
    """Counter of which only some operations are known.

    The others raise it by at most ``rise`` and lower it by at most ``fall``. Without a ``start``, the initial sum
    is unknown.
    """

    name = "part of a counter"

    def __init__(self, start: int | None = None, rise: float = 0, fall: float = 0) -> None:
        self.initial = (start, rise, fall)

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        known, rise, fall = state
        if f == "add":
            return (None if known is None else exact(known + exact(value)), rise, fall)
        if known is not None and result != known and not (rise or fall):
            return ILLEGAL  # also where their difference, of a fraction and a large number, is rounded to none
        change = 0 if known is None else result - known
        if change > rise or -change > fall:
            return ILLEGAL
        return exact(result), rise - max(0, change), fall - max(0, -change)


@dataclass(frozen=True, slots=True)
class Wrong:
    """Answer that is too ``low``, or too high, with its evidence: an earlier read ``before``, and ``adds``.

    ``sure`` is the sum of all adds that must have moved the counter away from that answer, since ``before`` or the
    start.  ``against`` is the sum of those that may have moved it towards the answer.  Both are absolute values.
    """

    read: Call
    low: bool
    before: Call | None
    adds: tuple[Call, ...]
    sure: int
    against: int
    note: str | None = None

    @property
    def core(self) -> tuple[Call, ...]:
        beside = () if self.before is None else (self.before,)
        return tuple(sorted((*beside, *self.adds, self.read), key=lambda call: call.invoke))

    @property
    def model(self) -> Model:
        """Model that the core contradicts by the definition."""
        start = 0 if self.before is None else None
        return PartOfCounter(start, inf, self.against) if self.low else PartOfCounter(start, self.against, inf)


def are_whole(calls: Sequence[Call]) -> bool:
    """Return whether all adds and reads are of integers; sums of other numbers depend on the order."""
    numbers = {"add": lambda call: call.value, "read": lambda call: call.result}
    return all(call.f in numbers and type(numbers[call.f](call)) is int for call in calls)


def out_of_bounds(calls: Sequence[Call]) -> list[tuple[Call, bool]]:
    """Return all reads whose answers are too low (True) or too high, in the order of their returns.  O(n log n).

    Each is judged by all adds, and by the earlier reads that are not out of bounds.
    """
    events = [(call.invoke, False, call) for call in calls]
    events += [(call.ret, True, call) for call in calls if not call.pending]
    wrong: list[tuple[Call, bool]] = []
    # By sign: the sum of adds that have begun, and of those that have returned.  ``least`` and ``most`` are the bounds
    # that earlier reads set, each less the adds of the opposite sign that had returned when the read began.
    begun, ended = [0, 0], [0, 0]
    least = most = 0
    opened: dict[int, tuple[int, int, int, int]] = {}
    for _, returns, call in sorted(events, key=itemgetter(0)):
        if call.f == "add":
            (ended if returns else begun)[call.value < 0] += call.value
        elif not returns:
            opened[call.source] = (max(ended[0], least), min(ended[1], most), ended[0], ended[1])
        else:
            floor, ceiling, added, taken = opened.pop(call.source)
            low = call.result < floor + begun[1]
            if low or call.result > ceiling + begun[0]:
                wrong.append((call, low))
            else:
                least, most = max(least, call.result - taken), min(most, call.result - added)
    return wrong


def refute(calls: Sequence[Call]) -> EngineResult | None:
    """Refute a counter by the first read to return an answer out of bounds.

    Returns None if there is none, or if numbers are not integers; None proves nothing.
    """
    wrong = out_of_bounds(calls) if are_whole(calls) else []
    return EngineResult("invalid", ENGINE, violations=1, last=wrong[0][0].ret) if wrong else None


class ProofSearch:
    """Search for the adds and reads in a history that show that an answer is wrong."""

    def __init__(self, calls: Sequence[Call]) -> None:
        adds = (call for call in calls if call.f == "add" and call.value)
        self.adds = sorted(adds, key=lambda call: call.invoke)
        self.reads = sorted((call for call in calls if call.f != "add"), key=lambda call: call.ret)
        numbers = [call.value for call in self.adds], [call.result for call in self.reads]
        wide = sum(map(abs, numbers[0])) + max(map(abs, numbers[1]), default=0) >= _WIDE
        self.limit = None if wide else _WIDE
        self.value, self.result = (np.array(some, object if wide else np.int64) for some in numbers)
        self.begun, self.ended = _spans(self.adds)
        self.read_begun, self.read_ended = _spans(self.reads)
        self.by_end = np.argsort(self.ended)

    def of(self, read: Call, *, low: bool) -> Wrong | None:
        """Return the fewest operations that show that this answer is too low (or too high); None if none do.

        The search tries the start, and an earlier read that needs no adds.  It tries earlier reads with adds
        only for the newest reads that have enough of them.
        """
        sign = 1 if low else -1
        # Clip the answer to what a column can hold.
        answer = read.result if self.limit is None else max(-self.limit, min(self.limit, read.result))
        up, down = np.maximum(sign * self.value, 0), np.maximum(-sign * self.value, 0)
        against = down[self.begun < read.ret].sum()
        sure = np.flatnonzero((self.ended < read.invoke) & (up > 0))
        best, taken = _fewest(up[sure], sign * answer + against), None
        size = np.inf if best is None else 1 + best.size
        earlier = np.flatnonzero(self.read_ended < read.invoke)[::-1]
        past = np.concatenate([np.zeros(1, down.dtype), np.cumsum(down[self.by_end])])
        gone = past[np.searchsorted(self.ended[self.by_end], self.read_begun[earlier])]
        need = sign * (answer - self.result[earlier]) + against - gone
        after = np.searchsorted(self.begun[sure], self.read_ended[earlier])
        rest = np.concatenate([np.cumsum(up[sure][::-1])[::-1], np.zeros(1, up.dtype)])
        alone = np.flatnonzero(need < 0)[:1]
        for place in [*alone, *np.flatnonzero(rest[after] > need)[:_MAX_EARLIER_READS]]:
            fewest = _fewest(up[sure[after[place] :]], need[place])
            if fewest is not None and 2 + fewest.size < size:
                best, taken, size = fewest + after[place], place, 2 + fewest.size
        if best is None:
            return None
        before, first, spent = None, 0, 0
        if taken is not None:
            before, first, spent = self.reads[earlier[taken]], after[taken], gone[taken]
        adds = tuple(self.adds[place] for place in sorted(sure[best].tolist()))
        return Wrong(read, low, before, adds, int(up[sure[first:]].sum()), int(against - spent))


def _spans(calls: Sequence[Call]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.array([call.invoke for call in calls], np.int64), np.array([call.ret for call in calls], np.int64)


def _fewest(values: NDArray[Any], need: Any) -> NDArray[np.int64] | None:
    """Return the places of the fewest values whose sum exceeds the need; among equal values, take the last."""
    if need < 0:
        return np.zeros(0, np.int64)
    order = np.argsort(values, kind="stable")[::-1]
    enough = np.flatnonzero(np.cumsum(values[order]) > need)
    return order[: enough[0] + 1] if enough.size else None


#: Above this many calls, the compiled search uses the bounds itself.
COUNTER: Final = Engine(
    "counter-bounds", ENGINE, "counters, only to find answers that are out of bounds in any order",
    "O(n log n)",
    lambda model, _calls: type(model) is CounterModel,
    lambda calls, _model, _limits, _proof: refute(calls),
    unasked=range(PLAIN_SEARCH_CALLS + 1),
)  # fmt: skip
