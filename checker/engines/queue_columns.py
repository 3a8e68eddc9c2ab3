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
        item, requested, answered = self.item[known], self.asked[known], self.answered[known]
        has_item = item != NOTHING
        taken = item[has_item]
        if (taken == NOWHERE).any() or (np.bincount(taken) > 1).any():
            return False
        until = self._until(taken, requested[has_item], np.sort(self.asked[~known]))
        since = requested.copy()
        since[has_item] = self.begun[taken]
        return bool(
            (since < answered).all()
            and not self._overtaken(until, since, answered).any()
            and self._empty(until, requested[~has_item], answered[~has_item]).all()
        )

    def _until(self, taken: IntArray, requested: IntArray, takers: IntArray) -> IntArray:
        """Return the rank until which each item must be there; pending dequeues take items that stay."""
        until = np.full(self.begun.size, NEVER)
        until[taken] = requested
        staying = np.flatnonzero((until == NEVER) & (self.ended != NEVER))
        given = staying[np.argsort(self.ended[staying])][: takers.size]
        until[given] = takers[: given.size]
        return until

    def _overtaken(self, until: IntArray, since: IntArray, answered: IntArray) -> npt.NDArray[np.bool_]:
        """Return for each answer whether an item enqueued before ``since`` had no dequeue begun yet."""
        by_return = np.argsort(self.ended)
        longest = np.maximum.accumulate(np.append(-1, until[by_return]))
        return longest[np.searchsorted(self.ended[by_return], since)] > answered

    def _empty(self, until: IntArray, requested: IntArray, answered: IntArray) -> npt.NDArray[np.bool_]:
        """Return for each answer that found nothing whether there is a moment at which the queue may be empty."""
        lasting = self.ended < until
        begins, ends = np.sort(self.ended[lasting]), np.sort(until[lasting])
        # Moments at which as many items have left as had come.
        gaps = np.append(ends[np.searchsorted(begins, ends) == np.arange(1, ends.size + 1)], NEVER)
        at_once: npt.NDArray[np.bool_] = np.searchsorted(begins, requested) == np.searchsorted(ends, requested)
        return at_once | (gaps[np.searchsorted(gaps, requested)] < answered)


def columns_of(enqueues: Sequence[Call], dequeues: Sequence[Call]) -> QueueColumns | None:
    """Convert calls to columns; None if an item is enqueued twice, is null, or does not equal itself."""
    item = _places([call.value for call in enqueues], [call.result for call in dequeues])
    if item is None:
        return None
    begun, requested = (_ranks(call.invoke for call in part) for part in (enqueues, dequeues))
    ended, answered = (_ranks(call.ret for call in part) for part in (enqueues, dequeues))
    return QueueColumns(begun, ended, requested, answered, item)


def columns_of_operations(operations: Sequence[Operation]) -> QueueColumns | None:
    """Convert operations to columns; None if they must be converted to calls first."""
    enqueues = [op for op in operations if op.f == "enqueue" and op.outcome != "fail"]
    dequeues = [op for op in operations if op.f == "dequeue" and op.outcome != "fail"]
    items, answers = [enqueue.value for enqueue in enqueues], [dequeue.result for dequeue in dequeues]
    plain = {*map(type, items), *map(type, answers)} <= _ITEMS and {op.f for op in operations} <= _FUNCTIONS
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
