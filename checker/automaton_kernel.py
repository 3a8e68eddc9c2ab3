"""The compiled inner loop of the value-timeline automaton; see ``automaton`` for what it does and why.

Plain loops over arrays, compiled by numba and cached beside this file.  Importing this module costs 0.3 s.

Configurations of which one makes the other needless are looked for only where they can arise.  The old ones were
compared already, and taking a returned call's bit away from all of them adds nothing, but that one which had spent the
returned write may now be as good as one which had not.  New ones all have the value that was changed to.

Where many writes are pending, most configurations differ in which of them they spent, to no end.  With THRIFT only how
many they spent is compared; PRUNED tells that this left something out, and a dead end then proves nothing.
"""

# Compiled code is one flat loop: calls cost, and numba compiles what it is given.
# ruff: noqa: C901
from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from checker.slots_kernel import PLACE, earliest

# Places in the array of scalars.
COUNT, READS, WRITES, SIDE, FREE, COLUMNS, PEAK, STATUS, NEXT, START, FRESH, THRIFT, PRUNED = range(13)
RUNNING, DEAD, TOO_WIDE, TOO_MANY_SLOTS, TOO_MANY_PENDING = range(5)
_FLASHES: Final = 13
_NEVER: Final = 1 << 62


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
def _spent_less(pend, side, place, row, scalars):  # type: ignore[no-untyped-def]
    """Compare pending writes spent: (did it spend at most those in ``row``, is it the other way round)?"""
    less, more, theirs, ours = True, True, 0, 0
    for column in range(row.size):
        its = pend[side, place, column]
        theirs += its
        ours += row[column]
        if its > row[column]:
            less = False
        elif its < row[column]:
            more = False
    if scalars[THRIFT] and not (less or more):
        scalars[PRUNED] = 1
        return theirs <= ours, ours <= theirs
    return less, more


@njit(cache=True)
def _insert(val, used, sat, pend, side, count, value, spent, done, row, scalars):  # type: ignore[no-untyped-def]
    """Add a configuration to those from START on, which have its value, unless one there is at least as good.

    One is as good as another if it spent a subset and satisfied a superset; those that it beats are dropped.  Answers
    the new count, -1 if there is no room.
    """
    place = scalars[START]
    while place < count:
        u, s = used[side, place], sat[side, place]
        better = (u & ~spent) == 0 and (done & ~s) == 0
        worse = (spent & ~u) == 0 and (s & ~done) == 0
        if (better or worse) and pend.shape[2]:
            less, more = _spent_less(pend, side, place, row, scalars)
            better, worse = better and less, worse and more
        if better:
            return count
        if worse:
            count -= 1
            used[side, place] = used[side, count]
            sat[side, place] = sat[side, count]
            for column in range(row.size):
                pend[side, place, column] = pend[side, count, column]
            continue
        place += 1
    if count == used.shape[1]:
        return -1
    val[side, count] = value
    used[side, count] = spent
    sat[side, count] = done
    for column in range(row.size):
        pend[side, count, column] = row[column]
    return count + 1


@njit(cache=True)
def _beaten(val, used, sat, pend, side, place, start, end, bit, row, scalars):  # type: ignore[no-untyped-def]
    """Is a configuration made needless by one of those from ``start`` to ``end`` of the other side?"""
    value, spent, done = val[side, place], used[side, place], sat[side, place] & ~bit
    for column in range(row.size):
        row[column] = pend[side, place, column]
    for other in range(start, end):
        if val[1 - side, other] != value or used[1 - side, other] & ~spent:
            continue
        if done & ~sat[1 - side, other]:
            continue
        if not row.size or _spent_less(pend, 1 - side, other, row, scalars)[0]:
            return True
    return False


@njit(cache=True)
def _keep(val, used, sat, pend, side, count, value, bit, row, scalars):  # type: ignore[no-untyped-def]
    """Copy the configurations that have satisfied the returned call, without its bit; those with ``value`` come last.

    Answers (where those begin, the new count).
    """
    fresh, start, target = 0, 0, 1 - side
    for with_value in range(2):
        start = fresh
        end = fresh
        for unspent in range(2):
            for place in range(count):
                if (val[side, place] == value) != (with_value == 1) or not sat[side, place] & bit:
                    continue
                if (used[side, place] & bit == 0) != (unspent == 1):
                    continue
                if unspent and _beaten(val, used, sat, pend, side, place, start, end, bit, row, scalars):
                    continue
                val[target, fresh] = val[side, place]
                used[target, fresh] = used[side, place] & ~bit
                sat[target, fresh] = sat[side, place] & ~bit
                for column in range(row.size):
                    pend[target, fresh, column] = pend[side, place, column]
                fresh += 1
            if not unspent:
                end = fresh
    return start, fresh


@njit(cache=True)
def _change(configs, target, opened, scratch, flashes, scalars, value, spent, done, keep):  # type: ignore[no-untyped-def]
    """The value becomes ``value``; also every set of other values may have been current for an instant before.

    The first ``flashes`` values of ``scratch.flash`` are those that open reads wait for.  Answers the new count, -1 if
    there is no room.
    """
    val, used, sat, pend = configs
    rmask, wmask, colof, avail, slot_ret = opened.rmask, opened.wmask, opened.colof, opened.avail, opened.slot_ret
    row, flash, free_bits = scratch
    count = scalars[FRESH]
    usable = 0
    for index in range(flashes):
        other = flash[index]
        if other == value or (rmask[other] & ~done) == 0:
            continue
        bit = earliest(wmask[other] & ~spent, slot_ret)
        column = colof[other]
        if bit == 0 and (column < 0 or row[column] >= avail[column]):
            continue
        flash[usable], flash[index] = other, flash[usable]
        free_bits[usable] = bit
        usable += 1
    if usable > _FLASHES:
        return -1
    base = done | scalars[WRITES] | rmask[value]
    for choice in range(1 << usable):
        more_spent, more_done = spent, base
        for index in range(usable):
            if choice >> index & 1:
                more_spent |= free_bits[index]
                more_done |= rmask[flash[index]]
                if free_bits[index] == 0:
                    row[colof[flash[index]]] += 1
        count = _insert(val, used, sat, pend, target, count, value, more_spent & keep, more_done & keep, row, scalars)
        for index in range(usable):
            if choice >> index & 1 and free_bits[index] == 0:
                row[colof[flash[index]]] -= 1
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
        other = history.value[history.owner[opened.slot_ret[PLACE[low % 67]]]]
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
    val, used, sat, pend = configs
    side, keep, row = scalars[SIDE], ~bit, scratch.row
    flashes = _wanted(history, opened, scalars[READS] & keep, x, scratch.flash)
    work = 0
    if scalars[NEXT] < 0:
        scalars[START], scalars[FRESH] = _keep(val, used, sat, pend, side, scalars[COUNT], x, bit, row, scalars)
        scalars[NEXT] = 0
    while scalars[NEXT] < scalars[COUNT] and (work == 0 or work < budget):
        place = scalars[NEXT]
        scalars[NEXT] += 1
        spent, done = used[side, place], sat[side, place]
        if (spent if is_write else done) & bit:
            continue
        for column in range(row.size):
            row[column] = pend[side, place, column]
        if is_write:
            spent |= bit
        else:
            source = earliest(opened.wmask[x] & ~spent, opened.slot_ret)
            if source == 0:
                column = opened.colof[x]
                if column < 0 or row[column] >= opened.avail[column]:
                    continue
                row[column] += 1
            spent |= source
        fresh = _change(configs, 1 - side, opened, scratch, flashes, scalars, x, spent, done, keep)
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
