"""Transactions on several registers, compiled: a state is a row of numbers, and a hash table numbers the rows.

A transaction requires the contents of some registers and sets others.  The hash of a row is a sum over its registers,
so a transaction changes it only by what it sets (as in Zobrist's hashes).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from history.compiled import compiled, compiled_part, step

_HASH: Final = 0x9E3779B97F4A7C15


class Rows(NamedTuple):
    """States and parts of transactions.

    A state is a row of ``cells``, one for each register; ``ids`` finds it by its entry in ``hashes``.  What a
    transaction requires is from ``start`` to ``middle``, and what it sets from there to the next transaction's
    start.  Each part is the ``item`` that the register at this ``place`` must hold, or gets; no register ever holds
    -1.
    """

    cells: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    ids: NDArray[np.int32]
    start: NDArray[np.int32]
    middle: NDArray[np.int32]
    place: NDArray[np.int32]
    item: NDArray[np.int32]


NO_ROWS: Final = Rows(np.zeros((0, 0), np.int32), np.zeros(0, np.uint64), *np.zeros((5, 0), np.int32))


@compiled
def number_transactions(writes, place, item, lengths, pending):  # type: ignore[no-untyped-def]
    """Number the transactions, equal ones alike; return the numbers, and their parts.

    By step: whether it writes, the register's ``place``, and the ``item``.  If a transaction reads a register after
    writing it, it must read what it wrote.  What a pending transaction read is unknown.
    """
    size = lengths.size
    start, middle = np.zeros(size + 1, np.int32), np.zeros(size, np.int32)
    where, contents = np.empty(place.size + size, np.int32), np.empty(place.size + size, np.int32)
    numbers, made, begin = np.empty(size, np.int64), 0, 0
    table = np.full(1 << int(np.ceil(np.log2(2 * size + 2))), -1, np.int32)
    for op in range(size):
        first, end = np.int64(start[made]), begin + lengths[op]
        asks = first if pending[op] else _put_reads(writes, place, item, begin, end, where, contents, first)
        if asks < 0:
            # It requires -1, which no register holds, so it can never happen.
            where[first], contents[first] = 0, -1
            asks = sets = first + 1
        else:
            sets = _put_writes(writes, place, item, begin, end, where, contents, asks)
        begin = end
        middle[made], start[made + 1] = asks, sets
        numbers[op] = _same(made, start, middle, where, contents, table)
        made = max(made, numbers[op] + 1)
    used = start[made]
    return numbers, (start[: made + 1], middle[:made].copy(), where[:used].copy(), contents[:used].copy())


@step
def _put_reads(writes, place, item, begin, end, where, contents, first):  # type: ignore[no-untyped-def]
    """Store from ``first`` on what the steps require; return where that ends.

    Returns -1 if the steps contradict each other.
    """
    asks = first
    for at in range(begin, end):
        if writes[at]:
            continue
        known = np.int64(-2)
        for part in range(first, asks):
            if where[part] == place[at]:
                known = np.int64(contents[part])
        for earlier in range(begin, at):
            if writes[earlier] and place[earlier] == place[at]:
                known = np.int64(item[earlier])
        if known == -2:
            where[asks], contents[asks] = place[at], item[at]
            asks += 1
        elif known != item[at]:
            return np.int64(-1)
    return asks


@step
def _put_writes(writes, place, item, begin, end, where, contents, first):  # type: ignore[no-untyped-def]
    """Store from ``first`` on the last item that the steps set in each register; return where that ends."""
    sets = first
    for at in range(begin, end):
        if writes[at]:
            part = first
            while part < sets and where[part] != place[at]:
                part += 1
            where[part], contents[part] = place[at], item[at]
            sets = max(sets, part + 1)
    return sets


@compiled_part
def _same(made, start, middle, where, contents, table):  # type: ignore[no-untyped-def]
    """Return the number of the first transaction equal to the last one; enter it into ``table`` if it is new."""
    asks, size = middle[made] - start[made], start[made + 1] - start[made]
    hashed = np.uint64(asks)
    for part in range(start[made], start[made + 1]):
        hashed = (hashed ^ _weight(where[part], contents[part])) * np.uint64(_HASH)
    at = home(hashed, table)
    while table[at] >= 0:
        other = table[at]
        alike = middle[other] - start[other] == asks and start[other + 1] - start[other] == size
        part = 0
        while alike and part < size:
            mine, its = start[made] + part, start[other] + part
            alike = where[mine] == where[its] and contents[mine] == contents[its]
            part += 1
        if alike:
            return np.int64(other)
        at = (at + 1) & (table.size - 1)
    table[at] = made
    return np.int64(made)


@step
def home(hashed, table):  # type: ignore[no-untyped-def]
    """Return where to start searching for a hash in a table whose size is a power of two."""
    return np.int64((hashed ^ (hashed >> np.uint64(32))) & np.uint64(table.size - 1))


@step
def _weight(place, item):  # type: ignore[no-untyped-def]
    """Return what an item at a place adds to the hash of a row: 0 if the register is absent."""
    h = np.uint64(item) * np.uint64(0xBF58476D1CE4E5B9) ^ np.uint64(place) * np.uint64(_HASH)
    return (h ^ (h >> np.uint64(29))) * np.uint64(item)


@step
def holds(rows, state, txn):  # type: ignore[no-untyped-def]
    """Return whether the row holds what the transaction requires."""
    holds = True
    for part in range(rows.start[txn], rows.middle[txn]):
        holds &= rows.cells[state, rows.place[part]] == rows.item[part]
    return holds


@step
def becomes(rows, state, txn, made):  # type: ignore[no-untyped-def]
    """Return the state after a transaction; a new state becomes number ``made``, for which there must be room."""
    cells, hashes, ids = rows.cells, rows.hashes, rows.ids
    hashed = hashes[state]
    for register in range(cells.shape[1]):
        cells[made, register] = cells[state, register]
    for part in range(rows.middle[txn], rows.start[txn + 1]):
        register, item = rows.place[part], rows.item[part]
        hashed += _weight(register, item) - _weight(register, cells[made, register])
        cells[made, register] = item
    at = home(hashed, ids)
    while ids[at] >= 0:
        other = ids[at]
        register = 0
        while register < cells.shape[1] and cells[other, register] == cells[made, register]:
            register += 1
        if register == cells.shape[1]:
            return np.int64(other)
        at = (at + 1) & (ids.size - 1)
    ids[at], hashes[made] = made, hashed
    return np.int64(made)


@compiled
def rehash_states(made, hashes, ids):  # type: ignore[no-untyped-def]
    """Fill a larger table with the states' hashes."""
    for state in range(made):
        at = home(hashes[state], ids)
        while ids[at] >= 0:
            at = (at + 1) & (ids.size - 1)
        ids[at] = state
