"""Registers: reads and writes on a few keys that live for the whole run, each value written at most once.

Values are unique over all keys, so the checker knows which write a read saw and stays linear in time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count
from typing import Protocol

from harness.workloads.invocation import Invocation


class Workload(Protocol):
    """A stream of invocations for the main phase, and the reads that close a run."""

    def invocations(self, rng: random.Random) -> Iterator[Invocation]: ...

    def final_reads(self) -> list[Invocation]: ...


class Register:
    """Half reads, half writes, on ``keys`` registers k0, k1, …"""

    def __init__(self, keys: int) -> None:
        self._keys = [f"k{number}" for number in range(keys)]

    def invocations(self, rng: random.Random) -> Iterator[Invocation]:
        values = count(1)
        while True:
            key = rng.choice(self._keys)
            if rng.random() < 0.5:
                yield Invocation("read", key)
            else:
                yield Invocation("write", key, next(values))

    def final_reads(self) -> list[Invocation]:
        """One read a key."""
        return [Invocation("read", key, final=True) for key in self._keys]


class CasRegister:
    """A third each of reads, writes and compare-and-sets; a cas expects one of the last values written."""

    def __init__(self, keys: int) -> None:
        self._register = Register(keys)
        self._keys = [f"k{number}" for number in range(keys)]

    def invocations(self, rng: random.Random) -> Iterator[Invocation]:
        values = count(1)
        recent: dict[str, list[int]] = {key: [] for key in self._keys}
        while True:
            key = rng.choice(self._keys)
            draw = rng.random()
            if draw < 1 / 3:
                yield Invocation("read", key)
                continue
            value = next(values)
            expected = rng.choice(recent[key][-3:]) if recent[key] else None
            recent[key] = [*recent[key][-2:], value]
            if draw < 2 / 3:
                yield Invocation("write", key, value)
            else:
                yield Invocation("cas", key, [expected, value])

    def final_reads(self) -> list[Invocation]:
        return self._register.final_reads()
