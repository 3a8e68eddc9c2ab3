"""Counters: positive numbers are added, and the sum is read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from harness.generators import Generator, Invocation, operations, seeded
from harness.workloads.final_reads import last_reads

#: The largest number that is added.  Different numbers make it easier to tell which adds a read has seen.
MAX_AMOUNT: Final = 5


class Counters:
    """A workload of half adds and half reads on ``keys`` counters."""

    def __init__(self, keys: int) -> None:
        self._keys = [f"counter-{number}" for number in range(keys)]

    def generator(self) -> Generator:
        return seeded("operations", lambda rng: operations(self._invocations(rng)))

    def _invocations(self, rng: random.Random) -> Iterator[Invocation]:
        while True:
            key = rng.choice(self._keys)
            yield Invocation("read", key) if rng.random() < 0.5 else Invocation("add", key, rng.randint(1, MAX_AMOUNT))

    def final_reads(self) -> list[Invocation]:
        """Return one read of each counter."""
        return last_reads(self._keys)
