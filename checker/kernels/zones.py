"""Compiled zones of many registers: one pass over the operations and one over the events.

Source: Gibbons and Korach, "Testing shared memories" (1997), for histories whose values are written once each.  The
operations on a value are a cluster.  Its zone lies between the first return and the last invocation; it is forward if
the return comes first.  A register is linearizable if no read comes before its write, no two forward zones overlap, and
no backward zone lies inside a forward one.  ``checker.engines.zones`` has the argument, and the counterexamples.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from checker.kernels.encode import takes_part
from history.codes import ABSENT, OK, READ, WRITE
from history.compiled import compiled, compiled_part

VALID, INVALID, REPEATED = range(3)
_FAR: Final = 1 << 61
#: Ranks take 32 bits; this one stands for NEVER.
_NEVER: Final = (1 << 31) - 1
#: Columns of the table of clusters: least return, greatest invocation, invocation of the write, key.
_FIRST, _LAST, _WRITTEN, _KEY = range(4)


@compiled_part
def _extent(kind, outcome, value, invoke, ret):  # type: ignore[no-untyped-def]
    """Return (least value, greatest value, last place in the history) of the operations that take part."""
    low, high, top = np.int64(_FAR), np.int64(-_FAR), np.int64(-1)
    for row in range(kind.size):
        if not takes_part(kind[row], outcome[row]):
            continue
        top = max(top, invoke[row])
        if outcome[row] == OK:
            top = max(top, ret[row])
        if value[row] != ABSENT:
            low, high = min(low, value[row]), max(high, value[row])
    return low, high, top


@compiled_part
def _clusters(kind, outcome, value, key, invoke, ret, low, stride, table, state, counts):  # type: ignore[no-untyped-def]
    """Fill the table with one row for each value and key; the rows of absent values come first.

    With a ``stride`` of 0, all keys share the rows, and False means that two keys need the same one.  Stops early
    if there is nothing left to do.
    """
    keys = state.size
    for cluster in range(table.shape[0]):
        table[cluster, _FIRST], table[cluster, _LAST], table[cluster, _WRITTEN] = _NEVER, -1, -1
        table[cluster, _KEY] = -1
    for row in range(kind.size):
        if not takes_part(kind[row], outcome[row]):
            continue
        k = key[row]
        counts[k] += 1
        number = value[row] - low
        cluster = k if value[row] == ABSENT else keys + (number * stride + k if stride else number)
        if table[cluster, _KEY] < 0:
            table[cluster, _KEY] = k
        elif table[cluster, _KEY] != k:
            return False
        if kind[row] != READ:
            if kind[row] != WRITE or cluster < keys or table[cluster, _WRITTEN] >= 0:
                state[k] = REPEATED
                if keys == 1:
                    return True
            table[cluster, _WRITTEN] = invoke[row]
        if outcome[row] == OK:
            table[cluster, _FIRST] = min(table[cluster, _FIRST], ret[row])
        table[cluster, _LAST] = max(table[cluster, _LAST], invoke[row])
    return True


@compiled_part
def _mark(table, state, at):  # type: ignore[no-untyped-def]
    """Store clusters at the start of their zones, and mark keys with a cluster that contradicts itself."""
    for cluster in range(state.size, table.shape[0]):
        first, last, k = table[cluster, _FIRST], table[cluster, _LAST], table[cluster, _KEY]
        if k < 0:
            continue
        if table[cluster, _WRITTEN] < 0 or first < table[cluster, _WRITTEN]:
            if state[k] == VALID:
                state[k] = INVALID
        elif first != _NEVER:
            at[min(first, last)] = cluster


@compiled_part
def _sweep(table, state, at):  # type: ignore[no-untyped-def]
    """Visit the begins of zones in order; ``reach`` is how far the forward zones of each key extend so far."""
    reach = np.empty(state.size, np.int64)
    for k in range(state.size):
        reach[k] = table[k, _LAST]
    for moment in range(at.size):
        cluster = at[moment]
        if cluster:
            first, last, k = table[cluster, _FIRST], table[cluster, _LAST], table[cluster, _KEY]
            if reach[k] > first and state[k] == VALID:
                state[k] = INVALID
            if first < last:
                reach[k] = max(reach[k], last)


@compiled
def judge(kind, outcome, value, key, invoke, ret, keys):  # type: ignore[no-untyped-def]
    """Judge each key with the zones: VALID, INVALID or REPEATED; return that and each key's number of calls.

    The arguments are columns of operations, and the number of keys.  Returns None if values and keys do not lie
    close together, and for 2^31 events or more.
    """
    low, high, top = _extent(kind, outcome, value, invoke, ret)
    room = 8 * kind.size + 1024
    if top >= _NEVER or low < -_FAR or high > _FAR or high - low >= room:
        return None
    span = high - low + 1 if high >= low else np.int64(1)
    stride = keys if span * keys <= room else 0
    state, counts = np.zeros(keys, np.int8), np.zeros(keys, np.int64)
    table = np.empty((keys + span * max(1, stride), 4), np.int32)
    if not _clusters(kind, outcome, value, key, invoke, ret, low, stride, table, state, counts):
        return None
    if keys > 1 or state[0] == VALID:
        at = np.zeros(top + 1, np.int32)
        _mark(table, state, at)
        _sweep(table, state, at)
    return state, counts
