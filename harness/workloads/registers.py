"""Registers: reads, writes and compare-and-sets on a few keys, each value written at most once.

Values are unique over all keys, so the checker knows which write a read saw and stays linear in time.
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
    Context,
    Generator,
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

#: How many operations a register of ``MixedRegisters`` that ends gets.
SHORT: Final = 100
#: How many of them are in use at a time.
SHORT_AT_A_TIME: Final = 2


class Register:
    """Half reads, half writes, on ``keys`` registers k0, k1, …

    ``read`` is the ``f`` of all reads but the last ones.
    """

    def __init__(self, keys: int, *, read: str = "read") -> None:
        self._keys = tuple(f"k{number}" for number in range(keys))
        self._read = read

    def generator(self) -> Generator:
        return seeded("operations", lambda rng: _reads_and_writes(rng, self._keys, count(1), self._read))

    def final_reads(self) -> list[Invocation]:
        """One read a key."""
        return last_reads(self._keys)


class MixedRegisters:
    """Half of the operations on registers that live for the whole run, half on some that end and are replaced.

    Those are s0, s1, …, two at a time with a hundred operations each.  So a run has long histories and many short ones,
    and a key is written for the first time, and deserted, under every fault.
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
        """Operations on short registers in sequence: this one, and every n-th after it."""

        def make(rng: random.Random) -> Generator:
            values = self._values(place)
            return chain(
                limit(SHORT, _reads_and_writes(rng, [f"s{number}"], values)) for number in count(place, SHORT_AT_A_TIME)
            )

        return seeded(f"short {place}", make)

    @staticmethod
    def _values(part: int) -> Iterator[int]:
        """Values that no other part of the mix writes."""
        return count(1 + part, 1 + SHORT_AT_A_TIME)

    def final_reads(self, used: Iterable[str | int] = ()) -> list[Invocation]:
        """One read of each key that lives, and of each that was used."""
        return last_reads(dict.fromkeys([*self._keys, *used]))


class CasRegister(Register):
    """A third each of reads, writes and compare-and-sets; a cas expects what was last seen in its register."""

    def generator(self) -> Generator:
        return seeded("operations", lambda rng: _CasOfSeen(self._keys, Stream(rng)))


class _CasOfSeen(Struct, frozen=True):
    """``value`` is the next to be written, ``seen`` what each register held by the completion that came last."""

    keys: tuple[str, ...]
    stream: Stream
    value: int = 1
    seen: Mapping[str | int | None, Any] = MappingProxyType({})

    def op(self, ctx: Context) -> tuple[Op, Generator]:
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

    def update(self, ctx: Context, event: Event) -> Generator:  # noqa: ARG002 (the protocol's)
        if event.type != "ok":
            return self
        # [old, new] of a cas that took place, [old, new, seen] of one that was refused
        seen = event.value[-1] if event.f == "cas" else event.value
        return _CasOfSeen(self.keys, self.stream, self.value, {**self.seen, event.key: seen})


def _reads_and_writes(rng: random.Random, keys: Sequence[str], values: Iterator[int], read: str = "read") -> Generator:
    def invocations() -> Iterator[Invocation]:
        while True:
            key = rng.choice(keys)
            if rng.random() < 0.5:
                yield Invocation(read, key)
            else:
                yield Invocation("write", key, next(values))

    return operations(invocations())
