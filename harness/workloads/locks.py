"""Locks with fencing tokens.

Who holds one gives it back; one that nobody is known to hold is freed by its token.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from msgspec import Struct

from harness.generators import PENDING, Context, Generator, Invocation, Op, Stream, seeded
from history import Event

#: Of all operations this share reads who holds a lock.
READS: Final = 0.15

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
        return [Invocation("read", key, final=True) for key in self._keys]


class _Contend(Struct, frozen=True):
    """``held`` is what each worker holds, as a key and its token.

    ``doubted`` are the locks of which an acquire or a release is in doubt: a token of theirs that nobody is known to
    hold has no holder who would give it back, and is in ``orphans`` until somebody does.
    """

    keys: tuple[str, ...]
    stream: Stream
    held: Mapping[int, tuple[_Key, int]] = _NONE
    doubted: frozenset[_Key] = frozenset()
    orphans: Mapping[_Key, int] = _NONE

    def op(self, ctx: Context) -> tuple[Op, Generator]:
        if not ctx.free:
            return PENDING, self
        worker = ctx.free[0]
        key, stream = self.stream.choose(self.keys)
        draw, stream = stream.draw()
        orphans = dict(self.orphans)
        if draw < READS:
            operation = Invocation("read", key)
        elif worker in self.held:
            mine, token = self.held[worker]
            operation = Invocation("release", mine, token)
        elif key in orphans:
            operation = Invocation("release", key, orphans.pop(key))
        else:
            operation = Invocation("acquire", key)
        after = _Contend(self.keys, stream, self.held, self.doubted, orphans)
        return operation.by(worker, ctx.time), after

    def update(self, ctx: Context, event: Event) -> Generator:
        if event.type == "fail" or event.f not in ("acquire", "release", "read"):
            return self
        worker, held = ctx.worker_of(event), dict(self.held)
        if event.f == "release":  # of the lock that it holds, if any; it has it no more, whatever the answer
            held.pop(worker, None)
        if event.type == "info":
            return _Contend(self.keys, self.stream, held, self.doubted | {event.key}, self.orphans)
        word, token = ("held", event.value) if event.f == "read" else event.value
        if word == "acquired":
            held[worker] = (event.key, token)
            return _Contend(self.keys, self.stream, held, self.doubted, self.orphans)
        orphans = dict(self.orphans)
        owned = (event.key, token) in held.values()
        if word == "held" and token is not None and event.key in self.doubted and not owned:
            orphans[event.key] = token
        return _Contend(self.keys, self.stream, held, self.doubted, orphans)
