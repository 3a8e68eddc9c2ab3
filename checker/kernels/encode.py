"""Columns for the compiled engines: what takes part, values numbered, places in the history as ranks; in one pass."""

# Compiled code is one flat loop: calls cost, and numba compiles what it is given.
# ruff: noqa: C901
from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from history.codes import ABSENT, CAS, FAIL, NEVER, OK, READ
from history.compiled import compiled

_WIDE: Final = 1 << 61


class Gathered(NamedTuple):
    """The calls on one object, one row a call, in the order of the invocations.

    ``kind`` as in the operations; ``value`` and ``old`` are ids in the order of the values, 0 for the absent one, named
    by ``names``; ``invoke`` and ``ret`` are dense ranks, ``NEVER`` for pending calls; ``row`` is the operation's row.
    ``code`` is by rank: the call that begins, or the complement of the one that returns.  ``written`` says by id
    whether anybody wrote the value (or swapped it in).
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


@compiled
def _numbered(value, low, span):  # type: ignore[no-untyped-def]
    """Put ids where the values are; answers the values by id.  By a table where they lie close, else by sorting."""
    if span <= 8 * value.size + 1024:
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
    order = np.argsort(value)
    names = np.empty(value.size + 1, np.int64)
    names[0], count = ABSENT, 1
    for place in order:
        if value[place] != names[count - 1]:
            names[count] = value[place]
            count += 1
        value[place] = count - 1
    return names[:count].copy()


@compiled
def _ranked(at, code):  # type: ignore[no-untyped-def]
    """Close up the events of ``at`` (by place: 0, or one more than the call, negative if it returns)."""
    event = 0
    for moment in range(at.size):
        if at[moment]:
            code[event] = at[moment] - 1 if at[moment] > 0 else at[moment]
            event += 1


@compiled
def gather(kind, outcome, value, old, invoke, ret):  # type: ignore[no-untyped-def]
    """The calls of one object, by columns as those of the operations."""
    size, events, top, low, high, swaps = 0, 0, np.int64(-1), np.int64(_WIDE), np.int64(-_WIDE), False
    for row in range(kind.size):
        if outcome[row] == FAIL or (outcome[row] != OK and kind[row] == READ):
            continue
        size += 1
        events += 1
        top = max(top, invoke[row])
        if outcome[row] == OK:
            events += 1
            top = max(top, ret[row])
        if value[row] != ABSENT:
            low, high = min(low, value[row]), max(high, value[row])
        if kind[row] == CAS:
            swaps = True
            if old[row] != ABSENT:
                low, high = min(low, old[row]), max(high, old[row])
    kinds, rows = np.empty(size, np.int8), np.empty(size, np.int64)
    values = np.empty(2 * size if swaps else size, np.int64)
    call = 0
    for row in range(kind.size):
        if outcome[row] == FAIL or (outcome[row] != OK and kind[row] == READ):
            continue
        kinds[call], rows[call], values[call] = kind[row], row, value[row]
        if swaps:
            values[size + call] = old[row] if kind[row] == CAS else ABSENT
        call += 1
    close = low >= -_WIDE and high <= _WIDE
    names = _numbered(values, low, high - low + 1 if close and high >= low else (0 if high < low else NEVER))
    code = np.empty(events, np.int64)
    if top < 8 * events + 1024:
        at = np.zeros(top + 1, np.int32)
        for call in range(size):
            at[invoke[rows[call]]] = call + 1
            if outcome[rows[call]] == OK:
                at[ret[rows[call]]] = ~call
        _ranked(at, code)
    else:
        moments, owners = np.empty(events, np.int64), np.empty(events, np.int64)
        event = 0
        for call in range(size):
            moments[event], owners[event] = invoke[rows[call]], call
            event += 1
            if outcome[rows[call]] == OK:
                moments[event], owners[event] = ret[rows[call]], ~call
                event += 1
        order = np.argsort(moments)
        for event in range(events):
            code[event] = owners[order[event]]
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
    old_values = values[size:] if swaps else values
    return Gathered(kinds, values[:size], old_values, ranks, returns, rows, code, names, written)


@compiled
def order_of_values(write, value, invoke, ret, values):  # type: ignore[no-untyped-def]
    """(by value the return of its last read, where its pending writes begin, the invocations of all of those)."""
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
