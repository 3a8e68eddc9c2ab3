"""Registers in memory, right ones and broken ones, and histories of them: what a workload or a checker is tried on."""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias, get_args

from history import Event
from history.records.events import Type

#: ``lost-answers`` is no bug: the operation is done, and ends as ``info``.
Quirk: TypeAlias = Literal[
    "", "lost-answers", "stale-reads", "lost-writes", "doubled-writes", "blind-cas", "done-and-called-failed"
]
QUIRKS: Final[tuple[Quirk, ...]] = get_args(Quirk)
BUGS: Final = QUIRKS[2:]
_LONGEST_NS: Final = 10_000_000


class Registers:
    """Registers that do ``read``, ``write`` and ``cas`` at once: linearizable without a quirk that is a bug.

    Every ``every``-th operation that a quirk is about is struck by it: a stale read returns the value before the last
    one, a lost write is acknowledged and forgotten, a doubled one is done again after the next, a blind cas does not
    compare, and what is done and called failed is a client's mistake.
    """

    def __init__(self, quirk: Quirk = "", *, every: int = 5) -> None:
        self._quirk = quirk
        self._every = every
        self._values: dict[Any, Any] = {}
        self._before: dict[Any, Any] = {}
        self._seen: Counter[str] = Counter()
        self._again: dict[Any, Any] = {}

    def perform(self, f: str, key: Any, value: Any = None) -> tuple[Type, Any]:
        """Do it; return how it ends, and its value as in a history.  Raises ValueError for an unknown ``f``."""
        if f == "read":
            stale = self._strikes("stale-reads")
            return "ok", (self._before if stale else self._values).get(key)
        if f == "write":
            return self._ended(self._write(key, value), value)
        if f == "cas":
            old, new = value
            seen = self._values.get(key)
            if seen != old and not self._strikes("blind-cas"):
                return "ok", [old, new, seen]
            return self._ended(self._write(key, new), value)
        raise ValueError(f"a register has no {f!r}")

    def _write(self, key: Any, value: Any) -> Type:
        if not self._strikes("lost-writes"):
            self._set(key, value)
        if key in self._again:
            self._set(key, self._again.pop(key))
        elif self._strikes("doubled-writes"):
            self._again[key] = value
        return "ok"

    def _set(self, key: Any, value: Any) -> None:
        self._before[key] = self._values.get(key)
        self._values[key] = value

    def _ended(self, type_: Type, value: Any) -> tuple[Type, Any]:
        if self._strikes("lost-answers"):
            return "info", value
        return ("fail" if self._strikes("done-and-called-failed") else type_), value

    def _strikes(self, quirk: Quirk) -> bool:
        if self._quirk != quirk:
            return False
        self._seen[quirk] += 1
        return self._seen[quirk] % self._every == 0


def history_of(
    registers: Registers, operations: Iterable[tuple[str, Any, Any]], *, workers: int = 3, seed: int = 0
) -> list[Event]:
    """The history of so many workers that do these operations (``f``, key, value), each when it is free.

    Operations overlap, and each is done at some moment between its invocation and its completion.
    """
    rng = random.Random(seed)
    free = [(0, worker) for worker in range(workers)]
    steps: list[tuple[int, int, int, int, int, str, Any, Any]] = []
    for f, key, value in operations:
        begun, worker = heapq.heappop(free)
        done, ended = sorted(begun + rng.randrange(1, _LONGEST_NS) for _ in range(2))
        steps.append((done, len(steps), begun, ended, worker, f, key, value))
        heapq.heappush(free, (ended + rng.randrange(1, _LONGEST_NS), worker))
    process = list(range(workers))
    moments: list[tuple[int, int, Type, int, str, Any, Any]] = []
    for _, number, begun, ended, worker, f, key, value in sorted(steps):
        type_, answered = registers.perform(f, key, value)
        moments.append((begun, number, "invoke", process[worker], f, key, value))
        moments.append((ended, number, type_, process[worker], f, key, answered))
        process[worker] += workers if type_ == "info" else 0
    moments.sort(key=lambda moment: moment[:2])
    return [
        Event(index, time, type_, by, f, value, key)
        for index, (time, _, type_, by, f, key, value) in enumerate(moments)
    ]
