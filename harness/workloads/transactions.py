"""Transactions on lists and registers, of any system that has keys which are numbers.

Each value of a key is written once in a run.  Keys end after some writes and are replaced, so that lists stay short and
rows are made all the time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from harness.generators import Context, Generator, Invocation, Op, operations, seeded
from history import Event
from history.readers.transactions.columns import READS, TXN

Write: TypeAlias = Literal["append", "w"]
#: A transaction has at most this many steps.
MOST_STEPS: Final = 4
#: A key is written this often before a fresh one takes its place.
MOST_WRITES: Final = 4
#: A final transaction reads this many keys.
READ_AT_ONCE: Final = 32
#: Keys of a long fork, and as many transactions that read them all.
GROUP: Final = 6
#: What a transaction of reads alone is called, which changes nothing.
READ_ONLY: Final = "read-only txn"
Steps: TypeAlias = list[list[Any]]


def mixed(keys: int, write: Write) -> Generator:
    """Transactions of :func:`mixed_steps`."""
    return _generator(lambda rng: mixed_steps(rng, keys, write))


def mixed_steps(rng: random.Random, keys: int, write: Write) -> Iterator[Steps]:
    """One to four steps, half of them reads, on ``keys`` keys at a time.

    Each key gets a quarter fewer steps than the one before it; the last gets all that remain.
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
    """Groups of keys, each key written by a transaction of its own, while others read the whole group."""

    def invocations(rng: random.Random) -> Iterator[Steps]:
        for first in count(0, GROUP):
            keys = range(first, first + GROUP)
            group: list[Steps] = [[[write, key, 1]] for key in keys]
            group += [[["r", key, None] for key in rng.sample(keys, GROUP)] for _ in keys]
            rng.shuffle(group)
            yield from group

    return _generator(invocations)


def write_skews(write: Write) -> Generator:
    """Pairs of keys, and for each two transactions that read both keys and write one of them."""

    def invocations(rng: random.Random) -> Iterator[Steps]:
        for first in count(0, 2):
            pair = (first, first + 1)
            for key in rng.sample(pair, 2):
                yield [*(["r", one, None] for one in pair), [write, key, 1]]

    return _generator(invocations)


def called(f: str, value: Any) -> str:
    """What kind of operation it is: its ``f``, but for a transaction of reads alone."""
    return READ_ONLY if f == TXN and all(step[0] in READS for step in value) else f


def _generator(invocations: Callable[[random.Random], Iterator[Steps]]) -> Generator:
    return seeded("operations", lambda rng: operations(Invocation(TXN, None, steps) for steps in invocations(rng)))


class Beside(Struct, frozen=True):
    """The child's transactions, but ``readers`` (workers of replicas that take no writes) read its ``latest`` keys."""

    child: Generator
    readers: frozenset[int]
    latest: tuple[int, ...] = ()

    def op(self, ctx: Context) -> tuple[Op, Generator]:
        if not ctx.free or (ctx.free[0] in self.readers and not self.latest):
            ctx = ctx.only({worker for worker in ctx.free if worker not in self.readers})
        elif ctx.free[0] in self.readers:
            steps: Steps = [["r", key, None] for key in self.latest]
            return Invocation(TXN, None, steps).by(ctx.free[0], ctx.time), self
        op, child = self.child.op(ctx.only({worker for worker in ctx.workers if worker not in self.readers}))
        keys = [step[1] for step in op.value] if isinstance(op, Invocation) else []
        latest = tuple(dict.fromkeys([*reversed(keys), *self.latest]))[:GROUP]
        return op, Beside(child, self.readers, latest)

    def update(self, ctx: Context, event: Event) -> Generator:
        return Beside(self.child.update(ctx, event), self.readers, self.latest)


def last_transactions(keys: Sequence[Any]) -> list[Invocation]:
    """Reads of all these keys, some in each transaction."""
    parts = (keys[place : place + READ_AT_ONCE] for place in range(0, len(keys), READ_AT_ONCE))
    return [Invocation(TXN, None, [["r", key, None] for key in part], final=True) for part in parts]
