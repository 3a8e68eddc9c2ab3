"""Pending writes of the automaton, compiled: they never return, so they have no slots and are counted by value.

While a value has pending writes and is still to be read, it has a column of counts: the number of these writes, and how
many of them each configuration spent.
"""

from __future__ import annotations

from typing import Final

from history.compiled import step

NO_COLUMN: Final = -1


@step
def count_pending(automaton, value):  # type: ignore[no-untyped-def]
    """Count one more pending write of the value; return False if there is no column left for it."""
    opened, progress = automaton.opened, automaton.progress[0]
    pending_spent = automaton.configurations.pending_spent
    if opened.column_of[value] < 0:
        if progress.columns == pending_spent.shape[2]:
            return False
        column = opened.free_columns[progress.columns]
        progress.columns += 1
        opened.column_of[value] = column
        opened.available[column] = 0
        for place in range(progress.count):
            pending_spent[progress.side, place, column] = 0
    opened.available[opened.column_of[value]] += 1
    return True


@step
def begun_by(history, value, count, event):  # type: ignore[no-untyped-def]
    """Return how many of a value's ``count`` pending writes were invoked by an event."""
    start = history.pending_from[value]
    while count and history.pending[start + count - 1] > event:
        count -= 1
    return count


@step
def compare_pending(automaton, pending_spent, place):  # type: ignore[no-untyped-def]
    """Return whether the configuration at ``place`` spent at most what ``row`` did, and vice versa."""
    row, progress = automaton.row, automaton.progress[0]
    less, more, theirs, ours = True, True, 0, 0
    for column in range(row.size):
        its = pending_spent[place, column]
        theirs += its
        ours += row[column]
        if its > row[column]:
            less = False
        elif its < row[column]:
            more = False
    if progress.thrift and not (less or more):
        progress.pruned = 1
        return theirs <= ours, ours <= theirs
    return less, more


@step
def give_column_back(automaton, value):  # type: ignore[no-untyped-def]
    """Free the column of a value that is no longer read.

    How many of its pending writes are spent no longer matters.
    """
    opened, progress = automaton.opened, automaton.progress[0]
    column = opened.column_of[value]
    for place in range(progress.count):
        automaton.configurations.pending_spent[progress.side, place, column] = 0
    opened.column_of[value] = NO_COLUMN
    progress.columns -= 1
    opened.free_columns[progress.columns] = column
