"""Transactions on lists and registers, for any system whose keys are numbers.

Each value of a key is written once in a run.  Keys are replaced after a few writes, so that lists stay short and new
rows are created all the time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from harness.generators import Generator, GeneratorContext, Invocation, Op, operations, seeded
from history import Event
from history.records.operations import TXN

Write: TypeAlias = Literal["append", "w"]
#: A transaction has at most this many steps.
MOST_STEPS: Final = 4
#: A key is written this often before a fresh one takes its place.
MOST_WRITES: Final = 4
#: A final transaction reads this many keys.
READ_AT_ONCE: Final = 32
#: The number of keys in a long fork, and of the transactions that read all of them.
GROUP: Final = 6
Steps: TypeAlias = list[list[Any]]


def mixed(keys: int, write: Write) -> Generator:
    """Issue the transactions of :func:`mixed_steps`."""
    return _generator(lambda rng: mixed_steps(rng, keys, write))


def mixed_steps(rng: random.Random, keys: int, write: Write) -> Iterator[Steps]:
    """Yield transactions of one to four steps, half of them reads, on ``keys`` keys at a time.

    Each key gets a quarter fewer steps than the one before it; the last key gets all that remain.
    """
    fresh, active = count(keys), list(range(keys))
    written = [0] * keys
    while True:
        steps: Steps = []
        for _ in range(rng.randint(1, MOST_STEPS)):
            place = min(int(rng.expovariate(0.3)), keys - 1)
            if rng.random() < 0.5:
                steps.append(["r", active[place], None])
                continue
            written[place] += 1
            steps.append([write, active[place], written[place]])
            if written[place] == MOST_WRITES:
                active[place], written[place] = next(fresh), 0
        yield steps


def long_forks(write: Write) -> Generator:
    """Issue groups of transactions: each key of a group is written separately while others read the whole group."""

    def invocations(rng: random.Random) -> Iterator[Steps]:
        for first in count(0, GROUP):
            keys = range(first, first + GROUP)
            group: list[Steps] = [[[write, key, 1]] for key in keys]
            group += [[["r", key, None] for key in rng.sample(keys, GROUP)] for _ in keys]
            rng.shuffle(group)
            yield from group

    return _generator(invocations)


def write_skews(write: Write) -> Generator:
    """Issue pairs of transactions on pairs of keys: both read both keys, and each writes one of them."""

    def invocations(rng: random.Random) -> Iterator[Steps]:
        for first in count(0, 2):
            pair = (first, first + 1)
            for key in rng.sample(pair, 2):
                yield [*(["r", member, None] for member in pair), [write, key, 1]]

    return _generator(invocations)


def _generator(invocations: Callable[[random.Random], Iterator[Steps]]) -> Generator:
    return seeded("operations", lambda rng: operations(Invocation(TXN, None, steps) for steps in invocations(rng)))


class Beside(Struct, frozen=True):
    """The child's transactions, while ``readers`` (workers of read-only replicas) read the keys it used last."""

    child: Generator
    readers: frozenset[int]
    latest: tuple[int, ...] = ()

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        if not ctx.free or (ctx.free[0] in self.readers and not self.latest):
            ctx = ctx.only({worker for worker in ctx.free if worker not in self.readers})
        elif ctx.free[0] in self.readers:
            steps: Steps = [["r", key, None] for key in self.latest]
            return Invocation(TXN, None, steps).by(ctx.free[0], ctx.time), self
        op, child = self.child.op(ctx.only({worker for worker in ctx.workers if worker not in self.readers}))
        keys = [step[1] for step in op.value] if isinstance(op, Invocation) else []
        latest = tuple(dict.fromkeys([*reversed(keys), *self.latest]))[:GROUP]
        return op, Beside(child, self.readers, latest)

    def update(self, ctx: GeneratorContext, event: Event) -> Generator:
        return Beside(self.child.update(ctx, event), self.readers, self.latest)


def last_transactions(keys: Sequence[Any]) -> list[Invocation]:
    """Return transactions that together read all these keys."""
    parts = (keys[place : place + READ_AT_ONCE] for place in range(0, len(keys), READ_AT_ONCE))
    return [Invocation(TXN, None, [["r", key, None] for key in part], final=True) for part in parts]
