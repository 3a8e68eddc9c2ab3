"""The definition and a sampler in compiled code: millions of small histories of registers in minutes.

They share nothing with the checker.  ``test_millions`` compares the definition with the recursion over all orders.
"""

# Compiled code is one flat loop: calls cost, and numba compiles what it is given.
# ruff: noqa: C901
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

READ, WRITE, CAS, REFUSED = range(4)
OK, INFO, FAIL = range(3)
NEVER = 1 << 62


class Histories(NamedTuple):
    """Small histories one after the other, with one row for each operation, in the order of the invocations.

    ``value`` and ``old`` are ids from 0 on, where 0 is the absent value.  ``invoke`` and ``ret`` are distinct positions
    among all events, ``NEVER`` for pending operations.  ``starts`` has the first row of each history.  ``REFUSED`` is a
    cas that failed (``FAIL``) because of the value.
    """

    kind: NDArray[np.int8]
    outcome: NDArray[np.int8]
    value: NDArray[np.int64]
    old: NDArray[np.int64]
    invoke: NDArray[np.int64]
    ret: NDArray[np.int64]
    starts: NDArray[np.int64]


@njit(cache=True)
def possible(kind, value, old, invoke, ret, first):
    """Return whether there is an order, by finding for each set of operations the values that it may leave behind.

    A value is a bit; ``first`` has the values that the register may have at the start.
    """
    count, must = kind.size, 0
    before = np.zeros(count, np.int64)
    for place in range(count):
        if ret[place] != NEVER:
            must |= 1 << place
        for other in range(count):
            if ret[other] < invoke[place]:
                before[place] |= 1 << other
    left = np.zeros(1 << count, np.int64)
    left[0] = first
    for done in range(1 << count):
        if left[done] and done & must == must:
            return True
        for place in range(count):
            if not left[done] or done >> place & 1 or before[place] & ~done:
                continue
            after = np.int64(1) << value[place]
            if kind[place] == READ:
                after &= left[done]
            elif kind[place] == CAS and not left[done] >> old[place] & 1:
                after = np.int64(0)
            elif kind[place] == REFUSED:
                after = left[done] & ~(np.int64(1) << old[place])
            left[done | 1 << place] |= after
    return False


@njit(cache=True)
def truths(some, strict, anywhere):
    """Return for each history whether it is linearizable; a refused cas counts only if ``strict``."""
    found = np.zeros(some.starts.size - 1, np.bool_)
    for number in range(found.size):
        rows = np.arange(some.starts[number], some.starts[number + 1])
        rows = rows[(some.outcome[rows] != FAIL) | ((some.kind[rows] == REFUSED) & strict)]
        rows = rows[(some.outcome[rows] != INFO) | (some.kind[rows] != READ)]
        first = np.int64(-1) if anywhere else np.int64(1)
        found[number] = possible(
            some.kind[rows], some.value[rows], some.old[rows], some.invoke[rows], some.ret[rows], first
        )
    return found


@njit(cache=True)
def draw(seed, histories, most, cas):
    """Make histories of 1 to ``most`` operations that overlap in every degree, with or without swaps.

    Invocation, effect and return are three random moments of each operation.  Some operations are pending, and half of
    those never take effect.  In some histories, one answer is wrong; in a quarter of them, each value is written once.
    """
    np.random.seed(seed)
    room = histories * most
    kind, outcome = np.zeros(room, np.int8), np.zeros(room, np.int8)
    value, old = np.zeros(room, np.int64), np.zeros(room, np.int64)
    invoke, ret = np.zeros(room, np.int64), np.full(room, NEVER, np.int64)
    starts, at, base = np.zeros(histories + 1, np.int64), 0, 0
    for number in range(histories):
        count = np.random.randint(1, most + 1)
        width = (0.5, 2.0, float(count))[np.random.randint(3)]
        values = (0, 2, 3, 4)[np.random.randint(4)]
        doubt = (0.0, 0.1, 0.5)[np.random.randint(3)]
        moments = np.empty(3 * count)
        for place in range(count):
            moments[3 * place : 3 * place + 3] = np.random.random() * count + np.sort(np.random.random(3)) * width
        rank = np.empty(3 * count, np.int64)
        rank[np.argsort(moments)] = np.arange(3 * count)
        order, state = np.argsort(rank[::3]), 0
        slot = np.empty(count, np.int64)
        slot[order] = np.arange(count)
        for place in np.argsort(rank[1::3]):
            row = at + slot[place]
            invoke[row], ret[row] = base + rank[3 * place], base + rank[3 * place + 2]
            kind[row] = np.random.randint(3 if cas else 2)
            new = np.random.randint(1, values + 1) if values else 1 + place
            if values and np.random.random() < 0.03:
                new = 0
            value[row] = state if kind[row] == READ else new
            if kind[row] == CAS:
                old[row] = state if np.random.random() < 0.7 else np.random.randint((values or count) + 1)
            if kind[row] != READ and np.random.random() < doubt:
                outcome[row], ret[row] = INFO, NEVER
                if np.random.random() < 0.5:
                    continue
            if kind[row] == CAS and old[row] != state:
                if outcome[row] == OK and np.random.random() < 0.97:
                    kind[row], outcome[row] = REFUSED, FAIL
            elif kind[row] != READ:
                state = new
        if np.random.random() < 0.5:
            row = at + np.random.randint(count)
            if kind[row] == READ:
                value[row] = np.random.randint((values or count) + 1)
        at, base = at + count, base + 3 * count
        starts[number + 1] = at
    return Histories(kind[:at], outcome[:at], value[:at], old[:at], invoke[:at], ret[:at], starts)
