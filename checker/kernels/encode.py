"""Encode operations for the compiled engines: choose the calls that matter, number their values, rank their events.

Everything takes linear time (counting sort) if values and places lie close together; otherwise it sorts.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from history.codes import ABSENT, CAS, FAIL, NEVER, OK, READ
from history.compiled import compiled, compiled_part, step

_WIDE: Final = 1 << 61


class Gathered(NamedTuple):
    """Calls on one object, one row per call, in the order of their invocations.

    - ``kind``: as in the operations.
    - ``value``, ``old``: ids in the order of the values, 0 for the absent one; ``names`` has the values by id.
    - ``invoke``, ``ret``: dense ranks, ``NEVER`` for pending calls.
    - ``row``: the operation's row.
    - ``code``: for each rank, the call that begins, or the complement of the call that returns.
    - ``written``: for each id, whether the value was written (or swapped in by a CAS).

    This is a named tuple because compiled code cannot make dataclasses; ``RegisterColumns`` and ``TimelineColumns``
    take its arrays without copying them.
    """

    kind: NDArray[np.int8]
    value: NDArray[np.int64]
    old: NDArray[np.int64]
    invoke: NDArray[np.int64]
    ret: NDArray[np.int64]
    row: NDArray[np.int64]
    code: NDArray[np.int64]
    names: NDArray[np.int64]
    written: NDArray[np.bool_]


@step
def takes_part(kind, outcome):  # type: ignore[no-untyped-def]
    """Return whether the operation takes part: failed operations and reads without an answer do not."""
    return outcome == OK or (outcome != FAIL and kind != READ)


@compiled_part
def _numbered_by_table(value, low, span):  # type: ignore[no-untyped-def]
    table = np.zeros(span, np.int64)
    for place in range(value.size):
        if value[place] != ABSENT:
            table[value[place] - low] = 1
    count = 1
    for place in range(span):
        if table[place]:
            table[place] = count
            count += 1
    names = np.empty(count, np.int64)
    names[0] = ABSENT
    for place in range(span):
        if table[place]:
            names[table[place]] = low + place
    for place in range(value.size):
        value[place] = 0 if value[place] == ABSENT else table[value[place] - low]
    return names


@compiled_part
def _numbered(value, low, span):  # type: ignore[no-untyped-def]
    """Replace values by ids; return the values by id.

    Uses a table if the values lie close together, and sorts otherwise.
    """
    if span <= 8 * value.size + 1024:
        return _numbered_by_table(value, low, span)
    order = np.argsort(value)
    names = np.empty(value.size + 1, np.int64)
    names[0], count = ABSENT, 1
    for place in order:
        if value[place] != names[count - 1]:
            names[count] = value[place]
            count += 1
        value[place] = count - 1
    return names[:count].copy()


@compiled_part
def _extent(kind, outcome, value, old, invoke, ret):  # type: ignore[no-untyped-def]
    """Return (number of calls, number of events, last place, least value, greatest value, whether there is a CAS)."""
    size, events, last, low, high, has_cas = 0, 0, np.int64(-1), np.int64(_WIDE), np.int64(-_WIDE), False
    for row in range(kind.size):
        if not takes_part(kind[row], outcome[row]):
            continue
        size += 1
        events += 1
        last = max(last, invoke[row])
        if outcome[row] == OK:
            events += 1
            last = max(last, ret[row])
        if value[row] != ABSENT:
            low, high = min(low, value[row]), max(high, value[row])
        if kind[row] == CAS:
            has_cas = True
            if old[row] != ABSENT:
                low, high = min(low, old[row]), max(high, old[row])
    return size, events, last, low, high, has_cas


@compiled_part
def _select(kind, outcome, value, old, size, has_cas):  # type: ignore[no-untyped-def]
    """Return kinds, rows and values of the calls that take part; with ``has_cas``, old values follow the values."""
    kinds, rows = np.empty(size, np.int8), np.empty(size, np.int64)
    values = np.empty(2 * size if has_cas else size, np.int64)
    call = 0
    for row in range(kind.size):
        if not takes_part(kind[row], outcome[row]):
            continue
        kinds[call], rows[call], values[call] = kind[row], row, value[row]
        if has_cas:
            values[size + call] = old[row] if kind[row] == CAS else ABSENT
        call += 1
    return kinds, rows, values


@compiled_part
def _in_order(rows, outcome, invoke, ret, events, last):  # type: ignore[no-untyped-def]
    """Return for each rank the call that begins, or the complement of the call that returns."""
    code = np.empty(events, np.int64)
    event = 0
    if last < 8 * events + 1024:
        # By place: 0, or one more than the call, negative if it returns.
        at = np.zeros(last + 1, np.int32)
        for call in range(rows.size):
            at[invoke[rows[call]]] = call + 1
            if outcome[rows[call]] == OK:
                at[ret[rows[call]]] = ~call
        for moment in range(at.size):
            if at[moment]:
                code[event] = at[moment] - 1 if at[moment] > 0 else at[moment]
                event += 1
        return code
    moments, owners = np.empty(events, np.int64), np.empty(events, np.int64)
    for call in range(rows.size):
        moments[event], owners[event] = invoke[rows[call]], call
        event += 1
        if outcome[rows[call]] == OK:
            moments[event], owners[event] = ret[rows[call]], ~call
            event += 1
    order = np.argsort(moments)
    for rank in range(events):
        code[rank] = owners[order[rank]]
    return code


@compiled
def gather(kind, outcome, value, old, invoke, ret):  # type: ignore[no-untyped-def]
    """Return the calls on one object from the columns of its operations."""
    size, events, last, low, high, has_cas = _extent(kind, outcome, value, old, invoke, ret)
    kinds, rows, values = _select(kind, outcome, value, old, size, has_cas)
    close = low >= -_WIDE and high <= _WIDE
    names = _numbered(values, low, high - low + 1 if close and high >= low else (0 if high < low else NEVER))
    code = _in_order(rows, outcome, invoke, ret, events, last)
    ranks, returns = np.empty(size, np.int64), np.full(size, NEVER, np.int64)
    for event in range(events):
        if code[event] >= 0:
            ranks[code[event]] = event
        else:
            returns[~code[event]] = event
    written = np.zeros(names.size, np.bool_)
    for call in range(size):
        if kinds[call] != READ:
            written[values[call]] = True
    old_values = values[size:] if has_cas else values
    return Gathered(kinds, values[:size], old_values, ranks, returns, rows, code, names, written)


@compiled
def order_of_values(write, value, invoke, ret, values):  # type: ignore[no-untyped-def]
    """Return (by value its last read's return, by value where its pending writes begin, their invocations)."""
    last_read, starts = np.full(values, -1, np.int64), np.zeros(values + 1, np.int64)
    for call in range(value.size):
        if not write[call]:
            last_read[value[call]] = max(last_read[value[call]], ret[call])
        elif ret[call] == NEVER:
            starts[value[call] + 1] += 1
    for x in range(values):
        starts[x + 1] += starts[x]
    pending, fill = np.empty(starts[values], np.int64), starts.copy()
    for call in range(value.size):
        if write[call] and ret[call] == NEVER:
            pending[fill[value[call]]] = invoke[call]
            fill[value[call]] += 1
    return last_read, starts, pending
