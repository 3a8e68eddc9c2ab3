"""Lazy sequences and random numbers as immutable values: positions in a source that is read only once.

A position never changes: reading it twice gives the same item and the same next position.  The source itself (an
iterator, a random generator) belongs to the sequence and must not be read by anything else.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class Lazy(Generic[T]):
    """A position in an iterable."""

    __slots__ = ("_item", "_next", "_source")

    def __init__(self, items: Iterable[T]) -> None:
        self._source: Iterator[T] | None = iter(items)
        self._item: T | None = None
        self._next: Lazy[T] | None = None

    def read(self) -> tuple[T, Lazy[T]] | None:
        """Return the item at this position and the next position, or None at the end."""
        if self._source is not None:
            for item in self._source:
                self._item, self._next = item, Lazy(self._source)
                break
            self._source = None
        return None if self._next is None else (self._item, self._next)  # type: ignore[return-value]  # set together


class Stream:
    """A position in the draws of a random generator: ``u, stream = stream.draw()``."""

    __slots__ = ("_draw", "_next", "_source")

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._draw = 0.0
        self._next: Stream | None = None

    def draw(self) -> tuple[float, Stream]:
        """Return a uniformly distributed number in [0, 1) and the next position."""
        if self._next is None:
            self._draw, self._next = self._source.random(), Stream(self._source)
        return self._draw, self._next

    def exponential(self, mean: float) -> tuple[float, Stream]:
        """Return an exponentially distributed number with this mean and the next position."""
        draw, after = self.draw()
        return -math.log(1.0 - draw) * mean, after

    def choose(self, items: Sequence[U]) -> tuple[U, Stream]:
        """Return one of the items, all equally likely, and the next position."""
        draw, after = self.draw()
        return items[int(draw * len(items))], after
