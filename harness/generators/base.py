"""The protocol of generators: immutable values that decide which operation comes next.

``op(ctx)``
    returns the next operation and the generator that follows it.  An :class:`Invocation` is due now: issue it, or throw
    its successor away.  :class:`Pending` means "ask again after the next completion, or at ``until`` at the latest".
    ``EXHAUSTED`` means "never again".  Asking a generator does not change it: asked again with an equal context, it
    gives an equal answer.
``update(ctx, event)``
    returns the generator that takes a completion into account.  It is not called for invocations: ``op`` has already
    returned their successor.

Generators never wait, read a clock or draw from a shared source of random numbers.  A generator therefore behaves the
same in virtual time (``simulate``) and against a cluster (``harness.execution.load``).
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
    """An operation to issue; ``f``, ``key`` and ``value`` are as in the history.

    ``final`` operations are issued after everything has been healed.  Any node may answer them, in the strongest mode.
    ``worker`` is the worker that issues the operation.  ``time`` is its intended time (ns, on the context's clock),
    which lies in the past if every worker was busy at that time.
    """

    f: str
    key: str | int | None = None
    value: Any = None
    final: bool = False
    worker: int = -1
    time: int = 0

    def by(self, worker: int, time: int) -> Invocation:
        """Return this operation, assigned to the given worker and due at the given time."""
        return replace(self, worker=worker, time=time)


class Pending(Struct, frozen=True):
    """No operation is due now: ask again after the next completion, or at ``until`` (ns) at the latest."""

    until: int | None = None


class Message(Struct, frozen=True):
    """A line for the run's log; the generator is asked again right after it."""

    text: str


class Exhausted(Struct, frozen=True):
    """The generator has no more operations."""


PENDING: Final = Pending()
EXHAUSTED: Final = Exhausted()

Op: TypeAlias = Invocation | Pending | Message | Exhausted


class GeneratorContext(Struct, frozen=True):
    """The state of the run that a generator may use.

    ``time`` is in ns.  ``free`` lists the workers without an open operation, the one that has been free the longest
    first.  ``workers`` lists all workers in view, in order.  ``processes`` holds the process of every worker of the
    run, by worker number; after an ``info``, a worker continues as process ``process + len(processes)``.  ``issued``
    counts the invocations of the run so far.
    """

    time: int
    free: tuple[int, ...]
    workers: tuple[int, ...]
    processes: tuple[int, ...]
    seed: int = 0
    issued: int = 0

    @property
    def random(self) -> Stream:
        """Random numbers for the next operation, which do not change if the generator is asked again."""
        # Derived from the place in the run instead of drawn from shared state, so that asking twice changes nothing.
        return Stream(random.Random(f"{self.seed}:{self.issued}"))

    def worker_of(self, event: Event) -> int:
        """Return the worker of a completion, or -1 for the nemesis."""
        # After an ``info``, the process number grows by the number of workers, so the remainder still names the worker.
        return event.process % len(self.processes) if isinstance(event.process, int) else -1

    def after(self, issued: Invocation) -> GeneratorContext:
        """Return the context after an operation was issued.  Raises ValueError if its worker is not free."""
        free, worker = self.free, issued.worker
        if worker not in free:
            raise ValueError(f"{issued} is for a worker that is not free")
        rest = free[1:] if free[0] == worker else tuple([other for other in free if other != worker])
        return replace(self, free=rest, issued=self.issued + 1)

    def only(self, workers: Container[int]) -> GeneratorContext:
        """Return this context restricted to some of the workers."""
        free = tuple([worker for worker in self.free if worker in workers])
        return replace(self, free=free, workers=tuple([worker for worker in self.workers if worker in workers]))


class Generator(Protocol):
    """An immutable source of operations."""

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        """Return the next operation and the generator that follows it.  An exhausted generator stays exhausted."""

    def update(self, ctx: GeneratorContext, event: Event) -> Generator:
        """Return the generator that takes a completion into account."""


class Around(Struct, frozen=True):
    """Base of generators with one child generator, where a completion changes only the child."""

    child: Generator

    def update(self, ctx: GeneratorContext, event: Event) -> Self:
        child = self.child.update(ctx, event)
        # Return the same object if nothing changed: most completions concern no child, and then no parent need be
        # copied.
        return self if child is self.child else replace(self, child=child)


class Among(Struct, frozen=True):
    """Base of generators with several child generators, where a completion changes only the children."""

    children: tuple[Generator, ...]

    def update(self, ctx: GeneratorContext, event: Event) -> Self:
        children = tuple([child.update(ctx, event) for child in self.children])
        same = all(new is old for new, old in zip(children, self.children, strict=True))
        return self if same else replace(self, children=children)
