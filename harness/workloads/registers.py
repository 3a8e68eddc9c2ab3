"""Registers: reads, writes and compare-and-sets on a few keys; each value is written at most once.

Values are unique across all keys, so the checker knows which write a read saw and runs in linear time.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct

from harness.generators import (
    PENDING,
    Generator,
    GeneratorContext,
    Invocation,
    Op,
    Stream,
    chain,
    limit,
    mix,
    operations,
    seeded,
)
from harness.workloads.final_reads import last_reads
from history import Event

#: The number of operations on each short-lived register of ``MixedRegisters``.
SHORT: Final = 100
#: The number of short-lived registers in use at a time.
SHORT_AT_A_TIME: Final = 2


class RegisterWorkload:
    """A workload of half reads and half writes on ``keys`` registers k0, k1, …

    ``read`` is the ``f`` of all reads except the final ones.
    """

    def __init__(self, keys: int, *, read: str = "read") -> None:
        self._keys = tuple(f"k{number}" for number in range(keys))
        self._read = read

    def generator(self) -> Generator:
        return seeded("operations", lambda rng: _reads_and_writes(rng, self._keys, count(1), self._read))

    def final_reads(self) -> list[Invocation]:
        """Return one read of each key."""
        return last_reads(self._keys)


class MixedRegisters:
    """A workload with half of its operations on registers that live for the whole run and half on short-lived ones.

    The short-lived registers are s0, s1, …: two at a time, with a hundred operations each.  A run therefore has a few
    long histories and many short ones, and under every fault some key is written for the first time and some key for
    the last.
    """

    def __init__(self, keys: int) -> None:
        self._keys = [f"k{number}" for number in range(keys)]

    def generator(self) -> Generator:
        parts = [(1.0, self._short(place)) for place in range(SHORT_AT_A_TIME)]
        parts.append((float(SHORT_AT_A_TIME), seeded("operations", self._long)))
        return seeded("mix", lambda rng: mix(Stream(rng), *parts))

    def _long(self, rng: random.Random) -> Generator:
        return _reads_and_writes(rng, self._keys, self._values(SHORT_AT_A_TIME))

    def _short(self, place: int) -> Generator:
        """Return operations on this short register, then on every n-th one after it."""

        def make(rng: random.Random) -> Generator:
            values = self._values(place)
            return chain(
                limit(SHORT, _reads_and_writes(rng, [f"s{number}"], values)) for number in count(place, SHORT_AT_A_TIME)
            )

        return seeded(f"short {place}", make)

    @staticmethod
    def _values(part: int) -> Iterator[int]:
        """Return values that no other part of the mix writes."""
        return count(1 + part, 1 + SHORT_AT_A_TIME)

    def final_reads(self, used: Iterable[str | int] = ()) -> list[Invocation]:
        """Return one read of each long-lived key and of each used key."""
        return last_reads(dict.fromkeys([*self._keys, *used]))


class CasRegisterWorkload(RegisterWorkload):
    """A workload with equal numbers of reads, writes and compare-and-sets.

    Each compare-and-set expects the value last seen in its register.
    """

    def generator(self) -> Generator:
        return seeded("operations", lambda rng: _CasOfSeen(self._keys, Stream(rng)))


class _CasOfSeen(Struct, frozen=True):
    """Reads, writes, and compare-and-sets that expect the value seen last.

    ``value`` is the next value to write; ``seen`` is what each register held at its latest completion.
    """

    keys: tuple[str, ...]
    stream: Stream
    value: int = 1
    seen: Mapping[str | int | None, Any] = MappingProxyType({})

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        if not ctx.free:
            return PENDING, self
        key, stream = self.stream.choose(self.keys)
        draw, stream = stream.draw()
        value = self.value
        if draw < 1 / 3:
            operation = Invocation("read", key)
        elif draw < 2 / 3:
            operation = Invocation("write", key, value)
        else:
            operation = Invocation("cas", key, [self.seen.get(key), value])
        written = operation.f != "read"
        after = _CasOfSeen(self.keys, stream, value + written, self.seen)
        return operation.by(ctx.free[0], ctx.time), after

    def update(self, ctx: GeneratorContext, event: Event) -> Generator:  # noqa: ARG002 (the protocol's)
        if event.type != "ok":
            return self
        # A cas that took effect returns [old, new]; one that was refused returns [old, new, seen].
        latest = event.value[-1] if event.f == "cas" else event.value
        return _CasOfSeen(self.keys, self.stream, self.value, {**self.seen, event.key: latest})


def _reads_and_writes(rng: random.Random, keys: Sequence[str], values: Iterator[int], read: str = "read") -> Generator:
    def invocations() -> Iterator[Invocation]:
        while True:
            key = rng.choice(keys)
            if rng.random() < 0.5:
                yield Invocation(read, key)
            else:
                yield Invocation("write", key, next(values))

    return operations(invocations())
