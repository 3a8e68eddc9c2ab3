"""Histories of transactions from toy stores of a known level, for oracles and for anomalies that must not be found."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from history import Operation
from history.records.operations import Outcome

#: What a store of each kind keeps; the last three keep nothing that could be relied on.
STORES: Final = ("serial", "snapshot", "stale", "committed", "lost-update", "dirty", "damaged")


@dataclass
class _Open:
    """A transaction under way: what it will do, what it has done, and what it saw when it began."""

    process: int
    steps: list[list[Any]]
    invoked: int
    snapshot: dict[Any, Any]
    began: int
    done: list[list[Any]] = field(default_factory=list)
    written: dict[Any, list[Any]] = field(default_factory=dict)


class ToyStore:
    """A store in memory that interleaves transactions, step by step."""

    def __init__(self, random: Random, kind: str, holds: str) -> None:
        self.random, self.kind, self.holds = random, kind, holds
        self.state: dict[Any, Any] = {}
        self.versions: list[dict[Any, Any]] = [{}]
        self.touched: list[set[Any]] = [set()]

    def begin(self, process: int, steps: list[list[Any]], now: int) -> _Open:
        began = len(self.versions) - 1
        if self.kind == "stale" and all(step[0] == "r" for step in steps):
            began = self.random.randint(max(0, began - 3), began)
        return _Open(process, steps, now, self.versions[began], began)

    def step(self, txn: _Open) -> None:
        f, key, value = txn.steps[len(txn.done)]
        current = self.state if self.kind == "dirty" else self.versions[-1]
        before = current if self.kind in ("dirty", "committed") else txn.snapshot
        if f == "r":
            found = self._apply(before.get(key), txn.written.get(key, []) if self.kind != "dirty" else [])
            txn.done.append(["r", key, list(found) if isinstance(found, list) else found])
            return
        txn.written.setdefault(key, []).append(value)
        if self.kind == "dirty":
            self.state[key] = self._apply(self.state.get(key), [value])
        txn.done.append([f, key, value])

    def may_commit(self, txn: _Open) -> bool:
        """Return whether a transaction may commit.

        The first committer wins; where reads are current, what was read must not have changed either.
        """
        since = set().union(*self.touched[txn.began + 1 :])
        if self.kind == "snapshot":
            return since.isdisjoint(txn.written)
        if self.kind in ("serial", "stale", "damaged"):
            reads_only = not txn.written
            return reads_only or since.isdisjoint(step[1] for step in txn.done)
        return True

    def commit(self, txn: _Open) -> None:
        changed = {key: self._apply(self.versions[-1].get(key), values) for key, values in txn.written.items()}
        if self.kind == "lost-update" and self.holds == "list-append":
            changed = {key: self._apply(txn.snapshot.get(key), values) for key, values in txn.written.items()}
        self.versions.append({**self.versions[-1], **changed})
        self.touched.append(set(changed))

    def abort(self, txn: _Open) -> None:
        """Abort a transaction; in the dirty store, what was written in place stays or is removed again."""
        if self.kind == "dirty" and self.random.random() < 0.6:
            for key, values in txn.written.items():
                if self.holds == "list-append":
                    self.state[key] = [value for value in self.state.get(key) or [] if value not in values]

    def _apply(self, before: Any, values: list[Any]) -> Any:
        if self.holds == "list-append":
            return [*(before or []), *values]
        return values[-1] if values else before


@dataclass
class Shape:
    """How a history is made; ``ties`` is how often two events of different processes share a place in real time."""

    transactions: int = 5
    keys: int = 2
    processes: int = 3
    most_steps: int = 3
    fails: float = 0.1
    doubts: float = 0.15
    ties: float = 0.0


class _Clients:
    """Clients of a toy store, and the history that they record."""

    def __init__(self, random: Random, kind: str, holds: str, shape: Shape) -> None:
        self.random, self.shape, self.write = random, shape, "append" if holds == "list-append" else "w"
        self.store = ToyStore(random, kind, holds)
        self.now, self.values, self.started = 0, 0, 0
        self.open: dict[int, _Open] = {}
        self.numbers = list(range(shape.processes))
        self.latest: dict[int, int] = {}
        self.done: list[Operation] = []

    def run(self) -> list[Operation]:
        while self.started < self.shape.transactions or self.open:
            slot = self.random.randrange(self.shape.processes)
            if slot not in self.open:
                if self.started < self.shape.transactions:
                    self.open[slot] = self.store.begin(self.numbers[slot], self._steps(), self._tick(slot))
                    self.started += 1
                continue
            txn = self.open[slot]
            if len(txn.done) < len(txn.steps):
                self.store.step(txn)
            if len(txn.done) == len(txn.steps):
                self._finish(self.open.pop(slot), slot)
        return sorted(self.done, key=lambda operation: operation.invoke_index)

    def _tick(self, slot: int) -> int:
        self.now += self.random.random() >= self.shape.ties or self.latest.get(slot) == self.now
        self.latest[slot] = self.now
        return self.now

    def _steps(self) -> list[list[Any]]:
        steps: list[list[Any]] = []
        for _ in range(self.random.randint(1, self.shape.most_steps)):
            key = self.random.randrange(self.shape.keys)
            if self.random.random() < 0.5:
                steps.append(["r", key, None])
            else:
                self.values += 1
                steps.append([self.write, key, self.values])
        return steps

    def _finish(self, txn: _Open, slot: int) -> None:
        random = self.random
        failing = random.random() < self.shape.fails or not self.store.may_commit(txn)
        in_doubt = random.random() < self.shape.doubts
        if failing or (in_doubt and random.random() < 0.5):
            self.store.abort(txn)
        else:
            self.store.commit(txn)
        outcome: Outcome = "info" if in_doubt else "fail" if failing else "ok"
        asked = [[f, key, None if f == "r" else value] for f, key, value in txn.done]
        result = txn.done if outcome == "ok" else None
        returned = None if in_doubt else self._tick(slot)
        self.done.append(Operation(
            txn.process, "txn", None, asked, result, outcome, txn.invoked, returned, txn.invoked, returned
        ))  # fmt: skip
        if in_doubt:
            self.numbers[slot] += self.shape.processes


def history_of(random: Random, kind: str, holds: str, shape: Shape) -> list[Operation]:
    """Make a history of a store of that kind."""
    clients = _Clients(random, kind, holds, shape)
    history = clients.run()
    return [_damaged(random, o, holds, clients.values) for o in history] if kind == "damaged" else history


def _damaged(random: Random, operation: Operation, holds: str, values: int) -> Operation:
    """Change the answer of one read in five."""
    if operation.result is None:
        return operation
    steps = []
    for f, key, value in operation.result:
        answer = value
        if f == "r" and random.random() < 0.2:
            if holds == "list-append":
                answer = list(value)
                change = random.randrange(4)
                if change == 0 and answer:
                    answer.pop(random.randrange(len(answer)))
                elif change == 1:
                    answer.insert(random.randint(0, len(answer)), random.randint(1, values + 1))
                elif change == 2:
                    random.shuffle(answer)
                else:
                    answer = answer[: random.randint(0, len(answer))]
            else:
                answer = random.choice([None, *range(1, values + 2)])
        steps.append([f, key, answer])
    return replace(operation, result=steps)
