"""Pace operations: rates and time limits.

An open loop keeps its arrival times whatever the system does.  If no worker is free, operations wait for one.  An
outage is therefore followed by the operations that it held up, and their latency counts from the time at which they
were due.

A closed loop has no fixed arrival times: a worker asks for the next operation once it has its answer.  After an outage,
the ordinary load simply continues.
"""

from __future__ import annotations

import math

from harness.generators.base import EXHAUSTED, Around, Generator, GeneratorContext, Invocation, Op, Pending
from harness.generators.plain import NOTHING
from harness.generators.streams import Stream


class Paced(Around, frozen=True):
    """The child generator's operations, ``interval`` ns apart: exactly, or (with a ``stream``) as a Poisson process.

    ``due`` is the time of the next operation.  ``blocked`` says that it was due but there was no operation, or no
    worker for it.
    """

    interval: float
    stream: Stream | None
    open: bool
    due: float | None = None
    blocked: bool = False

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        due = ctx.time if self.due is None else self.due
        if ctx.time < due:
            return Pending(-int(-due // 1)), self
        op, child = self.child.op(ctx)
        if type(op) is Invocation:
            gap, stream = (self.interval, None) if self.stream is None else self.stream.exponential(self.interval)
            # If we were asked late, the harness is at fault and catches up; if no worker was free, the system is.
            begin = ctx.time if self.blocked and not self.open else due
            after = Paced(child, self.interval, stream, self.open, begin + gap)
            return op.by(op.worker, int(due)), after
        if type(op) is Pending:
            return op, Paced(child, self.interval, self.stream, self.open, due, blocked=True)
        return op, Paced(child, self.interval, self.stream, self.open, due, self.blocked)


class TimeLimit(Around, frozen=True):
    """The child generator, ended ``length`` ns after it is first asked."""

    length: int
    end: int | None = None

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        end = ctx.time + self.length if self.end is None else self.end
        if ctx.time >= end:
            return EXHAUSTED, NOTHING
        op, child = self.child.op(ctx)
        if type(op) is Pending:
            op = Pending(end if op.until is None else min(op.until, end))
        return op, TimeLimit(child, self.length, end)


def stagger(rate: float, stream: Stream, generator: Generator, *, open: bool = False) -> Generator:  # noqa: A002 (the field's word)
    """Issue operations as a Poisson process, ``rate`` a second on average.

    Raises ValueError for a rate of 0 or less.
    """
    return Paced(generator, _interval(rate), stream, open)


def fixed_rate(rate: float, generator: Generator, *, open: bool = False) -> Generator:  # noqa: A002 (the field's word)
    """Issue operations at equal intervals, ``rate`` a second.  Raises ValueError for a rate of 0 or less."""
    return Paced(generator, _interval(rate), None, open)


def _interval(rate: float) -> float:
    if not 0 < rate < math.inf:
        raise ValueError(f"a rate must be above 0, not {rate}")
    return 1e9 / rate


def time_limit(seconds: float, generator: Generator) -> Generator:
    """End a generator this long after it is first asked; operations that are open then may still complete."""
    return TimeLimit(generator, round(seconds * 1e9))
