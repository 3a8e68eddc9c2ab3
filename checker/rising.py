"""Counters that only rise: bounds of their sums, which spare the search most of its work.

What was added before a read began is in its answer, as is what another had seen by then; what is begun after it ended
is not.  A sum that is above the answer of a read that is still to come, or is open and has not seen its answer, is a
dead end already.
"""

from __future__ import annotations

from typing import Final, TypeGuard

import numpy as np

from checker.answer import Answer
from checker.calls import NEVER
from checker.numbered import IntArray, Numbers, Sums
from checker.search import ENGINE

# Above every sum.
_BEYOND: Final = 1 << 40


def rises(numbers: Numbers) -> TypeGuard[Sums]:
    """Is this such a counter?"""
    return isinstance(numbers, Sums) and numbers.rising


def ceilings(numbers: Sums, invoke: IntArray, returns: IntArray) -> IntArray:
    """For each return, and for the end, the least answer of the reads that are invoked after it."""
    reads = numbers.kind == _read()
    answers = np.full(invoke.size + returns.size + 1, _BEYOND, np.int64)
    answers[invoke[reads]] = numbers.value[reads]
    least = np.minimum.accumulate(answers[::-1])[::-1]
    return np.append(least[returns + 1], _BEYOND)


def refuted(numbers: Sums, invoke: IntArray, ret: IntArray) -> Answer | None:
    """The first read to return whose answer is out of its bounds; None if there is none, which proves nothing."""
    adds, done = numbers.kind != _read(), ret != NEVER
    began, ended, seen = np.zeros((3, ret.size + int(done.sum())), np.int64)
    began[invoke[adds]] = numbers.value[adds]
    ended[ret[adds & done]] = numbers.value[adds & done]
    seen[ret[~adds]] = numbers.value[~adds]
    for sums in (began, ended):
        np.cumsum(sums, out=sums)
    np.maximum.accumulate(seen, out=seen)
    read_at, read_until, answered = invoke[~adds], ret[~adds], numbers.value[~adds]
    least, most = np.maximum(ended[read_at], seen[read_at]), began[read_until]
    wrong = np.flatnonzero((answered < least) | (answered > most))
    if not wrong.size:
        return None
    first = wrong[np.argmin(read_until[wrong])]
    words = dict.fromkeys(numbers.describe(int(bound[first])) for bound in (least, most))
    return Answer("invalid", ENGINE, violations=1, last=int(read_until[first]), states=(" to ".join(words),))


def _read() -> int:
    from checker import search_kernel as kernel

    return kernel.READ
