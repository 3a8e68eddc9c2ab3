"""The protocol of generators: immutable values that say which operation comes next.

``op(ctx)``
    the next operation and the generator after it.  An :class:`Invocation` is due now and must be issued (or its
    successor thrown away); :class:`Pending` means ask again after the next completion, or at ``until`` at the latest;
    ``EXHAUSTED`` means never again.  A generator is not changed by being asked: asked again with an equal context it
    gives an equal answer.
``update(ctx, event)``
    the generator that knows of a completion.  It is not called for invocations: ``ask`` returned their successor.

Nothing waits, reads a clock or draws from a shared source in here, so that a generator runs the same in virtual time
(``simulate``) and against a cluster (``harness.execution.load``).
"""

from __future__ import annotations

import random
from collections.abc import Container
from typing import Any, Final, Protocol, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness.generators.streams import Stream
from history import Event


class Invocation(Struct, frozen=True):
    """An operation to be issued: ``f``, ``key`` and ``value`` as in the history.

    ``final``: it is issued after everything was healed, when any node may answer it, in the strongest mode.
    ``worker`` is who issues it, and ``time`` its intended time (ns, the context's clock), which lies in the past when
    every worker was busy at that time.
    """

    f: str
    key: str | int | None = None
    value: Any = None
    final: bool = False
    worker: int = -1
    time: int = 0

    def by(self, worker: int, time: int) -> Invocation:
        """This operation, to be issued by this worker, due at this time."""
        return replace(self, worker=worker, time=time)


class Pending(Struct, frozen=True):
    """The generator has no operation now: ask again after the next completion, or at ``until`` (ns) at the latest."""

    until: int | None = None


class Message(Struct, frozen=True):
    """A line for the log of the run; then the generator is asked again."""

    text: str


class Exhausted(Struct, frozen=True):
    """The generator has no operation any more."""


PENDING: Final = Pending()
EXHAUSTED: Final = Exhausted()

Op: TypeAlias = Invocation | Pending | Message | Exhausted


class Context(Struct, frozen=True):
    """The state of the run that a generator may use.

    ``time`` is in ns.  ``free`` are the workers without an open operation, the one that has been free for longest
    first; ``workers`` are all in view, in their order.  ``processes`` holds the process of each worker of the run, by
    its number: after ``info`` a worker goes on as process ``process + len(processes)``.  ``issued`` counts the run's
    invocations so far.
    """

    time: int
    free: tuple[int, ...]
    workers: tuple[int, ...]
    processes: tuple[int, ...]
    seed: int = 0
    issued: int = 0

    @property
    def random(self) -> Stream:
        """Random numbers for the next operation: the same ones however often the generator is asked for it."""
        return Stream(random.Random(f"{self.seed}:{self.issued}"))

    def worker_of(self, event: Event) -> int:
        """The worker of a completion; -1 for the nemesis."""
        return event.process % len(self.processes) if isinstance(event.process, int) else -1

    def after(self, issued: Invocation) -> Context:
        """The context after an operation was issued.  Raises ValueError when its worker is not free."""
        free, worker = self.free, issued.worker
        if worker not in free:
            raise ValueError(f"{issued} is for a worker that is not free")
        rest = free[1:] if free[0] == worker else tuple([one for one in free if one != worker])
        return replace(self, free=rest, issued=self.issued + 1)

    def only(self, workers: Container[int]) -> Context:
        """The view of some of the workers."""
        free = tuple([worker for worker in self.free if worker in workers])
        return replace(self, free=free, workers=tuple([worker for worker in self.workers if worker in workers]))


class Generator(Protocol):
    """A source of operations; a value that is never changed."""

    def op(self, ctx: Context) -> tuple[Op, Generator]:
        """The next operation, and the generator after it; once exhausted, exhausted for ever."""

    def update(self, ctx: Context, event: Event) -> Generator:
        """The generator after a completion."""


class Around(Struct, frozen=True):
    """The base of generators that completions change only in the one that they are made of."""

    child: Generator

    def update(self, ctx: Context, event: Event) -> Self:
        child = self.child.update(ctx, event)
        return self if child is self.child else replace(self, child=child)


class Among(Struct, frozen=True):
    """The base of generators that completions change only in the several that they are made of."""

    children: tuple[Generator, ...]

    def update(self, ctx: Context, event: Event) -> Self:
        children = tuple([child.update(ctx, event) for child in self.children])
        same = all(new is old for new, old in zip(children, self.children, strict=True))
        return self if same else replace(self, children=children)
