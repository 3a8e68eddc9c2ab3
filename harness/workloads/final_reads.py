"""Reads at the end of a run, each repeated until a node that has applied it answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from harness.generators import EXHAUSTED, PENDING, Generator, GeneratorContext, Invocation, Op, Pending
from history import Event
from history.records.operations import was_applied


class _UntilApplied(Struct, frozen=True):
    """One worker's round of reads; ``again`` holds the reads of the next round, which begins at ``resume``."""

    reads: tuple[Invocation, ...]
    pause: int
    place: int = 0
    again: tuple[Invocation, ...] = ()
    resume: int | None = None

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        if not ctx.free:  # the last read is still open, so it is not known whether it must be repeated
            return PENDING, self
        if self.place < len(self.reads):
            read = self.reads[self.place].by(ctx.free[0], ctx.time)
            return read, _UntilApplied(self.reads, self.pause, self.place + 1, self.again)
        if not self.again:
            return EXHAUSTED, self
        resume = ctx.time + self.pause if self.resume is None else self.resume
        if ctx.time < resume:
            return Pending(resume), _UntilApplied(self.reads, self.pause, self.place, self.again, resume)
        return _UntilApplied(self.again, self.pause).op(ctx)

    def update(self, ctx: GeneratorContext, event: Event) -> Generator:  # noqa: ARG002 (the protocol's)
        if was_applied(event.type, event.error):
            return self
        again = (*self.again, self.reads[self.place - 1])
        return _UntilApplied(self.reads, self.pause, self.place, again, self.resume)


def last_reads(keys: Iterable[str | int]) -> list[Invocation]:
    """Return one read of each of these objects."""
    return [Invocation("read", key, final=True) for key in keys]


def until_applied(reads: Sequence[Invocation], pause_s: float) -> Generator:
    """Repeat each read on one worker, pausing between rounds, until a node that has applied it answers."""
    return _UntilApplied(tuple(reads), round(pause_s * 1e9))
