"""Chains of swaps in one compiled pass; see ``chains`` for what they are and why they decide."""

# Compiled code is one flat loop: calls cost, and numba compiles what it is given.
# ruff: noqa: C901
from __future__ import annotations

import numpy as np

from history.codes import CAS, NEVER, READ, WRITE
from history.compiled import compiled

VALID, INVALID, REPEATED = range(3)


@compiled
def _makers(kind, value, maker):  # type: ignore[no-untyped-def]
    """Who made each value; answers False if one was made twice, or the initial one at all."""
    for call in range(kind.size):
        if kind[call] != READ:
            if value[call] == 0 or maker[value[call]] >= 0:
                return False
            maker[value[call]] = call
    return True


@compiled
def _link(kind, value, old, ret, maker, counts, following):  # type: ignore[no-untyped-def]
    """Mark the values that count, and link each to the one that it was swapped for.

    Pending calls count if their value was read, or swapped away by one that counts.  Answers False if nobody made a
    value that was asked for, or if two swaps took the same one away.
    """
    wanted, size = np.empty(kind.size + 1, np.int64), 0
    counts[0] = True
    for call in range(kind.size):
        x = value[call]
        if (kind[call] == READ or ret[call] != NEVER) and not counts[x]:
            counts[x] = True
            wanted[size] = x
            size += 1
    while size:
        size -= 1
        call = maker[wanted[size]]
        if call < 0:
            return False
        if kind[call] == CAS:
            before = old[call]
            if following[before] >= 0:
                return False
            following[before] = value[call]
            if not counts[before]:
                counts[before] = True
                wanted[size] = before
                size += 1
    return True


@compiled
def _walk(root, following, begun, ended, last_read, earliest, latest):  # type: ignore[no-untyped-def]
    """(f, s, how many values there are) of a chain; f is -2 if it contradicts itself."""
    reach, before, length, x = np.int64(-1), np.int64(-1), 0, root
    while x >= 0:
        reach = max(reach, before, begun[x])
        earliest[length] = reach
        before = last_read[x]
        length += 1
        x = following[x]
    # The least end of what comes later bounds what comes earlier: found from behind, by going over the chain again.
    x, place = root, 0
    while x >= 0:
        latest[place] = ended[x]
        place += 1
        x = following[x]
    for place in range(length - 1, -1, -1):
        if place + 1 < length:
            latest[place] = min(latest[place], latest[place + 1])
        if earliest[place] > latest[place]:
            return np.int64(-2), np.int64(0), length
    return latest[0], max(reach, before), length


@compiled
def judge_chains(kind, value, old, invoke, ret, values):  # type: ignore[no-untyped-def]
    """VALID, INVALID, or REPEATED if new values are not unique; the arguments are as in ``CasColumns``."""
    maker = np.full(values, -1, np.int64)
    if not _makers(kind, value, maker):
        return REPEATED
    counts, following = np.zeros(values, np.bool_), np.full(values, -1, np.int64)
    if not _link(kind, value, old, ret, maker, counts, following):
        return INVALID
    begun, ended = np.full(values, -1, np.int64), np.full(values, -1, np.int64)
    last_read = np.full(values, -1, np.int64)
    for x in range(1, values):
        if counts[x]:
            begun[x], ended[x] = invoke[maker[x]], ret[maker[x]]
    for call in range(kind.size):
        if kind[call] == READ:
            x = value[call]
            ended[x], last_read[x] = min(ended[x], ret[call]), max(last_read[x], invoke[call])
    earliest, latest = np.empty(values, np.int64), np.empty(values, np.int64)
    at = np.full(2 * kind.size, -1, np.int32)
    first, last = np.full(values, NEVER, np.int64), np.full(values, -1, np.int64)
    left = 0
    for x in range(values):
        left += counts[x]
    for x in range(values):
        if counts[x] and (x == 0 or kind[maker[x]] == WRITE):
            first[x], last[x], length = _walk(x, following, begun, ended, last_read, earliest, latest)
            if first[x] == -2:
                return INVALID
            left -= length
            if x and first[x] != NEVER:
                at[min(first[x], last[x])] = x
    # What no chain has reached goes round in a circle.
    if left:
        return INVALID
    reach = last[0]
    for moment in range(at.size):
        x = at[moment]
        if x >= 0:
            if reach > first[x]:
                return INVALID
            if first[x] < last[x]:
                reach = max(reach, last[x])
    return VALID
