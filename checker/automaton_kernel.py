"""The compiled inner loop of the value-timeline automaton; see ``automaton`` for what it does and why.

Plain loops over arrays, compiled by numba and cached beside this file.  Importing this module costs 0.3 s.
"""

# Compiled code is one flat loop: calls cost, and numba compiles what it is given.
# ruff: noqa: C901
from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

# Places in the array of scalars.
COUNT, READS, WRITES, SIDE, FREE, COLUMNS, PEAK, STATUS = range(8)
RUNNING, DEAD, TOO_WIDE, TOO_MANY_SLOTS, TOO_MANY_PENDING = range(5)
SLOTS: Final = 62
_NEVER: Final = 1 << 62


@njit(cache=True)
def _insert(side, count, val, used, sat, pend, columns, value, spent, done, row):  # type: ignore[no-untyped-def]
    """Add a configuration unless one that is there is at least as good; drop those that it beats.

    One is as good as another with the same value if it spent a subset and satisfied a superset.  Answers the new count.
    """
    place = 0
    while place < count:
        if val[side, place] == value:
            u, s = used[side, place], sat[side, place]
            better = (u & ~spent) == 0 and (done & ~s) == 0
            worse = (spent & ~u) == 0 and (s & ~done) == 0
            if better or worse:
                for column in range(columns):
                    if pend[side, place, column] > row[column]:
                        better = False
                    elif pend[side, place, column] < row[column]:
                        worse = False
                if better:
                    return count
                if worse:
                    count -= 1
                    val[side, place] = val[side, count]
                    used[side, place] = used[side, count]
                    sat[side, place] = sat[side, count]
                    for column in range(columns):
                        pend[side, place, column] = pend[side, count, column]
                    continue
        place += 1
    if count == val.shape[1]:
        return -1
    val[side, count] = value
    used[side, count] = spent
    sat[side, count] = done
    for column in range(columns):
        pend[side, count, column] = row[column]
    return count + 1


@njit(cache=True)
def _earliest(mask, slot_ret):  # type: ignore[no-untyped-def]
    """Of the slots in the mask the one that returns first, as a bit; 0 if there is none."""
    best, bit = _NEVER, 0
    while mask:
        low = mask & -mask
        slot = 0
        probe = low
        if probe >> 32:
            probe >>= 32
            slot += 32
        if probe >> 16:
            probe >>= 16
            slot += 16
        if probe >> 8:
            probe >>= 8
            slot += 8
        while probe > 1:
            probe >>= 1
            slot += 1
        if slot_ret[slot] < best:
            best, bit = slot_ret[slot], low
        mask ^= low
    return bit


@njit(cache=True)
def _change(  # type: ignore[no-untyped-def]
    side,
    count,
    val,
    used,
    sat,
    pend,
    columns,
    row,
    value,
    spent,
    done,
    writes,
    keep,
    flash,
    flashes,
    rmask,
    wmask,
    colof,
    avail,
    slot_ret,
    free_bits,
):
    """The value becomes ``value``; also every set of other values may have been current for an instant before.

    ``flash`` holds the values that open reads wait for.  Answers the new count, -1 if there is no room.
    """
    usable = 0
    for index in range(flashes):
        other = flash[index]
        if other == value or (rmask[other] & ~done) == 0:
            continue
        bit = _earliest(wmask[other] & ~spent, slot_ret)
        column = colof[other]
        if bit == 0 and (column < 0 or row[column] >= avail[column]):
            continue
        flash[usable], flash[index] = other, flash[usable]
        free_bits[usable] = bit
        usable += 1
    base = done | writes | rmask[value]
    for choice in range(1 << usable):
        more_spent, more_done = spent, base
        for index in range(usable):
            if choice >> index & 1:
                more_spent |= free_bits[index]
                more_done |= rmask[flash[index]]
                if free_bits[index] == 0:
                    row[colof[flash[index]]] += 1
        count = _insert(side, count, val, used, sat, pend, columns, value, more_spent & keep, more_done & keep, row)
        for index in range(usable):
            if choice >> index & 1 and free_bits[index] == 0:
                row[colof[flash[index]]] -= 1
        if count < 0:
            return -1
    return count


@njit(cache=True)
def advance(  # type: ignore[no-untyped-def]
    owner,
    is_return,
    kind,
    value,
    ret,
    last_read,
    start,
    budget,
    scalars,
    slot_of,
    slot_ret,
    free_slots,
    rmask,
    wmask,
    colof,
    avail,
    free_columns,
    val,
    used,
    sat,
    pend,
):
    """Go through events from ``start`` until the end, a dead end, a limit, or ``budget`` units of work.

    Answers the event that comes next (or the one that nothing explains, with STATUS set).
    """
    events = owner.size
    flash = np.empty(64, np.int64)
    free_bits = np.empty(64, np.int64)
    row = np.zeros(max(1, pend.shape[2]), np.int32)
    event, work = start, 0
    while event < events and work < budget:
        op = owner[event]
        x = value[op]
        count, side = scalars[COUNT], scalars[SIDE]
        work += 1
        if not is_return[event]:
            if ret[op] == _NEVER:
                if last_read[x] > event:
                    if colof[x] < 0:
                        if scalars[COLUMNS] == pend.shape[2]:
                            scalars[STATUS] = TOO_MANY_PENDING
                            return event
                        colof[x] = free_columns[scalars[COLUMNS]]
                        scalars[COLUMNS] += 1
                        avail[colof[x]] = 0
                        for place in range(count):
                            pend[side, place, colof[x]] = 0
                    avail[colof[x]] += 1
                event += 1
                continue
            if scalars[FREE] == 0:
                scalars[STATUS] = TOO_MANY_SLOTS
                return event
            scalars[FREE] -= 1
            slot = free_slots[scalars[FREE]]
            slot_of[op] = slot
            slot_ret[slot] = ret[op]
            bit = np.int64(1) << slot
            if kind[op] == 0:
                scalars[READS] |= bit
                rmask[x] |= bit
            else:
                scalars[WRITES] |= bit
                wmask[x] |= bit
            for place in range(count):
                if val[side, place] == x:
                    sat[side, place] |= bit
            work += count >> 3
            event += 1
            continue
        slot = slot_of[op]
        bit = np.int64(1) << slot
        keep = ~bit
        is_write = kind[op] != 0
        simple = True
        for place in range(count):
            if (sat[side, place] & bit) == 0 or (is_write and (used[side, place] & bit) == 0):
                simple = False
                break
        if simple:
            for place in range(count):
                sat[side, place] &= keep
                used[side, place] &= keep
        else:
            flashes = 0
            left = scalars[READS] & keep
            for place in range(slot_ret.size):
                if left >> place & 1:
                    other = value[owner[slot_ret[place]]]
                    known = False
                    for index in range(flashes):
                        if flash[index] == other:
                            known = True
                            break
                    if not known and other != x:
                        flash[flashes] = other
                        flashes += 1
            target = 1 - side
            fresh = 0
            columns = pend.shape[2]
            for place in range(count):
                if sat[side, place] & bit:
                    for column in range(columns):
                        row[column] = pend[side, place, column]
                    fresh = _insert(
                        target,
                        fresh,
                        val,
                        used,
                        sat,
                        pend,
                        columns,
                        val[side, place],
                        used[side, place] & keep,
                        sat[side, place] & keep,
                        row,
                    )
                    work += fresh >> 2
                    if fresh < 0:
                        scalars[STATUS] = TOO_WIDE
                        return event
            for place in range(count):
                spent, done = used[side, place], sat[side, place]
                if is_write:
                    if spent & bit:
                        continue
                elif done & bit:
                    continue
                for column in range(columns):
                    row[column] = pend[side, place, column]
                if is_write:
                    spent |= bit
                else:
                    source = _earliest(wmask[x] & ~spent, slot_ret)
                    if source == 0:
                        if colof[x] < 0 or row[colof[x]] >= avail[colof[x]]:
                            continue
                        row[colof[x]] += 1
                    spent |= source
                fresh = _change(
                    target,
                    fresh,
                    val,
                    used,
                    sat,
                    pend,
                    columns,
                    row,
                    x,
                    spent,
                    done,
                    scalars[WRITES],
                    keep,
                    flash,
                    flashes,
                    rmask,
                    wmask,
                    colof,
                    avail,
                    slot_ret,
                    free_bits,
                )
                work += fresh >> 2
                if fresh < 0:
                    scalars[STATUS] = TOO_WIDE
                    return event
            if fresh == 0:
                scalars[STATUS] = DEAD
                return event
            scalars[COUNT] = fresh
            scalars[SIDE] = target
            if fresh > scalars[PEAK]:
                scalars[PEAK] = fresh
        if is_write:
            scalars[WRITES] &= keep
            wmask[x] &= keep
        else:
            scalars[READS] &= keep
            rmask[x] &= keep
            if last_read[x] == event and colof[x] >= 0:
                side, column = scalars[SIDE], colof[x]
                for place in range(scalars[COUNT]):
                    pend[side, place, column] = 0
                colof[x] = -1
                scalars[COLUMNS] -= 1
                free_columns[scalars[COLUMNS]] = column
        free_slots[scalars[FREE]] = slot
        scalars[FREE] += 1
        event += 1
    return event


def warm() -> Any:
    """The compiled function, for those who want to pay the compilation before they need it."""
    return advance
