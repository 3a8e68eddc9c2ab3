"""Registers: reads and writes on a few keys that live for the whole run, each value written at most once.

Values are unique over all keys, so the checker knows which write a read saw and stays linear in time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count
from typing import Protocol

from harness.errors import UsageError
from harness.generators import Generator, Invocation, operations, seeded


class Workload(Protocol):
    """The operations of warm-up and main phase, and the reads that close a run."""

    def generator(self) -> Generator: ...

    def final_reads(self) -> list[Invocation]: ...


class Register:
    """Half reads, half writes, on ``keys`` registers k0, k1, …"""

    def __init__(self, keys: int, read_mode: str) -> None:
        self._keys = [f"k{number}" for number in range(keys)]
        self._read_mode = read_mode

    def generator(self) -> Generator:
        return seeded("operations", lambda rng: operations(self._invocations(rng)))

    def _invocations(self, rng: random.Random) -> Iterator[Invocation]:
        values = count(1)
        while True:
            key = rng.choice(self._keys)
            if rng.random() < 0.5:
                yield Invocation("read", key, read_mode=self._read_mode)
            else:
                yield Invocation("write", key, next(values))

    def final_reads(self) -> list[Invocation]:
        """One read a key, in the strongest mode, of any node."""
        return [Invocation("read", key, read_mode="log", final=True) for key in self._keys]


class CasRegister:
    """A third each of reads, writes and compare-and-sets; a cas expects one of the last values written."""

    def __init__(self, keys: int, read_mode: str) -> None:
        self._register = Register(keys, read_mode)
        self._keys = [f"k{number}" for number in range(keys)]
        self._read_mode = read_mode

    def generator(self) -> Generator:
        return seeded("operations", lambda rng: operations(self._invocations(rng)))

    def _invocations(self, rng: random.Random) -> Iterator[Invocation]:
        values = count(1)
        recent: dict[str, list[int]] = {key: [] for key in self._keys}
        while True:
            key = rng.choice(self._keys)
            draw = rng.random()
            if draw < 1 / 3:
                yield Invocation("read", key, read_mode=self._read_mode)
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


def workload_named(name: str, keys: int, read_mode: str) -> Workload:
    """Raises UsageError for an unknown name."""
    if name == "register":
        return Register(keys, read_mode)
    if name == "cas-register":
        return CasRegister(keys, read_mode)
    raise UsageError(f"--workload must be register or cas-register, not {name}")
