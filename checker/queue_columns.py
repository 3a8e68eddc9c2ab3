"""A queue by columns: is anything wrong with it?  The conditions of ``checker.queues``, each for all items at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from checker.calls import NEVER, Call

Ranks: TypeAlias = npt.NDArray[np.int64]
NOTHING: Final = -1
NOWHERE: Final = -2


@dataclass(frozen=True, slots=True)
class QueueColumns:
    """The ranks of n enqueues, from ``begun`` to ``ended``, and of m dequeues, from ``asked`` to ``answered``.

    ``item`` (m) is the number of the enqueue of what was answered, ``NOTHING``, or ``NOWHERE`` if nobody enqueued it;
    where the dequeue is pending it means nothing.
    """

    begun: Ranks
    ended: Ranks
    asked: Ranks
    answered: Ranks
    item: Ranks

    def nothing_wrong(self) -> bool:
        """Is the queue linearizable?  O(n log n)."""
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

    def _until(self, taken: Ranks, asked: Ranks, takers: Ranks) -> Ranks:
        """Up to when each item must be there; those that stay are given to the pending dequeues."""
        until = np.full(self.begun.size, NEVER)
        until[taken] = asked
        staying = np.flatnonzero((until == NEVER) & (self.ended != NEVER))
        given = staying[np.argsort(self.ended[staying])][: takers.size]
        until[given] = takers[: given.size]
        return until

    def _overtaken(self, until: Ranks, since: Ranks, answered: Ranks) -> npt.NDArray[np.bool_]:
        """By answer: was anything put in before ``since`` that nobody had begun to take?"""
        by_return = np.argsort(self.ended)
        longest = np.maximum.accumulate(np.append(-1, until[by_return]))
        return longest[np.searchsorted(self.ended[by_return], since)] > answered

    def _empty(self, until: Ranks, asked: Ranks, answered: Ranks) -> npt.NDArray[np.bool_]:
        """By answer that found nothing: is there a moment at which nothing must have been there?"""
        lasting = self.ended < until
        begins, ends = np.sort(self.ended[lasting]), np.sort(until[lasting])
        # As many have come as have gone.
        gaps = np.append(ends[np.searchsorted(begins, ends) == np.arange(1, ends.size + 1)], NEVER)
        at_once: npt.NDArray[np.bool_] = np.searchsorted(begins, asked) == np.searchsorted(ends, asked)
        return at_once | (gaps[np.searchsorted(gaps, asked)] < answered)


def columns_of(enqueues: Sequence[Call], dequeues: Sequence[Call]) -> QueueColumns | None:
    """The columns of calls, or None where an item was enqueued twice, or is nothing, or not even equal to itself."""
    place: dict[Any, int] = {call.value: number for number, call in enumerate(enqueues)}
    if len(place) < len(enqueues) or None in place or any(item != item for item in place):
        return None
    place[None] = NOTHING
    item = [place.get(call.result, NOWHERE) for call in dequeues]
    return QueueColumns(*_ranks(enqueues), *_ranks(dequeues), np.array(item, np.int64))


def _ranks(calls: Sequence[Call]) -> tuple[Ranks, Ranks]:
    invoke, ret = (np.fromiter(map(attrgetter(name), calls), np.int64, len(calls)) for name in ("invoke", "ret"))
    return invoke, ret
