"""The load while a cluster recovers: each node's own clients ask for reads and for changes in turn.

Availability is judged for each node's own clients, and for reads and changes apart.  The few clients of a node that
does not answer wait most of the time: left to chance, they may ask for one of the two alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness.generators import (
    EXHAUSTED,
    NOTHING,
    PENDING,
    Context,
    Exhausted,
    Generator,
    Invocation,
    Op,
    Pending,
    Stream,
    operations,
    stagger,
)
from harness.generators.base import Around
from harness.generators.pacing import Paced
from harness.workloads.transactions import called
from history import Event

#: Operations a second.
RECOVERY_RATE: Final = 20.0
#: A workload that gives so many reads in a row has no change left to ask for.
_ONLY_READS: Final = 10_000


def light_load(reads: Sequence[Invocation], workload: Generator, nodes: int, stream: Stream) -> Generator:
    """Reads of every object and what the workload has left, in turn; worker ``w`` is a client of node ``w % nodes``."""
    changes = Changes(workload, frozenset(called(read.f, read.value) for read in reads))
    return stagger(RECOVERY_RATE, stream, Turns((operations(cycle(reads)), changes), (0,) * nodes))


def left_of(load: Generator) -> Generator:
    """What a light load has left of its workload."""
    turns = load.child if isinstance(load, Paced) else None
    changes = turns.children[1] if isinstance(turns, Turns) else None
    return changes.child if isinstance(changes, Changes) else NOTHING


class Changes(Around, frozen=True):
    """The child's operations for a cluster that is whole again, without those kinds that are asked for anyway."""

    anyway: frozenset[str]

    def op(self, ctx: Context) -> tuple[Op, Generator]:
        child = self.child
        for _ in range(_ONLY_READS):
            op, child = child.op(ctx)
            if not isinstance(op, Invocation):
                return op, Changes(child, self.anyway)
            if called(op.f, op.value) not in self.anyway:
                return replace(op, final=True), Changes(child, self.anyway)
        return EXHAUSTED, NOTHING


class Turns(Struct, frozen=True):
    """Reads and the workload's changes in turn, for each node on its own.

    ``children`` are the reads and the changes; ``last`` says of each node whose turn it was.
    """

    children: tuple[Generator, Generator]
    last: tuple[int, ...]

    def op(self, ctx: Context) -> tuple[Op, Generator]:
        children, waiting = [*self.children], list[Op]()
        for worker in ctx.free:
            # All that are free stay in view: some generators wait until nobody of a group is busy.
            first = replace(ctx, free=(worker, *(other for other in ctx.free if other != worker)))
            node = worker % len(self.last)
            for turn in (1 - self.last[node], self.last[node]):
                op, children[turn] = children[turn].op(first)
                if isinstance(op, Invocation):
                    node = op.worker % len(self.last)
                    last = (*self.last[:node], turn, *self.last[node + 1 :])
                    return op, Turns((children[0], children[1]), last)
                waiting.append(op)
        if waiting and all(isinstance(op, Exhausted) for op in waiting):
            return EXHAUSTED, NOTHING
        times = [op.until for op in waiting if isinstance(op, Pending) and op.until is not None]
        return (Pending(min(times)) if times else PENDING), replace(self, children=(children[0], children[1]))

    def update(self, ctx: Context, event: Event) -> Generator:
        reads, changes = self.children
        return replace(self, children=(reads.update(ctx, event), changes.update(ctx, event)))
