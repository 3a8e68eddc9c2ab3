"""An append-only log: unique values are appended, then read at the indexes that the appends returned."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from harness.generators import PENDING, Generator, GeneratorContext, Invocation, Op, Stream, seeded
from history import Event

LOG: Final = "log-0"
#: The share of all operations that are appends.
APPENDS: Final = 0.6
#: Gets choose among this many of the latest indexes, because a log loses entries at its end.
LATEST: Final = 200


class AppendLog:
    """A workload that appends unique values to one log and gets them by the indexes that the appends returned."""

    def generator(self) -> Generator:
        return seeded("operations", lambda rng: _AppendsAndGets(Stream(rng)))

    def final_reads(self) -> list[Invocation]:
        """Return one read of the whole log."""
        return [Invocation("list", LOG, final=True)]


class _AppendsAndGets(Struct, frozen=True):
    """Appends of new values, and gets of recently appended entries.

    ``value`` is the next value to append; ``known`` holds the latest indexes that appends returned.
    """

    stream: Stream
    value: int = 1
    known: tuple[int, ...] = ()

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        if not ctx.free:
            return PENDING, self
        draw, stream = self.stream.draw()
        if draw < APPENDS or not self.known:
            append = Invocation("append", LOG, self.value).by(ctx.free[0], ctx.time)
            return append, _AppendsAndGets(stream, self.value + 1, self.known)
        index, stream = stream.choose(self.known)
        get = Invocation("get", LOG, index).by(ctx.free[0], ctx.time)
        return get, _AppendsAndGets(stream, self.value, self.known)

    def update(self, ctx: GeneratorContext, event: Event) -> Generator:  # noqa: ARG002 (the protocol's)
        if event.type != "ok" or event.f != "append":
            return self
        return _AppendsAndGets(self.stream, self.value, (*self.known, event.value)[-LATEST:])
