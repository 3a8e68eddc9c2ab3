"""Histories of list-append as ``history.jsonl``: of a serializable store, with write skews where requested."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from random import Random
from typing import Any, Final, TextIO

#: Keys that are in use at a time, and the fewest and most appends to one before another takes its place.
ACTIVE: Final = 10
WRITES: Final = (4, 16)
CLIENTS: Final = 10
_HEADER: Final = '{"format":"harness-history","version":1,"test":"bench","model":"list-append","seed":1,"started":""}\n'

Steps = list[list[Any]]


def write_history(path: Path, transactions: int, skews: Collection[int] = (), seed: int = 1) -> None:
    """Write transactions of one to seven steps, half of them reads, by ten clients.

    Each takes effect as a whole, at its end.  At each of the ``skews``, two transactions run at the same time, and
    neither sees what the other appends.
    """
    with path.open("w") as file:
        _Store(file, Random(seed)).run(transactions, set(skews))


class _Store:
    def __init__(self, file: TextIO, random: Random) -> None:
        self.file, self.random = file, random
        self.lists: dict[int, list[int]] = {}
        self.active, self.keys, self.values, self.line = list(range(ACTIVE)), ACTIVE, 0, 0
        self.left = [random.randint(*WRITES) for _ in range(ACTIVE)]
        self.open: dict[int, Steps] = {}

    def run(self, transactions: int, skews: set[int]) -> None:
        self.file.write(_HEADER)
        made = 0
        while made < transactions:
            if made in skews:
                self._end_all()
                self._skew()
                made += 3
                continue
            process = self.random.randrange(CLIENTS)
            if process in self.open:
                self._event("ok", process, self._apply(self.open.pop(process)))
            else:
                self.open[process] = self._steps()
                self._event("invoke", process, self.open[process])
                made += 1
        self._end_all()

    def _end_all(self) -> None:
        for process, steps in self.open.items():
            self._event("ok", process, self._apply(steps))
        self.open.clear()

    def _steps(self) -> Steps:
        steps: Steps = []
        for _ in range(self.random.randint(1, 7)):
            slot = min(int(self.random.expovariate(0.5)), ACTIVE - 1)
            key = self.active[slot]
            if self.random.random() < 0.5:
                steps.append(["r", key, None])
                continue
            self.values += 1
            steps.append(["append", key, self.values])
            self.left[slot] -= 1
            if not self.left[slot]:
                self.left[slot] = self.random.randint(*WRITES)
                self.active[slot] = self.keys
                self.keys += 1
        return steps

    def _apply(self, steps: Steps) -> Steps:
        done: Steps = []
        for f, key, value in steps:
            held = self.lists.setdefault(key, [])
            if f == "append":
                held.append(value)
            done.append([f, key, value if f == "append" else list(held)])
        return done

    def _skew(self) -> None:
        one, other = self.keys, self.keys + 1
        self.keys += 2
        first, second = self.values + 1, self.values + 2
        self.values += 2
        self._event("invoke", 0, [["r", one, None], ["append", other, first]])
        self._event("invoke", 1, [["r", other, None], ["append", one, second]])
        self._event("ok", 0, [["r", one, []], ["append", other, first]])
        self._event("ok", 1, [["r", other, []], ["append", one, second]])
        self._event("invoke", 2, [["r", one, None], ["r", other, None]])
        self._event("ok", 2, [["r", one, [second]], ["r", other, [first]]])

    def _event(self, kind: str, process: int, steps: Steps) -> None:
        value = str(steps).replace("'", '"').replace("None", "null").replace(" ", "")
        self.file.write(
            f'{{"index":{self.line},"time":{self.line * 1000},"type":"{kind}","process":{process},"f":"txn",'
            f'"value":{value},"node":"n{process % 5 + 1}","phase":"main"}}\n'
        )
        self.line += 1
