"""Compiled chains of CAS operations, which decide registers whose new values are unique.

Each value was made by one call, and a CAS links the value it replaces to the new one.  So the values form chains that
begin with plain writes.  A chain is one long zone; ``checker.engines.cas_chains`` has the argument.
"""

from __future__ import annotations

import numpy as np

from history.codes import CAS, NEVER, READ, WRITE
from history.compiled import compiled, compiled_part

VALID, INVALID, REPEATED = range(3)


@compiled_part
def _makers(kind, value, maker):  # type: ignore[no-untyped-def]
    """Find the call that made each value; return False if a value was made twice, or the initial one at all."""
    for call in range(kind.size):
        if kind[call] != READ:
            if value[call] == 0 or maker[value[call]] >= 0:
                return False
            maker[value[call]] = call
    return True


@compiled_part
def _link(kind, value, old, ret, maker, counts, following):  # type: ignore[no-untyped-def]
    """Mark the values that count, and link each to the value that a CAS replaced it by.

    Pending calls count if their value was read, or replaced by a CAS that counts.  Returns False if a needed value
    was never made, or if two CAS operations replaced the same value.
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


@compiled_part
def _walk(root, following, begun, ended, last_read, earliest, latest):  # type: ignore[no-untyped-def]
    """Return (f, s, number of values) of a chain; f is -2 if the chain contradicts itself."""
    reach, before, length, x = np.int64(-1), np.int64(-1), 0, root
    while x >= 0:
        reach = max(reach, before, begun[x])
        earliest[length] = reach
        before = last_read[x]
        length += 1
        x = following[x]
    # The least end of later values bounds the earlier ones, so walk the chain again and accumulate from behind.
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


@compiled_part
def _spans(kind, value, invoke, ret, maker, counts):  # type: ignore[no-untyped-def]
    """Return for each value its start, its least return, and its greatest invocation of a read; -1 for none."""
    begun, ended = np.full(counts.size, -1, np.int64), np.full(counts.size, -1, np.int64)
    last_read = np.full(counts.size, -1, np.int64)
    for x in range(1, counts.size):
        if counts[x]:
            begun[x], ended[x] = invoke[maker[x]], ret[maker[x]]
    for call in range(kind.size):
        if kind[call] == READ:
            x = value[call]
            ended[x], last_read[x] = min(ended[x], ret[call]), max(last_read[x], invoke[call])
    return begun, ended, last_read


@compiled_part
def _overlap(at, first, last):  # type: ignore[no-untyped-def]
    """Return whether two forward zones overlap, or a forward zone contains a backward one.

    ``at`` has the zones by the rank at which they begin.
    """
    reach = last[0]
    for moment in range(at.size):
        x = at[moment]
        if x >= 0:
            if reach > first[x]:
                return True
            if first[x] < last[x]:
                reach = max(reach, last[x])
    return False


@compiled
def judge_chains(kind, value, old, invoke, ret, values):  # type: ignore[no-untyped-def]
    """Judge one register: VALID, INVALID, or REPEATED if its new values are not unique.

    The arguments are as in ``RegisterColumns``.
    """
    maker = np.full(values, -1, np.int64)
    if not _makers(kind, value, maker):
        return REPEATED
    counts, following = np.zeros(values, np.bool_), np.full(values, -1, np.int64)
    if not _link(kind, value, old, ret, maker, counts, following):
        return INVALID
    begun, ended, last_read = _spans(kind, value, invoke, ret, maker, counts)
    earliest, latest = np.empty(values, np.int64), np.empty(values, np.int64)
    at = np.full(2 * kind.size, -1, np.int32)
    first, last = np.full(values, NEVER, np.int64), np.full(values, -1, np.int64)
    left = np.count_nonzero(counts)
    for x in range(values):
        if counts[x] and (x == 0 or kind[maker[x]] == WRITE):
            first[x], last[x], length = _walk(x, following, begun, ended, last_read, earliest, latest)
            if first[x] == -2:
                return INVALID
            left -= length
            if x and first[x] != NEVER:
                at[min(first[x], last[x])] = x
    # Values that no chain has reached form a circle.
    return INVALID if left or _overlap(at, first, last) else VALID
