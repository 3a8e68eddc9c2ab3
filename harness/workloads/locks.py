"""Locks with fencing tokens.

A worker may hold several locks at a time.  The holder releases its lock.  If the holder of a lock is unknown, another
worker releases the lock by its token.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness.generators import PENDING, Generator, GeneratorContext, Invocation, Op, Stream, seeded
from harness.workloads.final_reads import last_reads
from history import Event

#: The share of all operations that read a lock's holder.
READS: Final = 0.15
#: The share of releases among the operations of a worker that holds a lock.  The rest try to acquire one.
RELEASES: Final = 0.4

_Key: TypeAlias = str | int | None
_NONE: Final[Mapping[Any, Any]] = MappingProxyType({})


class Locks:
    """A workload in which all workers contend for ``keys`` locks."""

    def __init__(self, keys: int) -> None:
        self._keys = tuple(f"lock-{number}" for number in range(keys))

    def generator(self) -> Generator:
        return seeded("operations", lambda rng: _Contend(self._keys, Stream(rng)))

    def final_reads(self) -> list[Invocation]:
        """Return one read of each lock."""
        return last_reads(self._keys)


class _Contend(Struct, frozen=True):
    """Operations of workers that contend for locks.

    ``held`` maps each lock and token to the worker that holds it; ``released`` is what each worker released last.

    ``doubted`` holds the locks with an acquire or a release whose outcome is unknown.  A token of such a lock may
    have no known holder to release it.  It stays in ``orphans`` until some worker releases it.
    """

    keys: tuple[str, ...]
    stream: Stream
    held: Mapping[tuple[_Key, int], int] = _NONE
    released: Mapping[int, tuple[_Key, int]] = _NONE
    doubted: frozenset[_Key] = frozenset()
    orphans: Mapping[_Key, int] = _NONE

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
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

    def update(self, ctx: GeneratorContext, event: Event) -> Generator:
        if event.type == "fail" or event.f not in ("acquire", "release", "read"):
            return self
        worker, held = ctx.worker_of(event), dict(self.held)
        if event.f == "release":  # whatever the answer, the worker no longer holds the lock
            held.pop(self.released[worker], None)
        if event.type == "info":
            return replace(self, held=held, doubted=self.doubted | {event.key})
        word, token = ("held", event.value) if event.f == "read" else event.value
        if word == "acquired":
            return replace(self, held={**held, (event.key, token): worker})
        if word == "held" and token is not None and event.key in self.doubted and (event.key, token) not in held:
            return replace(self, held=held, orphans={**self.orphans, event.key: token})
        return replace(self, held=held)
