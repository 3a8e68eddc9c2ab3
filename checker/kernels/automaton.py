"""The compiled inner loop of the value-timeline automaton; see ``automaton`` for what it does and why.

One flat loop over arrays, compiled by numba and cached beside this file.  Importing this module costs 0.3 s.

A configuration is (value, open writes spent, open reads satisfied, calls that were open at the last change, the event
of that change).  What is open and belongs to the present value is satisfied without being marked: so nothing is done to
configurations when a call begins.

Where many writes are pending, most configurations differ in which of them they spent, to no end.  With THRIFT only how
many they spent is compared; PRUNED tells that this left something out, and a dead end then proves nothing.
"""

# Compiled code is one flat loop: calls cost, and numba compiles what it is given.
# ruff: noqa: C901
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checker.kernels.slots import PLACE, earliest
from history.codes import NEVER
from history.compiled import compiled

# Places in the array of scalars.
COUNT, READS, WRITES, SIDE, FREE, COLUMNS, PEAK, STATUS, NEXT, FRESH, THRIFT, PRUNED, WORK = range(13)
RUNNING, DEAD, TOO_WIDE, TOO_MANY_SLOTS, TOO_MANY_PENDING = range(5)


class History(NamedTuple):
    """What does not change.

    By event: ``code``, the call that begins, or the complement of the one that returns.  By call: ``write``, ``value``,
    ``ret``.  By value: the return of its ``last_read``, and where its pending writes begin in ``pending``, which holds
    their invocations in order.
    """

    code: NDArray[np.int64]
    write: NDArray[np.bool_]
    value: NDArray[np.int64]
    ret: NDArray[np.int64]
    last_read: NDArray[np.int64]
    pending_from: NDArray[np.int64]
    pending: NDArray[np.int64]


class Open(NamedTuple):
    """What is open: slots of calls, by value the open reads and writes as masks, and the pending writes.

    ``colof`` is a value's column of counts, -1 for none; ``avail`` by column how many writes are pending.
    """

    slot_of: NDArray[np.int8]
    slot_ret: NDArray[np.int64]
    rmask: NDArray[np.int64]
    wmask: NDArray[np.int64]
    colof: NDArray[np.int64]
    avail: NDArray[np.int64]
    free_columns: NDArray[np.int64]


class Configurations(NamedTuple):
    """Up to as many as the second axis is long; the first has the side that is read and the side that is written.

    ``at`` is the event of the last change, ``pend`` says how many pending writes of each column were spent.
    """

    val: NDArray[np.int64]
    used: NDArray[np.int64]
    sat: NDArray[np.int64]
    chg: NDArray[np.int64]
    at: NDArray[np.int64]
    pend: NDArray[np.int32]


@compiled
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


@compiled
def _pending_by(pending, start, count, moment):  # type: ignore[no-untyped-def]
    """How many of a value's ``count`` pending writes had begun by an event."""
    while count and pending[start + count - 1] > moment:
        count -= 1
    return count


@compiled
def _becomes_pending(colof, avail, free_columns, pend, scalars, count, side, value):  # type: ignore[no-untyped-def]
    """Count a pending write of a value that somebody will read; answers False if there is no column for it."""
    if colof[value] < 0:
        if scalars[COLUMNS] == pend.shape[2]:
            return False
        column = free_columns[scalars[COLUMNS]]
        scalars[COLUMNS] += 1
        colof[value] = column
        avail[column] = 0
        for place in range(count):
            pend[side, place, column] = 0
    avail[colof[value]] += 1
    return True


@compiled
def _forget_pending(colof, free_columns, pend, scalars, count, side, value):  # type: ignore[no-untyped-def]
    """Nobody will read the value any more: how many of its pending writes are spent does not matter."""
    column = colof[value]
    for place in range(count):
        pend[side, place, column] = 0
    colof[value] = -1
    scalars[COLUMNS] -= 1
    free_columns[scalars[COLUMNS]] = column


@compiled
def advance(history, opened, configs, row, scalars, begin, budget):  # type: ignore[no-untyped-def]
    """Go through events from ``begin`` until the end, a dead end, a limit, or ``budget`` units of work.

    Answers the event that comes next (or the one that nothing explains, with STATUS set); WORK says how many units were
    spent.  A return that is not done yet is gone on with: NEXT and FRESH say how far it came.  With TOO_WIDE nothing
    has happened at that event: it may be tried again with more room.
    """
    code, write, value, ret = history.code, history.write, history.value, history.ret
    last_read, pending_from, pending = history.last_read, history.pending_from, history.pending
    slot_of, slot_ret, rmask, wmask = opened.slot_of, opened.slot_ret, opened.rmask, opened.wmask
    colof, avail, free_columns = opened.colof, opened.avail, opened.free_columns
    val, used, sat, chg, at, pend = configs.val, configs.used, configs.sat, configs.chg, configs.at, configs.pend
    room, columns = val.shape[1], row.size
    count, side, reads, writes, free = scalars[COUNT], scalars[SIDE], scalars[READS], scalars[WRITES], scalars[FREE]
    place, fresh, peak = scalars[NEXT], scalars[FRESH], scalars[PEAK]
    status, event, work = RUNNING, begin, 0
    while event < code.size and work < budget:
        op = code[event]
        work += 1
        if op >= 0:
            x = value[op]
            if ret[op] == NEVER:
                if last_read[x] > event and not _becomes_pending(
                    colof, avail, free_columns, pend, scalars, count, side, x
                ):
                    status = TOO_MANY_PENDING
                    break
            elif free == 0:
                status = TOO_MANY_SLOTS
                break
            else:
                bit = free & -free
                free ^= bit
                slot = PLACE[bit % 67]
                slot_of[op], slot_ret[slot] = slot, ret[op]
                if write[op]:
                    writes |= bit
                    wmask[x] |= bit
                else:
                    reads |= bit
                    rmask[x] |= bit
            event += 1
            continue
        op = ~op
        x, is_write = value[op], write[op]
        bit = np.int64(1) << slot_of[op]
        keep = ~bit
        if place < 0:
            passed = True
            for c in range(count):
                explained = used[side, c] if is_write else sat[side, c]
                passed = explained & bit != 0 or (val[side, c] == x and not is_write)
                if not passed:
                    break
            if passed:
                for c in range(count):
                    used[side, c] &= keep
                    sat[side, c] &= keep
                    chg[side, c] &= keep
            else:
                place, fresh = 0, 0
        if place >= 0:
            target, still_open = 1 - side, (reads | writes) & keep
            mine, first = rmask[x], place
            while place < count and (place == first or work < budget):
                v, spent, done, changed, moment = (
                    val[side, place], used[side, place], sat[side, place], chg[side, place], at[side, place]
                )  # fmt: skip
                for column in range(columns):
                    row[column] = pend[side, place, column]
                place += 1
                stays, changes, charged, flashed = True, False, -1, -1
                source = np.int64(0)
                after_spent, after_done = spent, done
                if is_write:
                    if spent & bit == 0:
                        if v == x:
                            # Written once more: as good as before, and all that is open has seen a change.
                            changed, moment = still_open, event
                        else:
                            changes, stays = True, changed & bit != 0
                            # Current for an instant before the last change; nobody else could use this write any more.
                            done |= mine & changed
                elif v != x and done & bit == 0:
                    column = colof[x]
                    stays = False
                    if changed & bit:
                        source = earliest(wmask[x] & changed & ~spent, slot_ret)
                        stays = source != 0
                        if source == 0 and column >= 0:
                            stays = row[column] < _pending_by(pending, pending_from[x], avail[column], moment)
                            flashed = column
                        spent |= source
                        done |= mine & changed
                    source = earliest(wmask[x] & ~after_spent, slot_ret)
                    changes = source != 0
                    if source == 0 and column >= 0:
                        changes = row[column] < avail[column]
                        charged = column
                for option in range(2):
                    if option == 0:
                        if not stays:
                            continue
                        nv, ns, nd, nc, nt = v, spent & keep, done & keep, changed & keep, moment
                        column = flashed
                    else:
                        if not changes:
                            continue
                        nv, ns, nd, nc, nt = (
                            x,
                            (after_spent | source) & keep,
                            (after_done | rmask[v] | mine) & keep,
                            still_open,
                            event,
                        )
                        column = charged
                    if column >= 0:
                        row[column] += 1
                    nd |= rmask[nv] & keep
                    nc |= nd | ns | (wmask[nv] & keep)
                    needless, other = False, 0
                    while other < fresh:
                        if val[target, other] == nv:
                            us, ds, cs = used[target, other], sat[target, other], chg[target, other]
                            better = us & ~ns == 0 and nd & ~ds == 0 and nc & ~cs == 0
                            worse = ns & ~us == 0 and ds & ~nd == 0 and cs & ~nc == 0
                            if (better or worse) and columns:
                                less, more = _spent_less(pend, target, other, row, scalars)
                                better = better and less and at[target, other] >= nt
                                worse = worse and more and at[target, other] <= nt
                            if better:
                                needless = True
                                break
                            if worse:
                                fresh -= 1
                                val[target, other] = val[target, fresh]
                                used[target, other] = used[target, fresh]
                                sat[target, other] = sat[target, fresh]
                                chg[target, other] = chg[target, fresh]
                                at[target, other] = at[target, fresh]
                                for c in range(columns):
                                    pend[target, other, c] = pend[target, fresh, c]
                                continue
                        other += 1
                    work += 1 + (other >> 3)
                    if not needless:
                        if fresh == room:
                            status = TOO_WIDE
                            break
                        val[target, fresh], used[target, fresh], sat[target, fresh] = nv, ns, nd
                        chg[target, fresh], at[target, fresh] = nc, nt
                        for c in range(columns):
                            pend[target, fresh, c] = row[c]
                        fresh += 1
                    if column >= 0:
                        row[column] -= 1
                if status == TOO_WIDE:
                    break
            if status == TOO_WIDE:
                place = -1
                break
            if place < count:
                break
            place = -1
            if fresh == 0:
                status = DEAD
                break
            count, side = fresh, target
            peak = max(peak, count)
        if is_write:
            writes &= keep
            wmask[x] &= keep
        else:
            reads &= keep
            rmask[x] &= keep
            if last_read[x] == event and colof[x] >= 0:
                _forget_pending(colof, free_columns, pend, scalars, count, side, x)
        free |= bit
        event += 1
    scalars[COUNT], scalars[SIDE], scalars[READS], scalars[WRITES], scalars[FREE] = count, side, reads, writes, free
    scalars[NEXT], scalars[FRESH], scalars[PEAK], scalars[STATUS], scalars[WORK] = place, fresh, peak, status, work
    return event
