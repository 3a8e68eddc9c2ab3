"""Run several generators at the same time."""

from __future__ import annotations

import math
from itertools import accumulate

from harness.generators.base import (
    EXHAUSTED,
    PENDING,
    Among,
    Exhausted,
    Generator,
    GeneratorContext,
    Invocation,
    Op,
    Pending,
)
from harness.generators.plain import NOTHING
from harness.generators.streams import Stream


class Mix(Among, frozen=True):
    """A mix of child generators: each operation comes from a child drawn by weight.

    A drawn child keeps its turn until it gives an operation.  ``bounds`` are the cumulative weights of the children.
    ``chosen`` is the child whose turn it is.
    """

    bounds: tuple[float, ...]
    stream: Stream
    chosen: int | None = None

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        mix = self
        while mix.children:
            chosen, stream = mix._draw() if mix.chosen is None else (mix.chosen, mix.stream)
            op, child = mix.children[chosen].op(ctx)
            if type(op) is not Exhausted:
                children = (*mix.children[:chosen], child, *mix.children[chosen + 1 :])
                return op, Mix(children, mix.bounds, stream, None if type(op) is Invocation else chosen)
            mix = mix._without(chosen, stream)
        return EXHAUSTED, NOTHING

    def _draw(self) -> tuple[int, Stream]:
        draw, stream = self.stream.draw()
        mark = draw * self.bounds[-1]
        return next((place for place, bound in enumerate(self.bounds) if mark < bound), len(self.bounds) - 1), stream

    def _without(self, place: int, stream: Stream) -> Mix:
        weights = [bound - before for before, bound in zip((0.0, *self.bounds), self.bounds, strict=False)]
        del weights[place]
        return Mix(self.children[:place] + self.children[place + 1 :], tuple(accumulate(weights)), stream)


class Soonest(Among, frozen=True):
    """Child generators merged by time: the operation that has been due the longest comes first.

    Among equals, the operation of the child that was served least recently comes first.
    """

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        offers = [(op, place, child) for place, child in enumerate(self.children) for op, child in [child.op(ctx)]]
        left = [(op, place, child) for op, place, child in offers if type(op) is not Exhausted]
        if not left:
            return EXHAUSTED, NOTHING
        due = [(_due(op), place, op, child) for op, place, child in left if type(op) is not Pending]
        if not due:
            times = [op.until for op, _, _ in left if type(op) is Pending and op.until is not None]
            # Asking may have started a child's waiting time, so keep the children as they are now.
            return (Pending(min(times)) if times else PENDING), Soonest(tuple([child for _, _, child in left]))
        _, chosen, first, child = min(due, key=lambda offer: offer[:2])
        others = [
            waiting if type(op) is Pending else self.children[place]
            for op, place, waiting in left if place != chosen
        ]  # fmt: skip
        return first, Soonest((*others, child))


def _due(op: Op) -> int:
    return op.time if type(op) is Invocation else -1


def mix(stream: Stream, *weighted: tuple[float, Generator]) -> Generator:
    """Return a generator that draws each operation from one of several generators, by weight.

    Exhausted generators are left out.  Raises ValueError for a weight of 0 or less.
    """
    if wrong := [weight for weight, _ in weighted if not 0 < weight < math.inf]:
        raise ValueError(f"a weight must be above 0, not {wrong[0]}: leave out what you do not want")
    return Mix(tuple(child for _, child in weighted), tuple(accumulate(weight for weight, _ in weighted)), stream)


def soonest(*generators: Generator) -> Generator:
    """Run all generators at the same time, issuing whichever operation is due."""
    return Soonest(generators)
