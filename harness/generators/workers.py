"""Generators for some of the workers, for each worker, and for groups of workers that each work on one key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec import Struct

from harness.generators.base import EXHAUSTED, PENDING, Exhausted, Generator, GeneratorContext, Op, Pending
from harness.generators.plain import NOTHING, Deferred, Nothing
from harness.generators.streams import Lazy
from history import Event

K = TypeVar("K")

#: Placeholder child of a new group.  ``Groups`` skips ``NOTHING`` but asks this one, finds it exhausted, and so takes
#: the group's first key.
_TO_BE_ASKED = Nothing()


class On(Struct, frozen=True):
    """The child generator, restricted to these workers."""

    child: Generator
    workers: frozenset[int]

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        view = ctx.only(self.workers)
        if not view.workers and self.workers.isdisjoint(range(len(ctx.processes))):
            have = f"the run has {len(ctx.processes)} workers, numbered from 0"
            raise ValueError(f"{have}; none of {sorted(self.workers)} exists")
        op, child = self.child.op(view)
        return op, On(child, self.workers)

    def update(self, ctx: GeneratorContext, event: Event) -> Generator:
        if ctx.worker_of(event) not in self.workers:
            return self
        child = self.child.update(ctx.only(self.workers), event)
        return self if child is self.child else On(child, self.workers)


class Groups(Struct, frozen=True):
    """One child generator for each group of workers; an exhausted child is replaced by the next of ``spare``.

    Groups are asked in order of their longest-free worker.  ``owner`` maps each worker to its group.
    """

    children: tuple[Generator, ...]
    groups: tuple[frozenset[int], ...]
    owner: dict[int, int]
    spare: Lazy[Generator]

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        children, spare = self.children, self.spare
        until: list[int] = []
        for group in dict.fromkeys([self.owner[worker] for worker in ctx.free if worker in self.owner]):
            if children[group] is NOTHING:
                continue
            view = ctx.only(self.groups[group])
            op, child = children[group].op(view)
            while type(op) is Exhausted and (read := spare.read()) is not None:
                fresh, spare = read
                op, child = fresh.op(view)
            children = (*children[:group], child if type(op) is not Exhausted else NOTHING, *children[group + 1 :])
            if type(op) is Pending:
                until += [] if op.until is None else [op.until]
            elif type(op) is not Exhausted:
                return op, Groups(children, self.groups, self.owner, spare)
        if all(child is NOTHING for child in children):
            return EXHAUSTED, NOTHING
        return (Pending(min(until)) if until else PENDING), Groups(children, self.groups, self.owner, spare)

    def update(self, ctx: GeneratorContext, event: Event) -> Generator:
        if (group := self.owner.get(ctx.worker_of(event))) is None:
            return self
        child = self.children[group].update(ctx.only(self.groups[group]), event)
        if child is self.children[group]:
            return self
        children = (*self.children[:group], child, *self.children[group + 1 :])
        return Groups(children, self.groups, self.owner, self.spare)


def _grouped(children: Iterable[Generator], groups: Iterable[Iterable[int]], spare: Lazy[Generator]) -> Groups:
    sets = tuple(map(frozenset, groups))
    return Groups(tuple(children), sets, {worker: place for place, group in enumerate(sets) for worker in group}, spare)


def on(workers: Iterable[int], generator: Generator) -> Generator:
    """Restrict a generator to these workers. Raises ValueError, when first used, if the run has none of them."""
    return On(generator, frozenset(workers))


def each_worker(generator: Generator) -> Generator:
    """Give each worker its own copy of the whole generator."""
    return Deferred(lambda ctx: _grouped([generator] * len(ctx.workers), [[w] for w in ctx.workers], Lazy(())))


def concurrent_keys(size: int, keys: Iterable[K], make: Callable[[K], Generator]) -> Generator:
    """Let groups of ``size`` workers each run ``make(key)`` until it is exhausted, then move on to the next key.

    Workers left over, too few for another group, stay idle.  ``keys`` is read lazily and must not be used elsewhere.
    Raises ValueError for a size below 1, and when asked in a run with fewer workers.
    """
    if size < 1:
        raise ValueError(f"a group needs at least one worker, not {size}")
    generators = Lazy(make(key) for key in keys)

    def make_groups(ctx: GeneratorContext) -> Generator:
        if size > len(ctx.processes):
            raise ValueError(f"the run has {len(ctx.processes)} workers, too few for a group of {size}")
        groups = [ctx.workers[begin : begin + size] for begin in range(0, len(ctx.workers) - size + 1, size)]
        return _grouped([_TO_BE_ASKED] * len(groups), groups, generators)

    return Deferred(make_groups)
