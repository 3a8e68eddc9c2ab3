"""Linearization of a valid queue: the second half of the argument in ``engines.queues``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from checker.core.calls import Call
from history.codes import NEVER

#: An enqueue and its dequeue: its own, a pending one that is assigned to it, or None.
Pair: TypeAlias = tuple[Call, Call | None]
Span: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Stay:
    """Stay of an item in the queue; a dequeue that finds nothing is a stay that ends where it begins."""

    put: Span
    out: Span
    calls: tuple[Call, ...]


def linearization(pairs: Iterable[Pair], empty: Iterable[tuple[float, Call]]) -> list[Call]:
    """Return a legal order of all calls on these items; O(n log n).

    ``empty`` are the dequeues that found nothing, with their moments.
    """
    stays = [_stay(*pair) for pair in pairs]
    stays += [_Stay((moment, moment), (moment, moment), (call,)) for moment, call in empty]
    keyed: list[tuple[float, int, Call]] = []
    put = out = -1.0
    for place, stay in enumerate(_in_order(stays)):
        put, out = max(put, stay.put[0]), max(out, stay.out[0])
        keyed += [(moment, place, call) for moment, call in zip((put, out), stay.calls, strict=False)]
    return [call for _, _, call in sorted(keyed, key=lambda item: item[:2])]


def _stay(enqueue: Call, dequeue: Call | None) -> _Stay:
    if dequeue is None:
        return _Stay((enqueue.invoke, enqueue.ret), (NEVER + 1, NEVER + 1), (enqueue,))
    put, out = min(enqueue.ret, dequeue.ret), max(enqueue.invoke, dequeue.invoke)
    return _Stay((enqueue.invoke, put), (out, dequeue.ret), (enqueue, dequeue))


def _in_order(stays: Sequence[_Stay]) -> Iterator[_Stay]:
    """Sort so that an item comes first if its enqueue or dequeue returned before the other's was invoked."""
    orders = _Waiting([stay.put for stay in stays]), _Waiting([stay.out for stay in stays])
    half, free, done = set[int](), list[int](), set[int]()
    for _ in stays:
        for place in chain.from_iterable(order.freed(done) for order in orders):
            (free.append if place in half else half.add)(place)
        done.add(free[-1])
        yield stays[free.pop()]


class _Waiting:
    """One of the two orders, and the items in it that still wait for others."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = spans
        self.begins = sorted(range(len(spans)), key=lambda place: spans[place][0], reverse=True)
        self.ends = sorted(range(len(spans)), key=lambda place: spans[place][1], reverse=True)

    def freed(self, done: set[int]) -> Iterator[int]:
        """Yield each place once, as soon as every place it waits for is done."""
        while self.ends[-1] in done:
            self.ends.pop()
        while self.begins and self.spans[self.begins[-1]][0] <= self.spans[self.ends[-1]][1]:
            yield self.begins.pop()
