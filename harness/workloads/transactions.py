"""Transactions on lists and registers, of any system that has keys which are numbers.

Each value of a key is written once in a run.  Keys end after some writes and are replaced, so that lists stay short and
rows are made all the time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, Final, Literal, TypeAlias

from harness.generators import Generator, Invocation, operations, seeded
from history.readers.transactions.columns import READS, TXN

Write: TypeAlias = Literal["append", "w"]
#: A transaction has at most this many steps.
MOST_STEPS: Final = 4
#: A key is written this often before a fresh one takes its place.
MOST_WRITES: Final = 16
#: A final transaction reads this many keys.
READ_AT_ONCE: Final = 32
#: How many transactions read both keys of a long fork.
READERS: Final = 4
#: What a transaction of reads alone is called, which changes nothing.
READ_ONLY: Final = "read-only txn"
_Steps: TypeAlias = list[list[Any]]


def mixed(keys: int, write: Write) -> Generator:
    """One to four steps, half of them reads, on ``keys`` keys at a time, of which each is half as busy as the last."""

    def invocations(rng: random.Random) -> Iterator[_Steps]:
        fresh, active = count(keys), list(range(keys))
        written = [0] * keys
        while True:
            steps: _Steps = []
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

    return _generator(invocations)


def long_forks(write: Write) -> Generator:
    """Pairs of keys, each written by a transaction of its own, while others read both."""

    def invocations(rng: random.Random) -> Iterator[_Steps]:
        for first in count(0, 2):
            pair = (first, first + 1)
            group: list[_Steps] = [[[write, key, 1]] for key in pair]
            group += [[["r", key, None] for key in rng.sample(pair, 2)] for _ in range(READERS)]
            rng.shuffle(group)
            yield from group

    return _generator(invocations)


def write_skews(write: Write) -> Generator:
    """Pairs of keys, and for each two transactions that read both keys and write one of them."""

    def invocations(rng: random.Random) -> Iterator[_Steps]:
        for first in count(0, 2):
            pair = (first, first + 1)
            for key in rng.sample(pair, 2):
                yield [*(["r", one, None] for one in pair), [write, key, 1]]

    return _generator(invocations)


def called(f: str, value: Any) -> str:
    """What kind of operation it is: its ``f``, but for a transaction of reads alone."""
    return READ_ONLY if f == TXN and all(step[0] in READS for step in value) else f


def _generator(invocations: Callable[[random.Random], Iterator[_Steps]]) -> Generator:
    return seeded("operations", lambda rng: operations(Invocation(TXN, None, steps) for steps in invocations(rng)))


def last_transactions(keys: Sequence[Any]) -> list[Invocation]:
    """Reads of all these keys, some in each transaction."""
    parts = (keys[place : place + READ_AT_ONCE] for place in range(0, len(keys), READ_AT_ONCE))
    return [Invocation(TXN, None, [["r", key, None] for key in part], final=True) for part in parts]
