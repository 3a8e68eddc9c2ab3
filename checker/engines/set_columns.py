"""Decide columnar sets: the sweep of ``checker.engines.sets`` on arrays, for one object's operations.

It decides sets whose reads grow: each read has every element once, and contains all smaller reads.  If the elements are
numbered in the order in which they were first seen, a read of size s has returned exactly the elements 0 to s-1, in any
order.  Other histories, and elements that are neither integers nor strings, are left to the sweep over calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

import numpy as np

from checker.core.engine import RankContradiction
from checker.core.intervals import IntArray, intervals_of, keeps_time
from history import Operation
from history.codes import NEVER

_ELEMENTS: Final = frozenset({int, str})


@dataclass(frozen=True, slots=True)
class SetColumns:
    """Adds and reads of one set, one row each; ranks are distinct integers.

    Adds: their ``element`` between ``begun`` and ``ended`` (``NEVER``: pending).  Reads: the ``size`` of their
    answers, between ``read_begun`` and ``read_ended``.
    """

    element: IntArray
    begun: IntArray
    ended: IntArray
    size: IntArray
    read_begun: IntArray
    read_ended: IntArray

    @property
    def calls(self) -> int:
        return self.element.size + self.size.size

    def without(self, begun: Iterable[int]) -> SetColumns:
        """Drop the reads that were invoked at these ranks, and make the adds invoked there pending."""
        ranks = list(begun)
        lost, kept = np.isin(self.begun, ranks), ~np.isin(self.read_begun, ranks)
        return replace(
            self, ended=np.where(lost, NEVER, self.ended),
            size=self.size[kept], read_begun=self.read_begun[kept], read_ended=self.read_ended[kept],
        )  # fmt: skip

    def again(self, begun: int) -> list[tuple[int, int]]:
        """Return the start and end of later reads with the same elements as the read invoked at this rank."""
        read = self.read_begun == begun
        same = np.isin(self.size, self.size[read]) & (self.read_ended > self.read_ended[read].min(initial=NEVER))
        return list(zip(self.read_begun[same].tolist(), self.read_ended[same].tolist(), strict=True))


def set_columns(operations: Sequence[Operation]) -> SetColumns | None:
    """Convert the operations that take part to columns; None if they do not fit."""
    if not {operation.f for operation in operations} <= {"add", "read"}:
        return None
    adds = [operation for operation in operations if operation.f == "add" and operation.outcome != "fail"]
    reads = [operation for operation in operations if operation.f == "read" and operation.outcome == "ok"]
    added: list[Any] = [operation.value for operation in adds]
    plain = {type(operation.result) for operation in adds} | {type(operation.value) for operation in reads}
    if not set(map(type, added)) <= _ELEMENTS or not plain <= _ELEMENTS | {type(None)}:
        return None
    numbers = _numbered([operation.result for operation in reads])
    if numbers is None or not numbers.keys() <= set(added):
        return None
    adding, reading = intervals_of(adds), intervals_of(reads)
    if adding is None or reading is None:
        return None
    element = np.array([numbers.setdefault(element, len(numbers)) for element in added], np.int64)
    return SetColumns(element, *adding, np.array([len(read.result) for read in reads], np.int64), *reading)


def _numbered(answers: list[Any]) -> dict[Any, int] | None:
    """Number the elements in the order in which they were first seen; None if the answers do not grow."""
    if not set(map(type, answers)) <= {list} or not set(map(type, chain.from_iterable(answers))) <= _ELEMENTS:
        return None
    numbers: dict[Any, int] = {}
    below: list[Any] = []
    for answer in sorted(answers, key=len):
        more = _more(answer, below)
        if more is None:
            return None
        for element in more:
            numbers.setdefault(element, len(numbers))
        # If an element occurs twice, there are fewer numbers than elements in the answer.
        if len(numbers) < len(answer):
            return None
        below = answer
    return numbers


def _more(answer: list[Any], below: list[Any]) -> Iterable[Any] | None:
    """Return the elements that the answer has beyond the one before it; None if it lacks or repeats any."""
    if answer[: len(below)] == below:
        return answer[len(below) :]
    elements = set(answer)
    return elements.difference(below) if len(elements) == len(answer) and elements.issuperset(below) else None


@dataclass(frozen=True, slots=True)
class Levels:
    """Distinct sizes of reads, ascending, with bounds on when the set had each size.

    It reached that size at ``start`` at the earliest, and by ``first``, the first return of such a read, at the latest.
    It still had that size at ``end``. By then no add of an element that it lacked may have returned; ``unseen`` is the
    first such return.
    """

    size: IntArray
    start: IntArray
    first: IntArray
    end: IntArray
    unseen: IntArray

    @property
    def valid(self) -> bool:
        return bool((self.start <= self.first).all() and (self.end < self.unseen).all())


def levels(columns: SetColumns) -> Levels:
    """Compute the bounds on when the set had each size that a read shows.  O(n log n)."""
    begun, ended = _first_of_each(columns.element, columns.begun), _first_of_each(columns.element, columns.ended)
    size, level = np.unique(columns.size, return_inverse=True)
    first, last = np.full(size.size, NEVER, np.int64), np.full(size.size, -1, np.int64)
    np.minimum.at(first, level, columns.read_ended)
    np.maximum.at(last, level, columns.read_begun)
    np.maximum.accumulate(last, out=last)
    shown = np.append(-1, np.maximum.accumulate(begun))[size]
    unseen = np.append(np.minimum.accumulate(ended[::-1])[::-1], NEVER)[size]
    return Levels(size, np.maximum(shown, np.append(-1, last)[:-1]), first, np.maximum(shown, last), unseen)


def _first_of_each(element: IntArray, ranks: IntArray) -> IntArray:
    """Return the least rank among the adds of each element."""
    first = np.full(int(element.max(initial=-1)) + 1, NEVER, np.int64)
    np.minimum.at(first, element, ranks)
    return first


def contradiction(columns: SetColumns, levels: Levels) -> RankContradiction | None:
    """Find the first contradiction in ascending order of size; None if there is none."""
    wrong = np.flatnonzero((levels.start > levels.first) | (levels.end >= levels.unseen))
    if not wrong.size:
        return None
    at = int(wrong[0])
    size = int(levels.size[at])
    early = int(columns.read_begun[columns.read_ended == levels.first[at]][0])
    if levels.start[at] > levels.first[at]:
        late = int(levels.start[at])
        # A read that lacks an acknowledged element says more with fewer operations.
        for read in (early, late):
            had = columns.size[columns.read_begun == read]
            lost = (columns.element >= had.min(initial=NEVER)) & (columns.ended < read)
            if lost.any():
                return RankContradiction((int(columns.begun[lost][columns.ended[lost].argmin()]), read), "lost-element")
        return RankContradiction((early, late, *_between(columns, late, size)), "read-inversion")
    late, lost = int(levels.end[at]), int(columns.begun[columns.ended == levels.unseen[at]][0])
    return RankContradiction((lost, late, *([] if late in columns.read_begun else [early])), "lost-element")


def _between(columns: SetColumns, late: int, size: int) -> list[int]:
    """Return the first add of an element that a read of this size saw and a later read lacks, if ``late`` is a read."""
    missed = columns.size[columns.read_begun == late]
    between = (columns.element < size) & (columns.element >= missed.min(initial=size))
    return [int(columns.begun[between].min())] if missed.size else []


def linearization(columns: SetColumns, levels: Levels) -> IntArray:
    """Return the linearization as row numbers; adds are numbered first, then reads.

    Every row takes effect as early as its level allows.
    """
    above = np.searchsorted(levels.size, columns.element, side="right")
    adds = np.flatnonzero((above < levels.size.size) | (columns.ended != NEVER))
    above, level = above[adds], np.searchsorted(levels.size, columns.size)
    begun = np.concatenate([columns.begun[adds], columns.read_begun])
    least = np.concatenate([np.append(-1, levels.end)[above], levels.start[level]])
    number, read = np.concatenate([above, level]), np.arange(begun.size) >= adds.size
    rows = np.concatenate([adds, np.arange(level.size) + columns.element.size])
    order: IntArray = rows[np.lexsort((begun, read, number, np.maximum(begun, least)))]
    return order


def is_set_linearization(order: IntArray, columns: SetColumns) -> bool:
    """Return whether this order of rows is legal, complete, and true to real time.

    The counterpart of ``definition.is_linearization`` for columns.  It shares nothing with the sweep, and states
    for each row what the definition states for a call.
    """
    adds = columns.element.size
    begun = np.concatenate([columns.begun, columns.read_begun])
    ended = np.concatenate([columns.ended, columns.read_ended])
    if not keeps_time(order, begun, ended):
        return False
    adding = order < adds
    # A read saw exactly the elements below its size: that many must be there by then, and none above them.
    element = np.where(adding, columns.element[np.where(adding, order, 0)] if adds else -1, -1)
    fresh = np.zeros(order.size, np.bool_)
    fresh[np.unique(element, return_index=True)[1]] = True
    there, most = np.cumsum(fresh & adding)[~adding], np.maximum.accumulate(element)[~adding] + 1
    size = columns.size[order[~adding] - adds]
    return bool((there == size).all() and (most == size).all())


@dataclass(frozen=True, slots=True)
class SetProof:
    """Proof of the verdict on a set (``core.engine.ColumnProof``)."""

    columns: SetColumns
    found: Levels

    def certificate(self) -> int | None:
        order = linearization(self.columns, self.found)
        return order.size if is_set_linearization(order, self.columns) else None

    def contradictions(self, gone: Collection[int]) -> Sequence[RankContradiction]:
        """Return the first contradiction in ascending order of size, if any; one at a time."""
        rest = self.columns.without(gone) if gone else self.columns
        wrong = contradiction(rest, levels(rest) if gone else self.found)
        return () if wrong is None else (wrong,)

    def again(self, begun: int) -> Sequence[tuple[int, int]]:
        return self.columns.again(begun)
