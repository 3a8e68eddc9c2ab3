"""Locks with fencing tokens.

A worker may hold several, each for a while; who holds one gives it back, and one without a known holder is freed by its
token.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness.generators import PENDING, Context, Generator, Invocation, Op, Stream, seeded
from harness.workloads.final_reads import last_reads
from history import Event

#: The share of all operations that read who holds a lock.
READS: Final = 0.15
#: The share of the operations of a worker that holds a lock that give one back; all others try to take one.
RELEASES: Final = 0.4

_Key: TypeAlias = str | int | None
_NONE: Final[Mapping[Any, Any]] = MappingProxyType({})


class Locks:
    """All workers contend for ``keys`` locks."""

    def __init__(self, keys: int) -> None:
        self._keys = tuple(f"lock-{number}" for number in range(keys))

    def generator(self) -> Generator:
        return seeded("operations", lambda rng: _Contend(self._keys, Stream(rng)))

    def final_reads(self) -> list[Invocation]:
        """One read a lock."""
        return last_reads(self._keys)


class _Contend(Struct, frozen=True):
    """``held`` maps locks and their tokens to the workers that hold them; ``released`` is what each gave back last.

    ``doubted`` are the locks of which an acquire or a release is in doubt: a token of theirs without a
    known holder has none who would give it back, and is in ``orphans`` until some worker does.
    """

    keys: tuple[str, ...]
    stream: Stream
    held: Mapping[tuple[_Key, int], int] = _NONE
    released: Mapping[int, tuple[_Key, int]] = _NONE
    doubted: frozenset[_Key] = frozenset()
    orphans: Mapping[_Key, int] = _NONE

    def op(self, ctx: Context) -> tuple[Op, Generator]:
        if not ctx.free:
            return PENDING, self
        worker = ctx.free[0]
        key, stream = self.stream.choose(self.keys)
        draw, stream = stream.draw()
        mine = [lock for lock, holder in self.held.items() if holder == worker]
        if draw < READS:
            return Invocation("read", key).by(worker, ctx.time), replace(self, stream=stream)
        if mine and draw < READS + RELEASES:
            lock, stream = stream.choose(mine)
        elif key in self.orphans:
            lock = key, self.orphans[key]
        else:
            return Invocation("acquire", key).by(worker, ctx.time), replace(self, stream=stream)
        orphans = {orphan: token for orphan, token in self.orphans.items() if orphan != lock[0]}
        after = replace(self, stream=stream, released={**self.released, worker: lock}, orphans=orphans)
        return Invocation("release", *lock).by(worker, ctx.time), after

    def update(self, ctx: Context, event: Event) -> Generator:
        if event.type == "fail" or event.f not in ("acquire", "release", "read"):
            return self
        worker, held = ctx.worker_of(event), dict(self.held)
        if event.f == "release":  # the worker has it no more, whatever the answer
            held.pop(self.released[worker], None)
        if event.type == "info":
            return replace(self, held=held, doubted=self.doubted | {event.key})
        word, token = ("held", event.value) if event.f == "read" else event.value
        if word == "acquired":
            return replace(self, held={**held, (event.key, token): worker})
        if word == "held" and token is not None and event.key in self.doubted and (event.key, token) not in held:
            return replace(self, held=held, orphans={**self.orphans, event.key: token})
        return replace(self, held=held)
