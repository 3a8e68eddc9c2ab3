"""The load while a cluster recovers: the clients of each node alternate between reads and changes.

Availability is judged for each node's own clients, and separately for reads and changes.  The few clients of a node
that does not answer wait most of the time, so by chance they might issue only one of the two kinds.

An object whose last request was not served is requested again first, because its next turn might by chance be minutes
away.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import cycle
from typing import Final, TypeVar

from msgspec.structs import replace

from harness.generators import (
    EXHAUSTED,
    NOTHING,
    PENDING,
    Exhausted,
    Generator,
    GeneratorContext,
    Invocation,
    Message,
    Op,
    Pending,
    Stream,
    operations,
    stagger,
)
from harness.generators.base import Among, Around
from harness.generators.pacing import Paced
from harness.judge.service import KeyWant, on_key
from harness.systems.api import Workload
from history import Event
from history.records.operations import called, was_served

T = TypeVar("T")

#: Operations a second.
RECOVERY_RATE: Final = 20.0
#: How many reads of the workload a node passes on while it waits for a change, before it takes one itself.
PASSED_ON: Final = 9


def light_load(
    finals: Sequence[Invocation],
    workload: Generator,
    kind: Workload,
    homes: Sequence[str],
    stream: Stream,
    vain: Iterable[KeyWant] = (),
) -> Generator:
    """Alternate final reads with the rest of the workload, so that each node's clients alternate reads and changes.

    ``kind`` describes the workload, and ``homes`` holds the node of each worker.  ``vain`` holds the requests to
    objects that were not served; they are repeated first.
    """
    children = operations(cycle(finals)), AsFinal(workload)
    places = {home: place for place, home in enumerate(dict.fromkeys(homes))}
    node_of = tuple(places[home] for home in homes)
    number = len(places)
    turns = Turns(children, kind.reads, node_of, changed=(False,) * number, passed=(0,) * number)
    return stagger(RECOVERY_RATE, stream, AskAgain(turns, kind, tuple(vain)))


def left_of(load: Generator) -> Generator:
    """Return the part of a light load's workload that has not been issued."""
    again = load.child if isinstance(load, Paced) else None
    turns = again.child if isinstance(again, AskAgain) else None
    workload = turns.children[1] if isinstance(turns, Turns) else None
    return workload.child if isinstance(workload, AsFinal) else NOTHING


def _with(values: tuple[T, ...], place: int, value: T) -> tuple[T, ...]:
    return (*values[:place], value, *values[place + 1 :])


class AsFinal(Around, frozen=True):
    """The child generator's operations, marked as final because no fault is active any longer."""

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        op, child = self.child.op(ctx)
        return (replace(op, final=True) if isinstance(op, Invocation) else op), AsFinal(child)


class AskAgain(Around, frozen=True):
    """The child generator's operations, sent first to the objects whose last request was not served.

    ``vain`` holds these requests.  Only every second read and every second change is redirected, so that objects that
    are lost for good do not stop the load.  ``redirected`` names the kinds (reads, changes) whose last operation was
    redirected.
    """

    kind: Workload
    vain: tuple[KeyWant, ...]
    redirected: frozenset[str] = frozenset()

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        op, child = self.child.op(ctx)
        after = replace(self, child=child)
        if not isinstance(op, Invocation) or (want := on_key(self.kind, op.f, op.value, op.key)) is None:
            return op, after
        side = want[0]
        again = next((other for other in self.vain if other[0] == side), None)
        if side in self.redirected or again is None:
            return op, replace(after, redirected=self.redirected - {side})
        vain = tuple([other for other in self.vain if other != again])
        return replace(op, key=again[1]), replace(after, vain=vain, redirected=self.redirected | {side})

    def update(self, ctx: GeneratorContext, event: Event) -> AskAgain:
        after, want = super().update(ctx, event), on_key(self.kind, event.f, event.value, event.key)
        if want is None:
            return after
        others = tuple([other for other in self.vain if other != want])
        return replace(after, vain=others if was_served(event.type, event.error) else (*others, want))


class Turns(Among, frozen=True):
    """Alternating reads and changes, for each node separately.

    ``children`` are the final reads and the workload, which may have its own reads.  ``node_of`` holds the number of
    each worker's node.  ``changed`` says for each node whether the last operation of its clients was a change, and
    ``passed`` how many reads its clients have issued since.  Clients of a read-only replica never get a change.
    """

    kinds_of_reads: Container[str]
    node_of: tuple[int, ...]
    changed: tuple[bool, ...]
    passed: tuple[int, ...]

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        children, waiting = [*self.children], list[Op]()
        for worker in ctx.free:
            # Keep all free workers in view, because some generators wait until a whole group is free.
            others = tuple(other for other in ctx.free if other != worker)
            here = self.node_of[worker]
            wants_change, passed = not self.changed[here], self.passed
            for child in (wants_change, not wants_change):
                op, after = children[child].op(replace(ctx, free=(worker, *others)))
                if child and wants_change and others and self._is_read(op) and passed[here] < PASSED_ON:
                    # The workload may depend on its reads, so do not skip this one: give it to the worker that has
                    # waited the least.
                    op, after = children[child].op(replace(ctx, free=(*reversed(others), worker)))
                    passed = _with(passed, here, passed[here] + 1)
                children[child] = after
                if isinstance(op, Invocation):
                    node = self.node_of[op.worker]
                    changed = _with(self.changed, node, not self._is_read(op))
                    return op, replace(self, children=tuple(children), changed=changed, passed=_with(passed, node, 0))
                if isinstance(op, Message):
                    return op, replace(self, children=tuple(children))
                waiting.append(op)
        if waiting and all(isinstance(op, Exhausted) for op in waiting):
            return EXHAUSTED, NOTHING
        times = [op.until for op in waiting if isinstance(op, Pending) and op.until is not None]
        return (Pending(min(times)) if times else PENDING), replace(self, children=tuple(children))

    def _is_read(self, op: Op) -> bool:
        return isinstance(op, Invocation) and called(op.f, op.value) in self.kinds_of_reads
