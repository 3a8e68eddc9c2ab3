"""The claims of counters' counterexamples, recomputed from the recorded operations alone; a sampler of histories."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any

from history import Counterexample, Operation
from tests.support.checker.oracle import is_linearizable

SIGNS = [(1,), (1, 2, 3), (5, 3), (0, 1, 2), (-1, -2), (1, -1), (5, -3, 0), (2, -2, 7, -5), (3, 6, -6), (1 << 40, 1)]
LIES = (-7, -5, -3, -2, -1, 1, 2, 3, 4, 6)


def counter_history(
    random: Random, size: int, *, lies: float, amounts: Sequence[int] = (), width: float | None = None, doubt: int = 12
) -> list[Operation]:
    """Make adds and reads that overlap in every degree; some adds are in doubt or fail, and some reads are wrong.

    ``width`` is about the number of operations that are under way at the same time; ``doubt`` is a percentage of adds.
    """
    amounts, width = amounts or random.choice(SIGNS), width or random.choice([0.5, 1.5, 3, size])
    drawn = []
    for _ in range(size):
        start = random.random() * size
        drawn.append(sorted(start + random.random() * width for _ in range(3)))
    rank = {moment: place for place, moment in enumerate(sorted(moment for span in drawn for moment in span))}
    total, history = 0, []
    for process, (begun, _, ended) in enumerate(
        sorted(([rank[m] for m in span] for span in drawn), key=lambda s: s[1])
    ):
        if random.random() < 0.5:
            outcome = random.choices(["ok", "info", "fail"], [92 - doubt, doubt, 8])[0]
            added = random.choice(amounts)
            total += added if outcome == "ok" or (outcome == "info" and random.random() < 0.5) else 0
            history.append(counted(process, "add", added, begun, ended, outcome))
        else:
            lie = random.choice(LIES) if random.random() < lies else 0
            history.append(counted(process, "read", total + lie, begun, ended))
    return sorted(history, key=lambda operation: operation.invoke_index)


def counted(process: int, f: str, number: int, begun: int, ended: int, outcome: str = "ok") -> Operation:
    asked, answered = (number, None) if f == "add" else (None, number)
    times = (begun * 10**6, ended * 10**6, begun, ended)
    return Operation(process, f, None, asked, answered, outcome, *times, f"n{process % 3 + 1}")  # type: ignore[arg-type]


def step(state: Any, operation: Operation) -> Any:
    if operation.f == "add":
        return (state if state is None else state + operation.value,)
    return (operation.result,) if state is None or state == operation.result else None


def possible(operations: Sequence[Operation], start: int | None = 0) -> bool:
    """Decide by trying all orders; without a start, any number may be the initial one."""
    return is_linearizable(sorted(operations, key=lambda operation: operation.invoke_index), step, start)


def ended(operation: Operation) -> float:
    assert operation.return_index is not None
    return operation.return_index if operation.outcome == "ok" else float("inf")


class Claims:
    """One counterexample of a history, and its sentences."""

    def __init__(self, example: Counterexample, history: Sequence[Operation]) -> None:
        self.example, self.core = example, example.operations
        self.history = [o for o in history if o.outcome != "fail"]
        self.failed = [o for o in history if o.outcome == "fail"]
        self.reads = sorted((o for o in self.core if o.f == "read"), key=ended)
        self.read = self.reads[-1]

    def moved(self, some: Callable[[Operation], bool], sign: int, among: Sequence[Operation] | None = None) -> int:
        adds = (o for o in (self.history if among is None else among) if o.f == "add" and sign * o.value > 0)
        return sum(abs(o.value) for o in adds if some(o))

    def sure(self, read: Operation, before: Operation | None, sign: int, among: Sequence[Operation]) -> int:
        since = -1 if before is None else ended(before)
        return self.moved(lambda o: o.invoke_index > since and ended(o) < read.invoke_index, sign, among)

    def perhaps(self, read: Operation, before: Operation | None, sign: int) -> int:
        since = -1 if before is None else before.invoke_index
        return self.moved(lambda o: o.invoke_index < ended(read) and ended(o) > since, sign)

    def out_of_bounds(self, part: Sequence[Operation]) -> bool:
        """Return whether these adds make an answer too low or too high, whichever of the others also take effect."""
        reads = [o for o in part if o.f == "read"]
        for read in reads:
            for before in [None, *(o for o in reads if ended(o) < read.invoke_index)]:
                for sign in (1, -1):
                    bound = self.sure(read, before, sign, part) - self.perhaps(read, before, -sign)
                    if sign * (read.result - (0 if before is None else before.result)) < bound:
                        return True
        return False

    def assert_sound(self) -> None:
        """Check that the core contradicts itself, alone or with other operations, and that nothing can be left out."""
        inside = {o.invoke_index for o in self.core}
        others = [o for o in self.history if o.f == "add" and o.invoke_index not in inside]
        for size in range(len(others) + 1) if len(others) < 12 else ():
            for some in combinations(others, size):
                assert not possible([*self.core, *some]), self.example
        if self.example.kind == "not-linearizable":
            fewer = [[o for o in self.core if o is not read] for read in self.reads]
            starts = [start for start in (0, None) if not possible(self.core, start)]
            assert any(all(possible(part, start) for part in fewer) for start in starts), self.example
            return
        assert self.out_of_bounds(self.core), self.example
        for size in range(len(self.core)):
            assert not any(map(self.out_of_bounds, combinations(self.core, size))), self.example

    def assert_true(self) -> None:
        """Check every number in the sentence."""
        text, read = self.example.sentence, self.read
        before = self.reads[0] if len(self.reads) > 1 else None
        if self.example.kind == "not-linearizable":
            self.assert_answers()
            return
        for number, words in re.findall(r"(\d+) (?:had been|was) (added|taken away)", text):
            assert int(number) == self.sure(read, before, 1 if words == "added" else -1, self.history), self.example
        for number, words in re.findall(r"(?:at most (\d+)|nothing) can have been (added|taken away)", text):
            assert int(number or 0) == self.perhaps(read, before, 1 if words == "added" else -1), self.example
        for number, beside in re.findall(r"\((\d+) by the (\w+) operations? beside it", text):
            adds = [o.value for o in self.core if o.f == "add"]
            assert (abs(sum(adds)), len(adds)) == (int(number), 1 if beside == "one" else int(beside)), self.example
        for words, number in re.findall(r"was at (least|most) (-?\d+) then", text):
            sign = 1 if words == "least" else -1
            start = 0 if before is None else before.result
            bound = self.sure(read, before, sign, self.history) - self.perhaps(read, before, -sign)
            assert int(number) == start + sign * bound, self.example
        self.assert_kind(text)

    def assert_kind(self, text: str) -> None:
        answers = [o.result for o in self.history if o.f == "read"]
        sign = 1 if self.read.result > 0 else -1
        never = re.search(r"no read ever returned (-?\d+) or (more|less)", text)
        assert (self.example.kind == "lost-write") == bool(never)
        if never:
            assert all((answer < int(never[1])) == (never[2] == "more") for answer in answers)
        beyond = abs(self.read.result)
        in_all = self.moved(lambda _: True, sign)
        refused = self.moved(lambda o: o.invoke_index < ended(self.read), sign, self.failed)
        if self.example.kind == "never-written":
            assert beyond > in_all
        if self.example.kind == "future-read":
            assert in_all >= beyond > self.perhaps(self.read, None, sign)
        if self.example.kind == "failed-write-read":
            assert self.perhaps(self.read, None, sign) + refused >= beyond
            assert int(re.findall(r"it can be (\d+)", text)[0]) == self.perhaps(self.read, None, sign) + refused

    def assert_answers(self) -> None:
        """Return the answers that would have been right, counting from zero, or from what the first read says."""
        reported = re.search(r"can only have been (.+?)( or others)? in that time", self.example.sentence)
        if not reported:
            # Where the sum at first is unknown, it says nothing of a read that may come before all others.
            assert all(self.read.invoke_index < ended(o) for o in self.core if o.f != "add" and o is not self.read)
            assert self.example.linearization is not None
            # Answers that were legal beside the whole history have an oracle of their own.
            assert self.example.linearization.whole or not self.example.linearization.legal
            return
        if len(self.core) > 8:
            return
        stretches = [[int(end) for end in ends.split(" to ")] for ends in reported[1].split(" or ")]
        numbers = {number for ends in stretches for number in range(ends[0], ends[-1] + 1)}
        others = [o for o in self.core if o is not self.read]
        near = {self.read.result + off for off in range(-40, 41)} | numbers
        right = [
            {n for n in near if possible([*others, replace(self.read, result=n)], start)}
            for start in (0, None)
            if not possible(self.core, start)
        ]
        partly = reported[2] or max(numbers) > 1 << 30
        assert any(some >= numbers if partly else some == numbers for some in right), self.example
