"""Writers that have not noticed the recovery of their ledger, and add again long after it.

A client learns that its ledger was fenced when an add is refused.  A writer that had nothing in flight keeps its
handle, and adds when it next has something to write: every bookie must refuse that, forever.  Meanwhile its worker
takes part in other ledgers.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct, structs

from harness.generators import PENDING, Generator, GeneratorContext, Invocation, Op, Pending
from history import Event

#: The payloads of ledger N are numbered from N times this.
APART: Final = 1_000_000
#: The number of adds in a late writer's window.
ADDS: Final = 4


def key_of(number: int) -> str:
    """Return the key of the ledger with this number."""
    return f"l{number}"


class Writer(Struct, frozen=True):
    """A ledger's writer, with the number of its adds, all acknowledged; it adds again at ``due`` (ns)."""

    worker: int
    added: int
    due: int | None = None


class LateWriters(Struct, frozen=True):
    """A generator that adds a last window for each writer that met no fence.

    The window comes between ``after`` (ns) and three times ``after`` from the time at which the end of the ledger is
    known.  The moments are spread because nobody knows how long a bookie takes to come back: an add to a bookie that is
    still down ends the handle.

    ``writers`` are the possible late writers, by the number of their ledger; ``gone`` are all other ledgers.
    """

    after: int
    writers: dict[int, Writer] = {}
    gone: frozenset[int] = frozenset()

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        later: list[int] = []
        for number, writer in self.writers.items():
            if writer.due is None:
                continue
            if writer.due > ctx.time:
                later.append(writer.due)
            elif writer.worker in ctx.free:
                window = Invocation("window", key_of(number), [number * APART + writer.added, ADDS])
                return window.by(writer.worker, ctx.time), self._without(number)
        return (Pending(min(later)) if later else PENDING), self

    def update(self, ctx: GeneratorContext, event: Event) -> Generator:
        if not isinstance(event.key, str) or (number := int(event.key[1:])) in self.gone:
            return self
        writer = self.writers.get(number)
        if event.f == "window":
            if event.type != "ok" or None in event.value:
                return self._without(number)
            added = len(event.value) + (writer.added if writer else 0)
            return self._with(number, Writer(ctx.worker_of(event), added, writer.due if writer else None))
        if event.f == "close":
            return self._without(number)
        if event.f == "recover" and event.type == "ok" and writer is not None and writer.due is None:
            draw, _ = ctx.random.draw()
            return self._with(number, structs.replace(writer, due=ctx.time + round(self.after * (1.0 + 2.0 * draw))))
        return self

    def _with(self, number: int, writer: Writer) -> LateWriters:
        return LateWriters(self.after, {**self.writers, number: writer}, self.gone)

    def _without(self, number: int) -> LateWriters:
        others = {other: writer for other, writer in self.writers.items() if other != number}
        return LateWriters(self.after, others, self.gone | {number})
