"""Put generators in an order: in sequence, in phases, or repeated."""

from __future__ import annotations

from collections.abc import Iterable

from harness.generators.base import (
    EXHAUSTED,
    PENDING,
    Around,
    Exhausted,
    Generator,
    GeneratorContext,
    Invocation,
    Message,
    Op,
)
from harness.generators.plain import NOTHING, Plain
from harness.generators.streams import Lazy


class Chain(Around, frozen=True):
    """The first generator, then each of the others when the one before is exhausted."""

    rest: Lazy[Generator]

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        child, rest = self.child, self.rest
        while True:
            op, after = child.op(ctx)
            if type(op) is not Exhausted:
                return op, Chain(after, rest)
            if (read := rest.read()) is None:
                return EXHAUSTED, NOTHING
            child, rest = read


class Synchronize(Plain, frozen=True):
    """The child generator, held back until all workers are free at the same time."""

    child: Generator

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        return self.child.op(ctx) if len(ctx.free) == len(ctx.workers) else (PENDING, self)


class Limit(Around, frozen=True):
    """The first ``left`` operations of the child generator."""

    left: int

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        if self.left <= 0:
            return EXHAUSTED, NOTHING
        op, child = self.child.op(ctx)
        return op, Limit(child, self.left - (type(op) is Invocation))


class Repeated(Around, frozen=True):
    """The ``first`` generator, started again whenever it is exhausted, ``left`` more times (None: forever).

    ``idle`` says that this round has given only messages so far.  An endless cycle of such rounds would never return,
    so it ends.
    """

    first: Generator
    left: int | None
    idle: bool = True

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        op, child = self.child.op(ctx)
        left, idle = self.left, self.idle
        if type(op) is Exhausted:
            if left == 0 or (left is None and idle):
                return EXHAUSTED, NOTHING
            (op, child), idle = self.first.op(ctx), True
            if type(op) is Exhausted:  # it never gives anything, so an endless cycle would loop here forever
                return EXHAUSTED, NOTHING
            left = None if left is None else left - 1
        return op, Repeated(child, self.first, left, idle and type(op) is Message)


def chain(generators: Iterable[Generator]) -> Generator:
    """Run generators in sequence.  The iterable is read lazily and must not be used elsewhere."""
    return Chain(NOTHING, Lazy(generators))


def then(first: Generator, second: Generator) -> Generator:
    """Run the second generator after the first, whose last operations may still be open."""
    return chain((first, second))


def phases(*generators: Generator) -> Generator:
    """Run generators in sequence, each starting when no operation of the previous one is open."""
    return chain(map(Synchronize, generators))


def limit(count: int, generator: Generator) -> Generator:
    """End a generator after this many operations."""
    return Limit(generator, count)


def cycle(generator: Generator, count: int | None = None) -> Generator:
    """Repeat a generator ``count`` times, each time from its beginning, or forever without a count.

    An endless cycle ends if a whole round gives no operation and nothing to wait for.
    """
    return Repeated(generator, generator, None if count is None else count - 1) if count != 0 else NOTHING
