"""The compiled inner loop of the value-timeline automaton; see ``automaton`` for what it does and why.

Plain loops over arrays, compiled by numba and cached beside this file.  Importing this module costs 0.3 s.

Configurations of which one makes the other needless are looked for only where they can arise.  The old ones were
compared already, and taking a returned call's bit away from all of them adds nothing, but that one which had spent the
returned write may now be as good as one which had not.  New ones all have the value that was changed to.
"""

# Compiled code is one flat loop: calls cost, and numba compiles what it is given.
# ruff: noqa: C901
from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Places in the array of scalars.
COUNT, READS, WRITES, SIDE, FREE, COLUMNS, PEAK, STATUS, NEXT, START, FRESH = range(11)
RUNNING, DEAD, TOO_WIDE, TOO_MANY_SLOTS, TOO_MANY_PENDING = range(5)
SLOTS: Final = 62
_FLASHES: Final = 13
_NEVER: Final = 1 << 62
# The powers of two differ modulo 67: the place of a single bit without a loop.
_PLACE: Final = np.array([next((p for p in range(66) if pow(2, p, 67) == r), 0) for r in range(67)], np.int64)


class History(NamedTuple):
    """What does not change: by event, by call, and by value (the return of its last read)."""

    owner: NDArray[np.int64]
    is_return: NDArray[np.bool_]
    write: NDArray[np.bool_]
    value: NDArray[np.int64]
    ret: NDArray[np.int64]
    last_read: NDArray[np.int64]


class Open(NamedTuple):
    """What is open: slots of calls, by value the open reads and writes as masks, and the pending writes.

    ``colof`` is a value's column of counts, -1 for none; ``avail`` by column how many writes are pending.
    """

    slot_of: NDArray[np.int8]
    slot_ret: NDArray[np.int64]
    free_slots: NDArray[np.int64]
    rmask: NDArray[np.int64]
    wmask: NDArray[np.int64]
    colof: NDArray[np.int64]
    avail: NDArray[np.int64]
    free_columns: NDArray[np.int64]


class Configurations(NamedTuple):
    """Up to as many as the second axis is long: value, open writes spent, open calls satisfied, pending ones spent.

    The first axis has the side that is read and the side that is written.
    """

    val: NDArray[np.int64]
    used: NDArray[np.int64]
    sat: NDArray[np.int64]
    pend: NDArray[np.int32]


class Scratch(NamedTuple):
    """One configuration's counts; values that reads wait for, and the open write that would give each (0: pending)."""

    row: NDArray[np.int32]
    flash: NDArray[np.int64]
    free_bits: NDArray[np.int64]


@njit(cache=True)
def _insert(configs, side, start, count, value, spent, done, row):  # type: ignore[no-untyped-def]
    """Add a configuration to those from ``start`` on, which have its value, unless one there is at least as good.

    One is as good as another if it spent a subset and satisfied a superset; those that it beats are dropped.  Answers
    the new count, -1 if there is no room.
    """
    used, sat, pend = configs.used, configs.sat, configs.pend
    columns = pend.shape[2]
    place = start
    while place < count:
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
                used[side, place] = used[side, count]
                sat[side, place] = sat[side, count]
                for column in range(columns):
                    pend[side, place, column] = pend[side, count, column]
                continue
        place += 1
    if count == used.shape[1]:
        return -1
    configs.val[side, count] = value
    used[side, count] = spent
    sat[side, count] = done
    for column in range(columns):
        pend[side, count, column] = row[column]
    return count + 1


@njit(cache=True)
def _beaten(configs, side, place, target, start, end, bit):  # type: ignore[no-untyped-def]
    """Is a configuration made needless by one of those from ``start`` to ``end`` of the target side?"""
    value, spent, done = configs.val[side, place], configs.used[side, place], configs.sat[side, place] & ~bit
    for other in range(start, end):
        if configs.val[target, other] != value or configs.used[target, other] & ~spent:
            continue
        if done & ~configs.sat[target, other]:
            continue
        fewer = True
        for column in range(configs.pend.shape[2]):
            if configs.pend[target, other, column] > configs.pend[side, place, column]:
                fewer = False
                break
        if fewer:
            return True
    return False


@njit(cache=True)
def _keep(configs, side, count, target, value, bit):  # type: ignore[no-untyped-def]
    """Copy the configurations that have satisfied the returned call, without its bit; those with ``value`` come last.

    Answers (where those begin, the new count).
    """
    fresh, start = 0, 0
    for with_value in range(2):
        start = fresh
        end = fresh
        for unspent in range(2):
            for place in range(count):
                if (configs.val[side, place] == value) != (with_value == 1) or not configs.sat[side, place] & bit:
                    continue
                if (configs.used[side, place] & bit == 0) != (unspent == 1):
                    continue
                if unspent and _beaten(configs, side, place, target, start, end, bit):
                    continue
                configs.val[target, fresh] = configs.val[side, place]
                configs.used[target, fresh] = configs.used[side, place] & ~bit
                configs.sat[target, fresh] = configs.sat[side, place] & ~bit
                for column in range(configs.pend.shape[2]):
                    configs.pend[target, fresh, column] = configs.pend[side, place, column]
                fresh += 1
            if not unspent:
                end = fresh
    return start, fresh


@njit(cache=True)
def _earliest(mask, slot_ret):  # type: ignore[no-untyped-def]
    """Of the slots in the mask the one that returns first, as a bit; 0 if there is none."""
    if mask & (mask - 1) == 0:
        return mask
    best, bit = _NEVER, 0
    while mask:
        low = mask & -mask
        slot = _PLACE[low % 67]
        if slot_ret[slot] < best:
            best, bit = slot_ret[slot], low
        mask ^= low
    return bit


@njit(cache=True)
def _change(configs, target, start, count, opened, scratch, flashes, value, spent, done, writes, keep):  # type: ignore[no-untyped-def]
    """The value becomes ``value``; also every set of other values may have been current for an instant before.

    The first ``flashes`` values of ``scratch.flash`` are those that open reads wait for.  Answers the new count, -1 if
    there is no room.
    """
    row, flash, free_bits = scratch
    usable = 0
    for index in range(flashes):
        other = flash[index]
        if other == value or (opened.rmask[other] & ~done) == 0:
            continue
        bit = _earliest(opened.wmask[other] & ~spent, opened.slot_ret)
        column = opened.colof[other]
        if bit == 0 and (column < 0 or row[column] >= opened.avail[column]):
            continue
        flash[usable], flash[index] = other, flash[usable]
        free_bits[usable] = bit
        usable += 1
    if usable > _FLASHES:
        return -1
    base = done | writes | opened.rmask[value]
    for choice in range(1 << usable):
        more_spent, more_done = spent, base
        for index in range(usable):
            if choice >> index & 1:
                more_spent |= free_bits[index]
                more_done |= opened.rmask[flash[index]]
                if free_bits[index] == 0:
                    row[opened.colof[flash[index]]] += 1
        count = _insert(configs, target, start, count, value, more_spent & keep, more_done & keep, row)
        for index in range(usable):
            if choice >> index & 1 and free_bits[index] == 0:
                row[opened.colof[flash[index]]] -= 1
        if count < 0:
            return -1
    return count


@njit(cache=True)
def _wanted(history, opened, reads, value, flash):  # type: ignore[no-untyped-def]
    """The values other than ``value`` that the open ``reads`` wait for, into ``flash``; answers how many."""
    flashes = 0
    while reads:
        low = reads & -reads
        reads ^= low
        other = history.value[history.owner[opened.slot_ret[_PLACE[low % 67]]]]
        known = other == value
        for index in range(flashes):
            known = known or flash[index] == other
        if not known:
            flash[flashes] = other
            flashes += 1
    return flashes


@njit(cache=True)
def _returned(history, opened, configs, scratch, scalars, op, bit, budget):  # type: ignore[no-untyped-def]
    """A call returns that not every configuration can just pass: write those that are left to the other side.

    NEXT, START and FRESH say how far this came; the ``budget`` may end it early.  Answers the work done, -1 if there is
    no room.
    """
    x, is_write = history.value[op], history.write[op]
    side, keep, row = scalars[SIDE], ~bit, scratch.row
    flashes = _wanted(history, opened, scalars[READS] & keep, x, scratch.flash)
    work = 0
    if scalars[NEXT] < 0:
        scalars[START], scalars[FRESH] = _keep(configs, side, scalars[COUNT], 1 - side, x, bit)
        scalars[NEXT] = 0
    while scalars[NEXT] < scalars[COUNT] and work < budget:
        place = scalars[NEXT]
        scalars[NEXT] += 1
        spent, done = configs.used[side, place], configs.sat[side, place]
        if (spent if is_write else done) & bit:
            continue
        for column in range(configs.pend.shape[2]):
            row[column] = configs.pend[side, place, column]
        if is_write:
            spent |= bit
        else:
            source = _earliest(opened.wmask[x] & ~spent, opened.slot_ret)
            if source == 0:
                column = opened.colof[x]
                if column < 0 or row[column] >= opened.avail[column]:
                    continue
                row[column] += 1
            spent |= source
        fresh = _change(
            configs, 1 - side, scalars[START], scalars[FRESH], opened, scratch, flashes, x, spent, done,
            scalars[WRITES], keep,
        )  # fmt: skip
        if fresh < 0:
            return -1
        scalars[FRESH] = fresh
        work += 1 + (fresh >> 2)
    return work


@njit(cache=True)
def _becomes_pending(opened, configs, scalars, value):  # type: ignore[no-untyped-def]
    """Count a pending write of a value that somebody will read; answers False if there is no column for it."""
    if opened.colof[value] < 0:
        if scalars[COLUMNS] == configs.pend.shape[2]:
            return False
        column = opened.free_columns[scalars[COLUMNS]]
        scalars[COLUMNS] += 1
        opened.colof[value] = column
        opened.avail[column] = 0
        for place in range(scalars[COUNT]):
            configs.pend[scalars[SIDE], place, column] = 0
    opened.avail[opened.colof[value]] += 1
    return True


@njit(cache=True)
def _forget_pending(opened, configs, scalars, value):  # type: ignore[no-untyped-def]
    """Nobody will read the value any more: how many of its pending writes are spent does not matter."""
    column = opened.colof[value]
    for place in range(scalars[COUNT]):
        configs.pend[scalars[SIDE], place, column] = 0
    opened.colof[value] = -1
    scalars[COLUMNS] -= 1
    opened.free_columns[scalars[COLUMNS]] = column


@njit(cache=True)
def _begins(history, opened, configs, scalars, op):  # type: ignore[no-untyped-def]
    """A call that will return takes a slot; where the value is its own already, it is satisfied."""
    x, side = history.value[op], scalars[SIDE]
    scalars[FREE] -= 1
    slot = opened.free_slots[scalars[FREE]]
    opened.slot_of[op] = slot
    opened.slot_ret[slot] = history.ret[op]
    bit = np.int64(1) << slot
    if history.write[op]:
        scalars[WRITES] |= bit
        opened.wmask[x] |= bit
    else:
        scalars[READS] |= bit
        opened.rmask[x] |= bit
    for place in range(scalars[COUNT]):
        if configs.val[side, place] == x:
            configs.sat[side, place] |= bit


@njit(cache=True)
def _passes(history, configs, scalars, op, bit):  # type: ignore[no-untyped-def]
    """Where every configuration has explained the returned call, take its bit away; answers whether that was so."""
    side, count, is_write = scalars[SIDE], scalars[COUNT], history.write[op]
    for place in range(count):
        if not configs.sat[side, place] & bit or (is_write and not configs.used[side, place] & bit):
            return False
    for place in range(count):
        configs.sat[side, place] &= ~bit
        configs.used[side, place] &= ~bit
    return True


@njit(cache=True)
def advance(history, opened, configs, scratch, scalars, begin, budget):  # type: ignore[no-untyped-def]
    """Go through events from ``begin`` until the end, a dead end, a limit, or ``budget`` units of work.

    Answers the event that comes next (or the one that nothing explains, with STATUS set).  With TOO_WIDE nothing has
    happened at that event yet: it may be tried again with more room.
    """
    event, work = begin, 0
    while event < history.owner.size and work < budget:
        op = history.owner[event]
        x = history.value[op]
        work += 1 + (scalars[COUNT] >> 2)
        if not history.is_return[event]:
            if history.ret[op] == _NEVER:
                if history.last_read[x] > event and not _becomes_pending(opened, configs, scalars, x):
                    scalars[STATUS] = TOO_MANY_PENDING
                    return event
            elif scalars[FREE] == 0:
                scalars[STATUS] = TOO_MANY_SLOTS
                return event
            else:
                _begins(history, opened, configs, scalars, op)
            event += 1
            continue
        slot = opened.slot_of[op]
        bit = np.int64(1) << slot
        if not _passes(history, configs, scalars, op, bit):
            done = _returned(history, opened, configs, scratch, scalars, op, bit, budget - work)
            if done < 0:
                scalars[STATUS], scalars[NEXT] = TOO_WIDE, -1
                return event
            work += done
            if scalars[NEXT] < scalars[COUNT]:
                return event
            scalars[NEXT] = -1
            if scalars[FRESH] == 0:
                scalars[STATUS] = DEAD
                return event
            scalars[COUNT], scalars[SIDE] = scalars[FRESH], 1 - scalars[SIDE]
            scalars[PEAK] = max(scalars[PEAK], scalars[COUNT])
        if history.write[op]:
            scalars[WRITES] &= ~bit
            opened.wmask[x] &= ~bit
        else:
            scalars[READS] &= ~bit
            opened.rmask[x] &= ~bit
            if history.last_read[x] == event and opened.colof[x] >= 0:
                _forget_pending(opened, configs, scalars, x)
        opened.free_slots[scalars[FREE]] = slot
        scalars[FREE] += 1
        event += 1
    return event
