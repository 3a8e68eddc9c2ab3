"""Decide columnar queues: the conditions of ``engines.queues``, each for all items at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from checker.core.calls import Call
from checker.core.intervals import IntArray, intervals_of
from history import Operation
from history.codes import NEVER

NOTHING: Final = -1
NOWHERE: Final = -2
_FUNCTIONS: Final = frozenset({"enqueue", "dequeue"})
#: Types whose values never equal a value of another type.
_ITEMS: Final = frozenset({int, str, type(None)})


@dataclass(frozen=True, slots=True)
class QueueColumns:
    """Ranks of n enqueues, from ``begun`` to ``ended``, and of m dequeues, from ``asked`` to ``answered``.

    ``item`` has for each dequeue the number of the enqueue whose item it returned, ``NOTHING`` if it found the
    queue empty, or ``NOWHERE`` if no enqueue matches.  It is meaningless for pending dequeues.
    """

    begun: IntArray
    ended: IntArray
    asked: IntArray
    answered: IntArray
    item: IntArray

    @property
    def size(self) -> int:
        """Number of operations that take part."""
        return self.begun.size + self.asked.size

    def nothing_wrong(self) -> bool:
        """Return whether the queue is linearizable.  O(n log n)."""
        known = self.answered != NEVER
        item, asked, answered = self.item[known], self.asked[known], self.answered[known]
        found = item != NOTHING
        taken = item[found]
        if (taken == NOWHERE).any() or (np.bincount(taken) > 1).any():
            return False
        until = self._until(taken, asked[found], np.sort(self.asked[~known]))
        since = asked.copy()
        since[found] = self.begun[taken]
        return bool(
            (since < answered).all()
            and not self._overtaken(until, since, answered).any()
            and self._empty(until, asked[~found], answered[~found]).all()
        )

    def _until(self, taken: IntArray, asked: IntArray, takers: IntArray) -> IntArray:
        """Return the rank until which each item must be there; pending dequeues take items that stay."""
        until = np.full(self.begun.size, NEVER)
        until[taken] = asked
        staying = np.flatnonzero((until == NEVER) & (self.ended != NEVER))
        given = staying[np.argsort(self.ended[staying])][: takers.size]
        until[given] = takers[: given.size]
        return until

    def _overtaken(self, until: IntArray, since: IntArray, answered: IntArray) -> npt.NDArray[np.bool_]:
        """Return for each answer whether an item enqueued before ``since`` had no dequeue begun yet."""
        by_return = np.argsort(self.ended)
        longest = np.maximum.accumulate(np.append(-1, until[by_return]))
        return longest[np.searchsorted(self.ended[by_return], since)] > answered

    def _empty(self, until: IntArray, asked: IntArray, answered: IntArray) -> npt.NDArray[np.bool_]:
        """Return for each answer that found nothing whether there is a moment at which the queue may be empty."""
        lasting = self.ended < until
        begins, ends = np.sort(self.ended[lasting]), np.sort(until[lasting])
        # Moments at which as many items have left as had come.
        gaps = np.append(ends[np.searchsorted(begins, ends) == np.arange(1, ends.size + 1)], NEVER)
        at_once: npt.NDArray[np.bool_] = np.searchsorted(begins, asked) == np.searchsorted(ends, asked)
        return at_once | (gaps[np.searchsorted(gaps, asked)] < answered)


def columns_of(enqueues: Sequence[Call], dequeues: Sequence[Call]) -> QueueColumns | None:
    """Convert calls to columns; None if an item is enqueued twice, is null, or does not equal itself."""
    item = _places([call.value for call in enqueues], [call.result for call in dequeues])
    if item is None:
        return None
    begun, asked = (_ranks(call.invoke for call in part) for part in (enqueues, dequeues))
    ended, answered = (_ranks(call.ret for call in part) for part in (enqueues, dequeues))
    return QueueColumns(begun, ended, asked, answered, item)


def columns_of_operations(operations: Sequence[Operation]) -> QueueColumns | None:
    """Convert operations to columns; None if they must be converted to calls first."""
    enqueues = [one for one in operations if one.f == "enqueue" and one.outcome != "fail"]
    dequeues = [one for one in operations if one.f == "dequeue" and one.outcome != "fail"]
    items, answers = [one.value for one in enqueues], [one.result for one in dequeues]
    plain = {*map(type, items), *map(type, answers)} <= _ITEMS and {one.f for one in operations} <= _FUNCTIONS
    item = _places(items, answers) if plain else None
    if item is None:
        return None
    coming, going = intervals_of(enqueues), intervals_of(dequeues)
    return None if coming is None or going is None else QueueColumns(*coming, *going, item)


def _places(items: Sequence[Any], answers: Sequence[Any]) -> IntArray | None:
    place: dict[Any, int] = {item: number for number, item in enumerate(items)}
    if len(place) < len(items) or None in place or any(item != item for item in place):
        return None
    place[None] = NOTHING
    return _ranks(place.get(answer, NOWHERE) for answer in answers)


def _ranks(numbers: Iterable[int]) -> IntArray:
    return np.fromiter(numbers, np.int64)
