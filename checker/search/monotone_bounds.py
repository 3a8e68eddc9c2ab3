"""Bounds of a counter's sums, from columns: they refute a history in linear time and spare the search most work.

A read's answer includes everything that had been added, or seen by another read, before the read began, and nothing
that was begun after it ended (``counter_sums`` has the proof, for numbers of both signs). If a counter only rises, a
sum is a dead end as soon as it exceeds the answer of a read that is still to come, or that is open and has not seen its
answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from checker.core.intervals import IntArray
from checker.core.result import EngineResult
from checker.search.encoding import Numbers, Sums
from checker.search.jit import ENGINE
from history.codes import NEVER, READ

#: Above every sum.
_BEYOND: Final = 1 << 40
NO_CEILING: Final = np.zeros(0, np.int64)


def rises(numbers: Numbers) -> TypeGuard[Sums]:
    """Return whether this is a counter whose sums have bounds."""
    return isinstance(numbers, Sums)


def ceilings(numbers: Sums, invoke: IntArray, returns: IntArray) -> IntArray:
    """Return, for each return and for the end, the least answer of the reads invoked after it.

    Returns ``NO_CEILING``, which is empty, if the counter may fall again.
    """
    if not numbers.rising:
        return NO_CEILING
    reads = numbers.kind == READ
    answers = np.full(invoke.size + returns.size + 1, _BEYOND, np.int64)
    answers[invoke[reads]] = numbers.value[reads]
    least = np.minimum.accumulate(answers[::-1])[::-1]
    return np.append(least[returns + 1], _BEYOND)


def refuted(numbers: Sums, invoke: IntArray, ret: IntArray) -> EngineResult | None:
    """Return the first read to return with an answer out of bounds; None if there is none, which proves nothing."""
    reads = numbers.kind == READ
    sums = _SumsUntil(~reads, ret != NEVER, invoke, ret, numbers.initial)
    least = sums.least(numbers.value)
    most = (
        sums.begun(numbers.value) if numbers.rising else -replace(sums, initial=-numbers.initial).least(-numbers.value)
    )
    answered, until = numbers.value[reads], ret[reads]
    wrong = np.flatnonzero((answered < least) | (answered > most))
    if not wrong.size:
        return None
    first = wrong[np.argmin(until[wrong])]
    words = dict.fromkeys(numbers.describe(int(bound[first])) for bound in (least, most))
    return EngineResult("invalid", ENGINE, violations=1, last=int(until[first]), states=(" to ".join(words),))


@dataclass(frozen=True, slots=True)
class _SumsUntil:
    """The adds and the calls that are done, their dense ranks, and the initial sum."""

    adds: NDArray[np.bool_]
    done: NDArray[np.bool_]
    invoke: IntArray
    ret: IntArray
    initial: int

    def begun(self, value: IntArray) -> IntArray:
        """Return for each read the sum of the adds that have begun by its end."""
        return self._until(self.ret, self.invoke, value, self.adds)

    def ended(self, value: IntArray) -> IntArray:
        """Return for each read the sum of the adds that had returned before it began."""
        return self._until(self.invoke, self.ret, value, self.adds & self.done)

    def _until(self, moments: IntArray, of: IntArray, value: IntArray, some: NDArray[np.bool_]) -> IntArray:
        sums = np.zeros(self.ret.size + np.count_nonzero(self.done), np.int64)
        sums[of[some]] = value[some]
        return np.cumsum(sums, out=sums)[moments[~self.adds]]

    def least(self, value: IntArray) -> IntArray:
        """Return the least possible answer of each read: its certain part minus whatever may be subtracted by its end.

        The certain part is what an earlier read had seen, minus whatever may have been subtracted since that read
        began.
        """
        reads, down = ~self.adds, np.minimum(value, 0)
        falls = bool(down[self.adds].any())
        shown = np.full(self.ret.size + np.count_nonzero(self.done), self.initial, np.int64)
        shown[self.ret[reads]] = value[reads] - (self.ended(down) if falls else 0)
        known = np.maximum.accumulate(shown, out=shown)[self.invoke[reads]]
        least = np.maximum(self.initial + self.ended(value - down), known)
        return least + self.begun(down) if falls else least
