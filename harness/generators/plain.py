"""Generators without children: operations in sequence, pauses and log lines."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Self

from msgspec import Struct

from harness.generators.base import EXHAUSTED, PENDING, Generator, GeneratorContext, Invocation, Message, Op, Pending
from harness.generators.streams import Lazy
from history import Event


class Plain(Struct, frozen=True):
    """Base of generators that no completion changes."""

    def update(self, ctx: GeneratorContext, event: Event) -> Self:  # noqa: ARG002 (the protocol's)
        return self


class Nothing(Plain, frozen=True):
    """The exhausted generator."""

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:  # noqa: ARG002 (the protocol's)
        return EXHAUSTED, self


NOTHING = Nothing()


class InOrder(Plain, frozen=True):
    """Operations in order, each issued by the next free worker."""

    rest: Lazy[Invocation]

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        if (read := self.rest.read()) is None:
            return EXHAUSTED, NOTHING
        if not ctx.free:
            return PENDING, self
        operation, rest = read
        return operation.by(ctx.free[0], ctx.time), InOrder(rest)


class Repeat(Plain, frozen=True):
    """One operation, again and again."""

    operation: Invocation

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        return (self.operation.by(ctx.free[0], ctx.time), self) if ctx.free else (PENDING, self)


class Sleep(Plain, frozen=True):
    """A generator without operations that is exhausted ``length`` ns after it is first asked."""

    length: int
    end: int | None = None

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        end = ctx.time + self.length if self.end is None else self.end
        return (EXHAUSTED, NOTHING) if ctx.time >= end else (Pending(end), Sleep(self.length, end))


class LogText(Plain, frozen=True):
    """A generator of one log line."""

    text: str

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:  # noqa: ARG002 (the protocol's)
        return Message(self.text), NOTHING


class Deferred(Plain, frozen=True):
    """A generator that is created from the first context, when the seed and the workers are known."""

    make: Callable[[GeneratorContext], Generator]

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        return self.make(ctx).op(ctx)


def seeded(purpose: str, make: Callable[[random.Random], Generator]) -> Generator:
    """Return a generator with its own random numbers, which depend only on the run's seed and ``purpose``."""
    return Deferred(lambda ctx: make(random.Random(f"{ctx.seed}:{purpose}")))


def operations(items: Iterable[Invocation]) -> Generator:
    """Issue these operations in order.  The iterable is read lazily and must not be used elsewhere."""
    return InOrder(Lazy(items))


def once(operation: Invocation) -> Generator:
    """Issue a single operation."""
    return operations((operation,))


def repeat(operation: Invocation) -> Generator:
    """Issue one operation again and again."""
    return Repeat(operation)


def sleep(seconds: float) -> Generator:
    """Issue no operation for this long, then end."""
    return Sleep(round(seconds * 1e9))


def log(text: str) -> Generator:
    """Write one line to the log of the run."""
    return LogText(text)
