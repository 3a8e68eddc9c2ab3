"""Decide columnar logs: the sweep of ``checker.engines.logs`` on arrays, for one object's operations.

It decides everything that bounds can decide. Some histories are left to the sweep over calls, which says what is wrong
with them: those whose operations do not agree on the entries, and those whose values, indexes or functions do not fit
into columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np

from checker.core.engine import RankContradiction
from checker.core.intervals import IntArray, intervals_of, keeps_time
from history import Operation
from history.codes import NEVER

_NOTHING: Final = -1
_STRANGE: Final = -2
_ENTRIES: Final = frozenset({int, str})


@dataclass(frozen=True, slots=True)
class LogColumns:
    """Appends, gets and lists of one log, one row each; ranks are distinct integers.

    Appends: the ``index`` in the answer (-1: unknown), between ``begun`` and ``ended`` (``NEVER``: pending).  Gets:
    the index ``asked``, and the append (row) whose entry was ``seen`` there (-1: no entry, -2: an entry of no
    append).  Lists: their ``length``; all are prefixes of the longest, whose entries come from the appends
    ``listed``.
    """

    index: IntArray
    begun: IntArray
    ended: IntArray
    asked: IntArray
    seen: IntArray
    get_begun: IntArray
    get_ended: IntArray
    length: IntArray
    list_begun: IntArray
    list_ended: IntArray
    listed: IntArray

    @property
    def size(self) -> int:
        return self.index.size + self.asked.size + self.length.size

    def without(self, begun: Iterable[int]) -> LogColumns:
        """Drop the reads that were invoked at these ranks, and make the appends invoked there pending."""
        ranks = list(begun)
        lost, kept = np.isin(self.begun, ranks), ~np.isin(self.get_begun, ranks)
        lists = ~np.isin(self.list_begun, ranks)
        return LogColumns(
            np.where(lost, _NOTHING, self.index), self.begun, np.where(lost, NEVER, self.ended),
            self.asked[kept], self.seen[kept], self.get_begun[kept], self.get_ended[kept],
            self.length[lists], self.list_begun[lists], self.list_ended[lists],
            self.listed[: self.length[lists].max(initial=0)],
        )  # fmt: skip


def log_columns(operations: Sequence[Operation]) -> LogColumns | None:
    """Convert the operations that take part to columns; None if they do not fit."""
    if not {operation.f for operation in operations} <= {"append", "get", "list"}:
        return None
    appends = [operation for operation in operations if operation.f == "append" and operation.outcome != "fail"]
    gets = [operation for operation in operations if operation.f == "get" and operation.outcome == "ok"]
    entries: list[Any] = [operation.value for operation in appends]
    results: list[Any] = [operation.result for operation in gets]
    answered: list[Any] = [operation.result for operation in appends if operation.outcome == "ok"]
    requested: list[Any] = [operation.value for operation in gets]
    if not (
        set(map(type, entries)) <= _ENTRIES
        and set(map(type, results)) <= _ENTRIES | {type(None)}
        and {*map(type, answered), *map(type, requested)} <= {int}
    ):
        return None
    rows: dict[Any, int] = dict(zip(entries, range(len(entries)), strict=True))
    if len(rows) < len(entries):
        return None
    rows[None] = _NOTHING
    lists = [operation for operation in operations if operation.f == "list" and operation.outcome == "ok"]
    longest = _longest([operation.result for operation in lists])
    if longest is None:
        return None
    known, places = _indexes(answered), _indexes(requested)
    appending, getting, listing = intervals_of(appends), intervals_of(gets), intervals_of(lists)
    if known is None or places is None or appending is None or getting is None or listing is None:
        return None
    index = np.full(len(appends), _NOTHING, np.int64)
    index[appending[1] != NEVER] = known
    got, listed = (np.array([rows.get(entry, _STRANGE) for entry in some], np.int64) for some in (results, longest))
    length = np.array([len(operation.result) for operation in lists], np.int64)
    return LogColumns(index, *appending, places, got, *getting, length, *listing, listed)


def _longest(lists: list[Any]) -> Sequence[Any] | None:
    """Return the list of which all others are prefixes; None if there is none, or if it has an invalid entry."""
    if not set(map(type, lists)) <= {list} or not set(map(type, chain.from_iterable(lists))) <= _ENTRIES:
        return None
    longest: list[Any] = max(lists, key=len, default=[])
    return longest if all(longest[: len(entries)] == entries for entries in lists) else None


def _indexes(numbers: list[int]) -> IntArray | None:
    """Return the numbers as a column; None if one of them is negative or too large."""
    try:
        column = np.array(numbers, np.int64)
    except OverflowError:
        return None
    return column if column.min(initial=0) >= 0 else None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Append of each index, ``filled``, and the ranks between which it was filled, ``low`` and ``high``."""

    filled: IntArray
    low: IntArray
    high: IntArray

    @property
    def valid(self) -> bool:
        return bool((self.low <= self.high).all())

    def crossings(self) -> list[tuple[int, int]]:
        """Return (return of a call that saw an entry, invocation of a later one that did not), earliest first."""
        crossed = np.flatnonzero(self.low > self.high)
        early, first = np.unique(self.high[crossed], return_index=True)
        return list(zip(early.tolist(), self.low[crossed[first]].tolist(), strict=True))


def bounds(columns: LogColumns) -> Bounds | None:
    """Compute the running bounds of all indexes; None if the operations disagree on the entries.  O(n)."""
    filled = _filled(columns)
    if filled is None:
        return None
    low, high = columns.begun[filled], columns.ended[filled]
    unseen = (columns.seen == _NOTHING) & (columns.asked < filled.size)
    np.maximum.at(low, columns.asked[unseen], columns.get_begun[unseen])
    saw = columns.seen >= 0
    np.minimum.at(high, columns.asked[saw], columns.get_ended[saw])
    # A list saw the last of its entries, and did not see the next one.
    short, filling = columns.length < filled.size, columns.length > 0
    np.maximum.at(low, columns.length[short], columns.list_begun[short])
    np.minimum.at(high, columns.length[filling] - 1, columns.list_ended[filling])
    np.maximum.accumulate(low, out=low)
    high = np.minimum.accumulate(high[::-1])[::-1]
    return Bounds(filled, low, high)


def _filled(columns: LogColumns) -> IntArray | None:
    """Return the append of every index; pending appends fill gaps in the order of their invocations."""
    if (columns.seen == _STRANGE).any() or (columns.listed < 0).any():
        return None
    done, saw = np.flatnonzero(columns.index >= 0), columns.seen >= 0
    index = np.concatenate([columns.index[done], columns.asked[saw], np.arange(columns.listed.size)])
    append = np.concatenate([done, columns.seen[saw], columns.listed])
    size = int(index.max(initial=-1)) + 1
    if size > columns.index.size:
        return None
    filled, place = np.full(size, -1, np.int64), np.full(columns.index.size, -1, np.int64)
    filled[index], place[append] = append, index
    if (filled[index] != append).any() or (place[append] != index).any():
        return None
    gaps = np.flatnonzero(filled < 0)
    if gaps.size:
        spare = np.flatnonzero(place < 0)
        if gaps.size > spare.size:
            return None
        filled[gaps] = spare[np.argsort(columns.begun[spare])][: gaps.size]
    return filled


def linearization(columns: LogColumns, bounds: Bounds) -> IntArray:
    """Return the linearization as row numbers; appends are numbered first, then gets, then lists.

    Appends take effect at their earliest moments, and reads as early as possible.
    """
    blind, saw = np.flatnonzero(columns.seen < 0), np.flatnonzero(columns.seen >= 0)
    appends, lists = columns.index.size, np.argsort(columns.length, kind="stable")
    length = columns.length[lists]
    rows = np.concatenate([blind + appends, bounds.filled, lists + appends + columns.asked.size, saw + appends])
    getting = np.maximum(columns.get_begun[saw], bounds.low[columns.asked[saw]])
    listing = np.maximum(columns.list_begun[lists], np.append(bounds.low, -1)[length - 1])
    moment = np.concatenate([columns.get_begun[blind], bounds.low, listing, getting])
    # At the same moment, reads that see nothing come first, then the appends by their indexes, each followed by the
    # lists that end with it, then the gets that see them.
    last = bounds.filled.size
    place = np.concatenate([np.full(blind.size, -1), 2 * np.arange(last), 2 * length - 1, np.full(saw.size, 2 * last)])
    order: IntArray = rows[np.lexsort((place, moment))]
    return order


def is_log_linearization(order: IntArray, columns: LogColumns) -> bool:
    """Return whether this order of rows is legal, complete, and true to real time.

    The counterpart of ``definition.is_linearization`` for columns.  It shares nothing with the sweep, and states
    for each row what the definition states for a call.
    """
    appends = columns.index.size
    begun = np.concatenate([columns.begun, columns.get_begun, columns.list_begun])
    ended = np.concatenate([columns.ended, columns.get_ended, columns.list_ended])
    if not keeps_time(order, begun, ended):
        return False
    appending = order < appends
    log = order[appending]
    before = np.cumsum(appending)
    listing = order >= appends + columns.asked.size
    lists = order[listing] - appends - columns.asked.size
    if (columns.length[lists] != before[listing]).any():
        return False
    longest = int(columns.length[lists].max(initial=0))
    if (log[:longest] != columns.listed[:longest]).any():
        return False
    getting = ~appending & ~listing
    length = before[getting]
    if ((columns.index[log] >= 0) & (columns.index[log] != np.arange(log.size))).any():
        return False
    get = order[getting] - appends
    requested = columns.asked[get]
    there = np.full(get.size, _NOTHING, np.int64)
    there[requested < length] = log[requested[requested < length]]
    return bool((there == columns.seen[get]).all())


@dataclass(frozen=True, slots=True)
class LogProof:
    """Proof of the verdict on a log (``core.engine.ColumnProof``)."""

    columns: LogColumns
    found: Bounds

    def certificate(self) -> int | None:
        order = linearization(self.columns, self.found)
        return order.size if is_log_linearization(order, self.columns) else None

    def contradictions(self, gone: Collection[int]) -> Sequence[RankContradiction] | None:
        """Return all contradictions at once; None if calls have to find them.

        Calls are needed for violations that remain after these, and for those that involve a pending append.
        """
        columns = self.columns
        if gone:
            thinner = columns.without(gone)
            # Without its longest list, the log's entries may be known only in part.
            rest = bounds(thinner) if thinner.listed.size == columns.listed.size else None
            return () if rest is not None and rest.valid else None
        crossings = self.found.crossings()
        if np.isin(columns.begun[columns.ended == NEVER], [invoked for _, invoked in crossings]).any():
            return None
        begun = np.concatenate([columns.begun, columns.get_begun, columns.list_begun])
        ended = np.concatenate([columns.ended, columns.get_ended, columns.list_ended])
        early = np.isin(ended, [returned for returned, _ in crossings])
        saw = dict(zip(ended[early].tolist(), begun[early].tolist(), strict=True))
        return [RankContradiction((saw[returned], invoked)) for returned, invoked in crossings]

    def again(self, begun: int) -> Sequence[tuple[int, int]]:  # noqa: ARG002 (a log with more than it shows is for calls)
        return ()
