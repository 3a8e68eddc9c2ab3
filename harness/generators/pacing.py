"""Pace operations: rates, time limits.

An open loop keeps its arrivals whatever the system does: where no worker is free they wait for one, so an outage is
followed by the operations that it held up, and their latency counts from the time at which they were due.  A closed
loop has no arrivals of its own: a worker asks for the next operation when it has its answer, so after an outage the
ordinary load goes on from that time.
"""

from __future__ import annotations

import math

from harness.generators.base import EXHAUSTED, Around, Context, Generator, Invocation, Op, Pending
from harness.generators.plain import NOTHING
from harness.generators.streams import Stream


class Paced(Around, frozen=True):
    """Operations ``interval`` ns apart, exactly or (with a ``stream``) on average and exponentially distributed.

    ``due`` is when the next one is; ``blocked``: it was due, and there was no operation or no worker for it.
    """

    interval: float
    stream: Stream | None
    open: bool
    due: float | None = None
    blocked: bool = False

    def op(self, ctx: Context) -> tuple[Op, Generator]:
        due = ctx.time if self.due is None else self.due
        if ctx.time < due:
            return Pending(-int(-due // 1)), self
        op, child = self.child.op(ctx)
        if type(op) is Invocation:
            gap, stream = (self.interval, None) if self.stream is None else self.stream.exponential(self.interval)
            # Being asked late is the harness's doing and is caught up; having had no worker is the system's.
            begin = ctx.time if self.blocked and not self.open else due
            after = Paced(child, self.interval, stream, self.open, begin + gap)
            return op.by(op.worker, int(due)), after
        if type(op) is Pending:
            return op, Paced(child, self.interval, self.stream, self.open, due, blocked=True)
        return op, Paced(child, self.interval, self.stream, self.open, due, self.blocked)


class TimeLimit(Around, frozen=True):
    """Exhausted ``length`` ns after it is asked first."""

    length: int
    end: int | None = None

    def op(self, ctx: Context) -> tuple[Op, Generator]:
        end = ctx.time + self.length if self.end is None else self.end
        if ctx.time >= end:
            return EXHAUSTED, NOTHING
        op, child = self.child.op(ctx)
        if type(op) is Pending:
            op = Pending(end if op.until is None else min(op.until, end))
        return op, TimeLimit(child, self.length, end)


def stagger(rate: float, stream: Stream, generator: Generator, *, open: bool = False) -> Generator:  # noqa: A002 (the field's word)
    """Operations at ``rate`` a second on average, as a Poisson process.  Raises ValueError for a rate of 0 or less."""
    return Paced(generator, _interval(rate), stream, open)


def fixed_rate(rate: float, generator: Generator, *, open: bool = False) -> Generator:  # noqa: A002 (the field's word)
    """Operations at ``rate`` a second, equally far apart.  Raises ValueError for a rate of 0 or less."""
    return Paced(generator, _interval(rate), None, open)


def _interval(rate: float) -> float:
    if not 0 < rate < math.inf:
        raise ValueError(f"a rate must be above 0, not {rate}")
    return 1e9 / rate


def time_limit(seconds: float, generator: Generator) -> Generator:
    """Exhausted so long after the first question; operations that are open then may go on."""
    return TimeLimit(generator, round(seconds * 1e9))
