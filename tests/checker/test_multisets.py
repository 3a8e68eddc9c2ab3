"""Queues without an order and unique identifiers, against every order there is; Jepsen's spelling of operations."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from checker import ModelError, check
from checker.core.calls import calls_of, freeze
from checker.core.definition import linearizable
from checker.foreign import fitting, take
from checker.models.bank import Bank
from checker.models.multisets import UniqueIds, UnorderedQueue
from history import Operation
from history.readers import Foreign
from tests.support.draws import draws


def op(process: int, f: str, asked: Any, answer: Any, start: int, end: int, outcome: str = "ok") -> Operation:
    return Operation(process, f, None, asked, answer, outcome, start, end, start, end)  # type: ignore[arg-type]


def sample(random: Random, f: list[str]) -> list[Operation]:
    """Up to seven operations that overlap, with answers from a small range, some of them in doubt."""
    size = random.randint(1, 7)
    moments = random.sample(range(40), 2 * size)
    operations = []
    for process in range(size):
        start, end = sorted((moments.pop(), moments.pop()))
        name, item = random.choice(f), random.randint(0, 2)
        outcome = random.choice(["ok"] * 6 + ["info", "fail"])
        asked, answer = (item, None) if name == "enqueue" else (None, item)
        operations.append(op(process, name, asked, answer if outcome == "ok" else None, start, end, outcome))
    return operations


@pytest.mark.parametrize(
    ("model", "f"),
    [(UnorderedQueue(), ["enqueue", "enqueue", "dequeue"]), (UniqueIds(), ["generate"])],
    ids=["unordered-queue", "unique-ids"],
)
def test_verdicts_are_those_of_the_definition(model: Any, f: list[str]) -> None:
    random, seen = Random(7), {"valid": 0, "invalid": 0}
    for _ in range(samples := draws(150, 20_000)):
        operations = sample(random, f)
        (key,) = check(operations, model).keys
        assert (key.verdict == "valid") == linearizable(calls_of(operations, model), model)
        for example in key.counterexamples:
            assert not linearizable(calls_of(example.operations, model), model)
        seen[key.verdict] += 1
    assert min(seen.values()) > samples / 10


def test_what_a_drain_takes_leaves_one_by_one() -> None:
    """Its items need not be there at one moment."""
    operations = [
        op(0, "drain", None, [1, 2], 0, 9), op(1, "enqueue", 1, None, 1, 2), op(2, "enqueue", 2, None, 5, 6),
    ]  # fmt: skip
    assert check(operations, "unordered-queue").verdict == "valid"
    late = [*operations[:2], op(2, "enqueue", 2, None, 10, 11)]
    (example,) = check(late, "unordered-queue").counterexamples
    assert example.kind == "future-read"


@pytest.mark.parametrize("model", ["unordered-queue", "total-queue"])
@pytest.mark.parametrize(
    ("drain", "doubt", "kind"),
    [([1, 2], None, None), ([1], None, "lost-element"), ([1], "dequeue", None), ([], "dequeue", "lost-element"),
     ([], "drain", None), ([1, 2, 3], None, "never-written")],
)  # fmt: skip
def test_what_a_drain_does_not_find_is_lost(model: str, drain: list[int], doubt: str | None, kind: str | None) -> None:
    operations = [op(0, "enqueue", 1, None, 0, 1), op(0, "enqueue", 2, None, 2, 3)]
    if doubt is not None:
        operations.append(op(1, doubt, None, None, 4, 5, "info"))
    examples = check([*operations, op(2, "drain", None, drain, 6, 7)], model).counterexamples
    assert {example.kind for example in examples} == ({kind} if kind else set())


def test_a_total_queue_may_deliver_again() -> None:
    operations = [op(0, "enqueue", 1, None, 0, 1), *(op(1, "dequeue", None, 1, n, n + 1) for n in (2, 4))]
    assert check(operations, "total-queue").verdict == "valid"
    (example,) = check(operations, "unordered-queue").counterexamples
    assert (example.kind, len(example.operations)) == ("duplicate", 3)


def test_a_queue_that_is_found_empty_is_left_to_the_search() -> None:
    operations = [op(0, "enqueue", 1, None, 0, 1), op(1, "dequeue", None, None, 2, 3), op(2, "dequeue", None, 1, 4, 5)]
    assert check(operations, "unordered-queue").verdict == "invalid"
    assert (
        check([operations[0], operations[2], op(1, "dequeue", None, None, 6, 7)], "unordered-queue").verdict == "valid"
    )


# -- as Jepsen records them -------------------------------------------------------------------------------------------


def verdict(model: str, *operations: Operation, initial: Any = None) -> str:
    taken = take(Foreign("edn", list(operations)), model, initial)
    return check(taken.history, taken.model).verdict


BANK = [
    op(0, "read", None, {"0": 6, "1": 4}, 0, 1),
    op(1, "transfer", {"from": 0, "to": 1, "amount": 2}, {"from": 0, "to": 1, "amount": 2}, 2, 3),
]


@pytest.mark.parametrize(
    ("last", "right"),
    [
        ({"0": 4, "1": 6}, "valid"), ({0: 4, 1: 6}, "valid"), ({"0": 4, "1": 6, "2": 0}, "valid"),
        ({"0": 6, "1": 4}, "invalid"), ({"0": 4, "1": 4}, "invalid"), ({"0": 4}, "invalid"),
        ({"0": 4, "1": 6, "2": 1}, "invalid"), ({}, "invalid"),
    ],
)  # fmt: skip
def test_jepsens_bank(last: dict[Any, int], right: str) -> None:
    read = op(0, "read", None, last, 4, 5)
    assert verdict("bank", *BANK, read) == right
    assert verdict("bank", *BANK, read, initial={"0": 6, "1": 4}) == right
    assert verdict("bank", *BANK, read, initial={"0": 5, "1": 5}) == "invalid"
    assert verdict("bank", *BANK[1:], read) == "valid"
    pairs = op(0, "read", None, [[0, -2], [1, 2]], 4, 5)
    assert verdict("bank", op(1, "transfer", [0, 1, 2], [0, 1, 2], 2, 3), pairs) == "valid"


def test_a_bank_whose_start_is_not_known_against_every_start() -> None:
    """It is linearizable if and only if it is from some balances."""
    random, seen = Random(5), set()
    for _ in range(draws(12, 1000)):
        operations, total = [], random.randint(1, 3)
        moments = random.sample(range(30), 8)
        for process in range(4):
            start, end = sorted((moments.pop(), moments.pop()))
            if process % 2:
                held = random.randint(0, 2)
                operations.append(op(process, "read", None, [["a", held], ["b", total - held]], start, end))
            else:
                outcome = random.choice(["ok", "info"])
                moved = random.choice([["a", "b", 1], ["b", "a", 1]])
                operations.append(op(process, "transfer", moved, None, start, end, outcome))
        starts = (
            linearizable(calls_of(operations, bank), bank)
            for bank in (Bank(freeze([["a", a], ["b", total - a]])) for a in range(-2, 5))
        )
        found = verdict("bank-unknown", *operations)
        assert found == ("valid" if any(starts) else "invalid")
        seen.add(found)
    assert seen == {"valid", "invalid"}


@pytest.mark.parametrize(("amount", "right"), [(6, "valid"), (7, "invalid")])
def test_a_solvent_bank(amount: int, right: str) -> None:
    moved = op(1, "transfer", [0, 1, amount], None, 2, 3)
    last = op(0, "read", None, {"0": 6 - amount, "1": 4 + amount}, 4, 5)
    assert verdict("bank-solvent", BANK[0], moved, last) == right
    assert verdict("bank", BANK[0], moved, last) == "valid"


@pytest.mark.parametrize(
    ("reads", "right"),
    [([None, 2], "valid"), ([0, 2], "valid"), ([None, None], "invalid"), ([2, 2], "invalid"), ([None, 3], "invalid")],
)
def test_a_counter_that_is_absent_at_first(reads: list[Any], right: str) -> None:
    operations = [
        op(0, "read", None, reads[0], 0, 1), op(1, "add", 2, None, 2, 3), op(0, "read", None, reads[1], 4, 5),
    ]  # fmt: skip
    assert verdict("counter", *operations) == right


YES, NO = True, False


@pytest.mark.parametrize("name", ["try_acquire", "try-lock", "lock", "acquire"])
def test_a_lock_by_other_names(name: str) -> None:
    held = [op(0, "lock", None, None, 0, 1)]
    attempt = op(1, name, None, YES, 2, 3)
    freed = op(0, "unlock", None, None, 4, 5)
    assert verdict("mutex", *held, attempt, freed) == "invalid"
    assert verdict("mutex", *held, op(1, name, None, None, 2, 3, "fail"), freed) == "valid"
    assert verdict("mutex", *held, op(1, name, None, YES, 2, 6), freed) == "valid"
    if name.startswith("try"):
        assert verdict("mutex", *held, op(1, name, None, NO, 2, 3), freed) == "valid"


def test_models_that_would_fit_are_named() -> None:
    assert list(fitting(BANK)) == ["bank"]
    assert list(fitting([op(0, "enqueue", 1, None, 0, 1)])) == ["queue", "unordered-queue", "total-queue"]
    assert list(fitting([op(0, "acquire", None, None, 0, 1)])) == ["mutex"]
    assert "cas-register" in set(fitting([op(0, "cas", [1, 2], None, 0, 1)]))
    with pytest.raises(ModelError, match="takes a string"):
        verdict("kv", op(0, "put", 3, None, 0, 1))
