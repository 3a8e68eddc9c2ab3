"""The workload: short-lived ledgers, each with a writer, a reader that follows, and recoverers that end it.

A group of workers has one ledger at a time.  The writer adds windows of entries.  A recoverer opens the ledger at a
random moment after the first add, so that the ledger is fenced while adds are in flight; some ledgers are closed by
their writer at the same time.  The reader keeps asking for LastAddConfirmed, and reads up to it.  With late writers,
half of the writers fall silent before the recovery; ``late_writers`` makes the adds that they send long after it.
"""

from __future__ import annotations

import math
import random
from itertools import count
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness.generators import (
    EXHAUSTED,
    PENDING,
    Generator,
    GeneratorContext,
    Invocation,
    Op,
    Pending,
    concurrent_keys,
    seeded,
    soonest,
)
from harness.systems.bookkeeper.late_writers import APART, LateWriters, key_of
from history import Event

#: The number of workers per ledger: its writer, its reader, and up to three recoverers.
GROUP: Final = 5
#: A recoverer comes at most this many seconds after the first add.  Most come early, because the moment is the square
#: of a uniform draw: with uniform moments, issue 4701 (docs/bookkeeper.md), which needs a fence at the time of a
#: bookie's first add, never showed.
MOMENT_S: Final = 0.4
#: A failed recovery is retried after this many seconds, up to this many times, and then left to the end of the run.
AGAIN_S: Final = 0.3
TRIES: Final = 4
#: The largest number of windows per ledger: at the end, everything that was added must be read.
WINDOWS: Final = 40
#: The fraction of ledgers that their writers close, unless a client recovers them first.
CLOSES: Final = 0.3
#: The fraction of writers that go on for some windows after a refusal, as if they did not know of the fence.
STUBBORN: Final = 0.3
#: With late writers, the fraction of writers that fall silent after their first window.  Their recoverers come this
#: many seconds later, when nothing is in flight.
SILENT: Final = 0.5
SILENT_S: Final = 1.0


class Recoverer(Struct, frozen=True):
    """The worker at ``place``, which recovers the ledger ``after`` ns after the first add, or retries at ``due``."""

    place: int
    after: int
    tries: int = TRIES
    due: int | None = None


class LedgerScript(Struct, frozen=True):
    """The operations that are left to do on one ledger.

    ``began`` is when the first window was issued (ns), ``unread`` the first id that has not been read.  ``windows`` are
    the sizes of the remaining windows of adds, and ``stubborn`` is how many windows follow the first refused one.
    ``closes`` says whether the writer closes the ledger after its last window.  ``open`` is None until the create is
    answered.
    """

    number: int
    writer: int
    reader: int
    recoverers: tuple[Recoverer, ...]
    windows: tuple[int, ...]
    stubborn: int
    closes: bool
    asked: bool = False
    open: bool | None = None
    began: int | None = None
    added: int = 0
    refused: bool = False
    unread: int = 0
    reads: bool = True
    done: bool = False

    @property
    def key(self) -> str:
        return key_of(self.number)

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        idle = len(ctx.free) == len(ctx.workers)
        if self.open is False or (idle and self._over()):
            return EXHAUSTED, self
        for worker in ctx.free:
            if (step := self._of(ctx.workers.index(worker), ctx.time)) is not None:
                operation, after = step
                return operation.by(worker, ctx.time), after
        due = [
            moment
            for recoverer in self.recoverers
            if (moment := self._moment(recoverer)) is not None and moment > ctx.time
        ]
        return (Pending(min(due)) if due else PENDING), self

    def _over(self) -> bool:
        return bool(self.open) and not (self.windows or self.closes or self.recoverers or self.reads)

    def _moment(self, recoverer: Recoverer) -> int | None:
        return (
            recoverer.due if recoverer.due is not None else None if self.began is None else self.began + recoverer.after
        )

    def _of(self, place: int, now: int) -> tuple[Invocation, LedgerScript] | None:
        """Return the next operation of the worker at this place, or None if it has none now."""
        if not self.open:
            if place != self.writer or self.asked:
                return None
            return Invocation("create", self.key), replace(self, asked=True)
        for recoverer in self.recoverers:
            if recoverer.place == place and (moment := self._moment(recoverer)) is not None and moment <= now:
                left = tuple(other for other in self.recoverers if other is not recoverer)
                return Invocation("recover", self.key), replace(
                    self, recoverers=(*left, Recoverer(place, recoverer.after, recoverer.tries - 1, 2**63))
                )
        if place == self.writer and self.windows:
            size, *rest = self.windows
            window = Invocation("window", self.key, [self.number * APART + self.added, size])
            began = now if self.began is None else self.began
            return window, replace(self, windows=tuple(rest), added=self.added + size, began=began)
        if place == self.writer and self.closes:
            return Invocation("close", self.key), replace(self, closes=False)
        if place == self.reader and self.reads and self.began is not None:
            return Invocation("tail", self.key, self.unread), self
        return None

    def update(self, ctx: GeneratorContext, event: Event) -> Generator:
        if event.key != self.key:
            return self
        ok = event.type == "ok"
        if event.f == "create":
            return replace(self, open=ok)
        if event.f == "window":
            whole = ok and None not in event.value
            return self if whole or self.refused else replace(self, refused=True, windows=self.windows[: self.stubborn])
        if event.f == "recover":
            return self._recovered(ctx, ctx.workers.index(ctx.worker_of(event)), ok=ok)
        if event.f == "tail":
            ended = not (self.windows or self.closes or self.recoverers)
            more = ok and bool(event.value["entries"])
            unread = self.unread + len(event.value["entries"]) if ok else self.unread
            return replace(self, unread=unread, reads=more or not ended)
        return self

    def _recovered(self, ctx: GeneratorContext, place: int, *, ok: bool) -> LedgerScript:
        left = []
        for recoverer in self.recoverers:
            if recoverer.place != place:
                left.append(recoverer)
            elif not ok and recoverer.tries > 0:
                left.append(Recoverer(place, recoverer.after, recoverer.tries, ctx.time + round(AGAIN_S * 1e9)))
        return replace(self, recoverers=tuple(left))


def ledger_workload(workers: int, window: int, most: int, late_s: int = 0) -> Generator:
    """Generate ledgers, one after the other in each group of workers.

    Writers have up to ``window`` adds in flight, and up to ``most`` clients recover a ledger.  With ``late_s``, some of
    the writers add again that many seconds after the end was answered.
    """
    size = min(GROUP, workers)

    def drawn(rng: random.Random, number: int) -> LedgerScript:
        script = _drawn(rng, number, size, window, most)
        return _silenced(rng, script) if late_s else script

    ledgers = seeded("operations", lambda rng: concurrent_keys(size, count(), lambda number: drawn(rng, number)))
    return soonest(LateWriters(late_s * 10**9), ledgers) if late_s else ledgers


def _drawn(rng: random.Random, number: int, size: int, window: int, recoverers: int) -> LedgerScript:
    places = rng.sample(range(size), size)
    writer, reader, others = places[0], places[1 % size], places[2:] or [places[-1]]
    who = others[: rng.randint(1, min(recoverers, len(others)))]
    largest = math.exp(rng.uniform(0.0, math.log(window)))
    closes = rng.random() < CLOSES
    windows = rng.randint(1, WINDOWS) if closes else WINDOWS
    return LedgerScript(
        number=number,
        writer=writer,
        reader=reader,
        recoverers=tuple(Recoverer(place, round(MOMENT_S * rng.random() ** 2 * 1e9)) for place in who),
        windows=tuple(rng.randint(1, math.ceil(largest)) for _ in range(windows)),
        stubborn=2 if rng.random() < STUBBORN else 0,
        closes=closes,
    )


def _silenced(rng: random.Random, script: LedgerScript) -> LedgerScript:
    """Make the writer of half of the ledgers fall silent after its first window, so that it meets no fence."""
    if rng.random() >= SILENT:
        return script
    return replace(
        script,
        windows=script.windows[:1],
        closes=False,
        recoverers=tuple(
            Recoverer(recoverer.place, recoverer.after + round(SILENT_S * 1e9)) for recoverer in script.recoverers
        ),
    )
