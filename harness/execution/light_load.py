"""The load while a cluster recovers: each node's own clients ask for reads and for changes in turn.

Availability is judged for each node's own clients, and for reads and changes apart.  The few clients of a node that
does not answer wait most of the time: left to chance, they may ask for one of the two alone.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import cycle
from typing import Final

from msgspec.structs import replace

from harness.generators import (
    EXHAUSTED,
    NOTHING,
    PENDING,
    Context,
    Exhausted,
    Generator,
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
from harness.workloads.transactions import called

#: Operations a second.
RECOVERY_RATE: Final = 20.0


def light_load(
    finals: Sequence[Invocation],
    workload: Generator,
    kinds_of_reads: Container[str],
    homes: Sequence[str],
    stream: Stream,
) -> Generator:
    """Final reads and what the workload has left, in turn; ``homes`` are the nodes of the workers."""
    children = operations(cycle(finals)), AsFinal(workload)
    places = {home: place for place, home in enumerate(dict.fromkeys(homes))}
    node_of = tuple(places[home] for home in homes)
    return stagger(RECOVERY_RATE, stream, Turns(children, kinds_of_reads, node_of, (False,) * len(places)))


def left_of(load: Generator) -> Generator:
    """What a light load has left of its workload."""
    turns = load.child if isinstance(load, Paced) else None
    workload = turns.children[1] if isinstance(turns, Turns) else None
    return workload.child if isinstance(workload, AsFinal) else NOTHING


class AsFinal(Around, frozen=True):
    """The child's operations, for a cluster that is whole again."""

    def op(self, ctx: Context) -> tuple[Op, Generator]:
        op, child = self.child.op(ctx)
        return (replace(op, final=True) if isinstance(op, Invocation) else op), AsFinal(child)


class Turns(Among, frozen=True):
    """Reads and changes in turn, for each node on its own.

    ``children`` are the final reads and the workload, which may have reads of its own.  ``node_of`` has the number of
    each worker's node, and ``changed`` says of each node whether its clients' last operation was a change.
    """

    kinds_of_reads: Container[str]
    node_of: tuple[int, ...]
    changed: tuple[bool, ...]

    def op(self, ctx: Context) -> tuple[Op, Generator]:
        children, waiting = [*self.children], list[Op]()
        for worker in ctx.free:
            # All that are free stay in view: some generators wait until nobody of a group is busy.
            others = tuple(other for other in ctx.free if other != worker)
            wants_change = not self.changed[self.node_of[worker]]
            for child in (wants_change, not wants_change):
                op, after = children[child].op(replace(ctx, free=(worker, *others)))
                if child and wants_change and others and self._is_read(op):
                    # A generator may depend on its reads, so none is left out: a client that has waited less takes it.
                    op, after = children[child].op(replace(ctx, free=(*reversed(others), worker)))
                children[child] = after
                if isinstance(op, Invocation):
                    node = self.node_of[op.worker]
                    changed = (*self.changed[:node], not self._is_read(op), *self.changed[node + 1 :])
                    return op, replace(self, children=tuple(children), changed=changed)
                if isinstance(op, Message):
                    return op, replace(self, children=tuple(children))
                waiting.append(op)
        if waiting and all(isinstance(op, Exhausted) for op in waiting):
            return EXHAUSTED, NOTHING
        times = [op.until for op in waiting if isinstance(op, Pending) and op.until is not None]
        return (Pending(min(times)) if times else PENDING), replace(self, children=tuple(children))

    def _is_read(self, op: Op) -> bool:
        return isinstance(op, Invocation) and called(op.f, op.value) in self.kinds_of_reads
