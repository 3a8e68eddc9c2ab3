"""Compiled value-timeline automaton, which decides registers whose values repeat.

Source: just-in-time linearization (Lowe, "Testing for linearizability", 2017) with reductions for reads and writes;
``checker.engines.automaton`` has the argument for each.  The automaton visits the events in order, with the set of all
configurations that explain the events so far: what the value may be, and which open calls have happened.  No
configuration changes when a call begins.  When a call returns, each configuration becomes at most two:

* the value stays, if the call has happened, or may have happened for an instant before the last change (``_stay``);
* the value changes to the call's own, now (``_change``).

Of two configurations with the same value, the one that has done more at less cost stays (``_add``).  When none is left,
no order explains the history up to this event.  Open calls with the present value count as done without being marked.

If many writes are pending, very many configurations differ only in which of them they spent.  With ``thrift``, only the
number that they spent is compared.  ``pruned`` says that this left something out, and a dead end then proves nothing.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checker.kernels.pending_writes import NO_COLUMN, begun_by, compare_pending, count_pending, give_column_back
from checker.kernels.slots import PLACE, earliest
from history.codes import NEVER
from history.compiled import compiled_loop, step

#: Values of ``status``.
RUNNING, DEAD, TOO_WIDE, TOO_MANY_SLOTS, TOO_MANY_PENDING = range(5)
#: Progress of the automaton: an array of one row.  ``count`` configurations are on the ``side`` to read; ``peak`` is
#: the greatest count so far.  ``reads`` and ``writes`` are the slots of open calls, ``free`` the other slots.
#: ``columns`` is the number of columns of counts in use.  While a return is being processed, ``next`` is the next
#: configuration (else -1), and ``fresh`` is the number on the other side.  ``work`` is what the last ``advance`` spent.
PROGRESS: Final = np.dtype([(name, np.int64) for name in (
    "count", "side", "peak", "reads", "writes", "free", "columns", "next", "fresh", "thrift", "pruned",
    "status", "work",
)])  # fmt: skip


class AutomatonInput(NamedTuple):
    """A history as the automaton reads it.

    By event: ``code``, the call that begins, or the complement of the call that returns.  By call: ``write``,
    ``value``, ``ret``.  By value: the return of its ``last_read``, and where its pending writes begin in
    ``pending``, which has their invocations in order.
    """

    code: NDArray[np.int64]
    write: NDArray[np.bool_]
    value: NDArray[np.int64]
    ret: NDArray[np.int64]
    last_read: NDArray[np.int64]
    pending_from: NDArray[np.int64]
    pending: NDArray[np.int64]


class Open(NamedTuple):
    """Open calls: their slots, the open reads and writes of each value as masks of slots, and the pending writes.

    ``column_of`` is a value's column of counts; ``available`` is the number of pending writes in each column.
    """

    slot_of: NDArray[np.int8]
    slot_ret: NDArray[np.int64]
    reads_of: NDArray[np.int64]
    writes_of: NDArray[np.int64]
    column_of: NDArray[np.int64]
    available: NDArray[np.int64]
    free_columns: NDArray[np.int64]


class Configurations(NamedTuple):
    """Two sides of configurations, one to read and one to write: ``rows`` of CONFIGURATION.

    ``pending_spent`` is the number of pending writes spent from each column.
    """

    rows: NDArray[np.void]
    pending_spent: NDArray[np.int32]


class Side(NamedTuple):
    """One side of ``Configurations``: the same arrays with one axis less."""

    rows: NDArray[np.void]
    pending_spent: NDArray[np.int32]


class Automaton(NamedTuple):
    """State of the automaton; ``row`` has the pending writes that the current configuration spent."""

    history: AutomatonInput
    opened: Open
    configurations: Configurations
    row: NDArray[np.int32]
    progress: NDArray[np.void]


class AutomatonState(NamedTuple):
    """One way to explain the events so far; all fields but ``value`` and ``changed_at`` are masks of slots.

    ``spent``: the open writes that are spent; ``satisfied``: the open reads that are satisfied; ``open_then``: the
    calls that were open at the last change of the value; ``changed_at``: the event of that change.
    """

    value: np.int64
    spent: np.int64
    satisfied: np.int64
    open_then: np.int64
    changed_at: np.int64


#: An ``AutomatonState`` in memory: a record has one address, while an array per field would have five.
CONFIGURATION: Final = np.dtype([(name, np.int64) for name in AutomatonState._fields])


class Return(NamedTuple):
    """A call that returns: its value, its slot as a bit, the event, and the slots that stay open after it."""

    is_write: np.bool_
    value: np.int64
    bit: np.int64
    event: np.int64
    still_open: np.int64


@compiled_loop
def advance(automaton, begin, budget):  # type: ignore[no-untyped-def]
    """Process events from ``begin`` until the end, a dead end, a limit, or ``budget`` units of work.

    Returns the next event (or the one that nothing explains, with ``status`` set).  TOO_WIDE leaves that event as
    it was: it may be retried with more room.
    """
    code, progress = automaton.history.code, automaton.progress[0]
    progress.status, progress.work = RUNNING, 0
    event = begin
    while event < code.size and progress.work < budget:
        progress.work += 1
        if code[event] >= 0:
            done = _begin_call(automaton, code[event], event)
        else:
            done = _return_call(automaton, ~code[event], event, budget)
        if not done:
            break
        event += 1
    return event


@step
def _begin_call(automaton, call, event):  # type: ignore[no-untyped-def]
    """Give the call a slot, or count it as pending; return False if there is no room for it."""
    history, opened, progress = automaton.history, automaton.opened, automaton.progress[0]
    value = history.value[call]
    if history.ret[call] == NEVER:
        # A pending write that no later read returns need not be tracked.
        if history.last_read[value] <= event or count_pending(automaton, value):
            return True
        progress.status = TOO_MANY_PENDING
        return False
    if progress.free == 0:
        progress.status = TOO_MANY_SLOTS
        return False
    bit = progress.free & -progress.free
    progress.free ^= bit
    slot = PLACE[bit % 67]
    opened.slot_of[call], opened.slot_ret[slot] = slot, history.ret[call]
    if history.write[call]:
        progress.writes |= bit
        opened.writes_of[value] |= bit
    else:
        progress.reads |= bit
        opened.reads_of[value] |= bit
    return True


@step
def _return_call(automaton, call, event, budget):  # type: ignore[no-untyped-def]
    """Keep only configurations in which the call has happened.

    Returns False if the budget ran out first, there was no room, or no configuration is left.
    """
    history, opened, progress = automaton.history, automaton.opened, automaton.progress[0]
    bit = np.int64(1) << np.int64(opened.slot_of[call])
    still_open = (progress.reads | progress.writes) & ~bit
    returning = Return(history.write[call], history.value[call], bit, np.int64(event), still_open)
    if progress.next >= 0 or not _is_done_everywhere(automaton, returning):
        now, later = _side(automaton, progress.side), _side(automaton, 1 - progress.side)
        first, count = progress.next, progress.count
        for place in range(first, count):
            if place > first and progress.work >= budget:
                progress.next = place
                return False
            before = _take(now, place, automaton.row)
            for changes in range(2):
                if changes:
                    possible, after, column = _change(automaton, returning, before)
                else:
                    possible, after, column = _stay(automaton, returning, before)
                if possible and not _add(automaton, later, ~bit, after, column):
                    progress.status, progress.next = TOO_WIDE, -1
                    return False
        progress.next = -1
        if progress.fresh == 0:
            progress.status = DEAD
            return False
        progress.count, progress.side = progress.fresh, 1 - progress.side
        progress.peak = max(progress.peak, progress.count)
    _close_call(automaton, returning)
    return True


@step
def _is_done_everywhere(automaton, returning):  # type: ignore[no-untyped-def]
    """Return whether the call has happened in all configurations.

    If it has, clears its slot in them; otherwise starts a new side.
    """
    progress = automaton.progress[0]
    rows, bit, done = _side(automaton, progress.side).rows, returning.bit, True
    for place in range(progress.count):
        held = rows[place]
        if returning.is_write:
            done = held.spent & bit != 0
        else:
            done = held.satisfied & bit != 0 or held.value == returning.value
        if not done:
            break
    if done:
        for place in range(progress.count):
            held = rows[place]
            held.spent &= ~bit
            held.satisfied &= ~bit
            held.open_then &= ~bit
    else:
        progress.next, progress.fresh = 0, 0
    return done


@step
def _side(automaton, which):  # type: ignore[no-untyped-def]
    """Return one of the two sides as separate arrays.

    Indexing both axes for each configuration would cost much more.
    """
    configs = automaton.configurations
    return Side(configs.rows[which], configs.pending_spent[which])


@step
def _take(now, place, row):  # type: ignore[no-untyped-def]
    """Return the configuration at a place, and copy the pending writes that it spent to ``row``."""
    for column in range(row.size):
        row[column] = now.pending_spent[place, column]
    held = now.rows[place]
    return AutomatonState(held.value, held.spent, held.satisfied, held.open_then, held.changed_at)


@step
def _stay(automaton, returning, before):  # type: ignore[no-untyped-def]
    """Let the call have happened without a change now.

    Returns (whether that is possible, the configuration after it, the column of a pending write used).  If the call
    happened just before the last change, so did open reads of its value.
    """
    history, opened = automaton.history, automaton.opened
    value, bit = returning.value, returning.bit
    satisfied = before.satisfied | (opened.reads_of[value] & before.open_then)
    if returning.is_write:
        if before.spent & bit != 0:
            return True, before, NO_COLUMN
        if before.value == value:
            # The value is written once more: nothing is lost, and all open calls have seen a change.
            after = AutomatonState(value, before.spent, before.satisfied, returning.still_open, returning.event)
            return True, after, NO_COLUMN
        # The value was current for an instant before the last change; no other open call can use this write.
        after = AutomatonState(before.value, before.spent, satisfied, before.open_then, before.changed_at)
        return before.open_then & bit != 0, after, NO_COLUMN
    if before.value == value or before.satisfied & bit != 0:
        return True, before, NO_COLUMN
    if before.open_then & bit == 0:
        return False, before, NO_COLUMN
    source = earliest(opened.writes_of[value] & before.open_then & ~before.spent, opened.slot_ret)
    after = AutomatonState(before.value, before.spent | source, satisfied, before.open_then, before.changed_at)
    column = opened.column_of[value]
    if source != 0 or column < 0:
        return source != 0, after, NO_COLUMN
    begun = begun_by(history, value, opened.available[column], before.changed_at)
    return automaton.row[column] < begun, after, column


@step
def _change(automaton, returning, before):  # type: ignore[no-untyped-def]
    """Change the value to the call's own now.

    Returns (whether that is possible, the configuration after it, the column of a pending write used).
    """
    opened = automaton.opened
    value, bit = returning.value, returning.bit
    satisfied = before.satisfied | opened.reads_of[before.value] | opened.reads_of[value]
    if returning.is_write:
        after = AutomatonState(value, before.spent, satisfied, returning.still_open, returning.event)
        return before.value != value and before.spent & bit == 0, after, NO_COLUMN
    if before.value == value or before.satisfied & bit != 0:
        return False, before, NO_COLUMN
    source = earliest(opened.writes_of[value] & ~before.spent, opened.slot_ret)
    after = AutomatonState(value, before.spent | source, satisfied, returning.still_open, returning.event)
    column = opened.column_of[value]
    if source != 0 or column < 0:
        return source != 0, after, NO_COLUMN
    return automaton.row[column] < opened.available[column], after, column


@step
def _add(automaton, later, keep, after, column):  # type: ignore[no-untyped-def]
    """Add a configuration, unless one that is as good is there; remove those that it makes redundant.

    Returns False if there is no room.
    """
    opened, row, progress = automaton.opened, automaton.row, automaton.progress[0]
    value, spent = after.value, after.spent & keep
    satisfied = (after.satisfied | opened.reads_of[value]) & keep
    # Set the bits of calls for which the last change no longer matters, so that more configurations are redundant.
    open_then = ((after.open_then | opened.writes_of[value]) & keep) | satisfied | spent
    other = AutomatonState(value, spent, satisfied, open_then, after.changed_at)
    if column != NO_COLUMN:
        row[column] += 1
    fresh, place = progress.fresh, 0
    while place < fresh:
        better, worse = _compare(automaton, later, place, other)
        if better:
            break
        if worse:
            fresh -= 1
            _move(later, fresh, place)
        else:
            place += 1
    progress.work += 1 + (place >> 3)
    if place == fresh:
        if fresh == later.rows.size:
            return False
        held = later.rows[place]
        held.value, held.spent, held.satisfied = value, spent, satisfied
        held.open_then, held.changed_at = open_then, other.changed_at
        for which in range(row.size):
            later.pending_spent[place, which] = row[which]
        fresh += 1
    if column != NO_COLUMN:
        row[column] -= 1
    progress.fresh = fresh
    return True


@step
def _compare(automaton, later, place, other):  # type: ignore[no-untyped-def]
    """Return whether the configuration at ``place`` is as good as ``other``, and the other way round."""
    held = later.rows[place]
    if held.value != other.value:
        return False, False
    spent, satisfied, open_then = held.spent, held.satisfied, held.open_then
    better = spent & ~other.spent == 0 and other.satisfied & ~satisfied == 0 and other.open_then & ~open_then == 0
    worse = other.spent & ~spent == 0 and satisfied & ~other.satisfied == 0 and open_then & ~other.open_then == 0
    if automaton.row.size and (better or worse):
        less, more = compare_pending(automaton, later.pending_spent, place)
        better = better and less and held.changed_at >= other.changed_at
        worse = worse and more and held.changed_at <= other.changed_at
    return better, worse


@step
def _move(later, source, target):  # type: ignore[no-untyped-def]
    """Copy a configuration to another place."""
    later.rows[target] = later.rows[source]
    for column in range(later.pending_spent.shape[1]):
        later.pending_spent[target, column] = later.pending_spent[source, column]


@step
def _close_call(automaton, returning):  # type: ignore[no-untyped-def]
    """Free the slot of a call that has returned, and the column of a value that is no longer read."""
    history, opened, progress = automaton.history, automaton.opened, automaton.progress[0]
    value, bit = returning.value, returning.bit
    if returning.is_write:
        progress.writes &= ~bit
        opened.writes_of[value] &= ~bit
    else:
        progress.reads &= ~bit
        opened.reads_of[value] &= ~bit
        if history.last_read[value] == returning.event and opened.column_of[value] >= 0:
            give_column_back(automaton, value)
    progress.free |= bit
