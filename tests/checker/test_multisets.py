"""Queues without an order and unique identifiers, against every order there is; Jepsen's spelling of operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from checker import ModelError, check
from checker.core.calls import calls_of, freeze
from checker.core.definition import linearizable
from checker.core.model import ILLEGAL, State
from checker.foreign import fitting, take
from checker.models.bank import Bank, SolventBank
from checker.models.multisets import TotalQueue, UniqueIds, UnorderedQueue
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


class Gradually(UnorderedQueue):
    """A queue whose drains are single takes, each with the drain's number, and then the moment that finds nothing."""

    def admit(self, f: str, value: Any, result: Any) -> None: ...

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        bag, taken = state or (frozenset(), frozenset())
        so_far = dict(taken)
        if f == "empty":
            number, size = value
            return ILLEGAL if bag or so_far.get(number, 0) < size else state
        after = super().step(bag, f, value, result)
        if f == "dequeue" and value is not None:
            so_far[value] = so_far.get(value, 0) + 1
        return ILLEGAL if after is ILLEGAL else (after, frozenset(so_far.items()))


def gradually(operations: list[Operation]) -> Iterator[Operation]:
    for number, one in enumerate(operations):
        if one.f == "drain":
            yield from (replace(one, f="dequeue", value=number, result=item) for item in one.result)
            yield replace(one, f="empty", value=[number, len(one.result)], result=None)
        else:
            yield one


def test_no_verdict_on_drains_contradicts_the_definition() -> None:
    random, seen = Random(11), {"valid": 0, "invalid": 0, "unknown": 0}
    for _ in range(samples := draws(150, 20_000)):
        drawn = sample(random, ["enqueue", "enqueue", "enqueue", "dequeue", "drain"])
        certain = [one for one in drawn if one.outcome == "ok" or one.f == "enqueue"]
        operations = [
            replace(one, result=random.sample(range(3), random.randint(0, 2))) if one.f == "drain" else one
            for one in certain
        ]
        if not any(one.outcome == "ok" for one in operations):
            continue
        verdict = check(operations, "unordered-queue", engine="bag").verdict
        seen[verdict] += 1
        model = Gradually()
        truth = "valid" if linearizable(calls_of([*gradually(operations)], model), model) else "invalid"
        assert verdict in ("unknown", truth)
    assert min(seen["valid"], seen["invalid"]) > samples / 10 > seen["unknown"]


def test_a_drain_ties_values_together() -> None:
    """1 is there until 8 and 2 from 4 on, so no drain from 2 to 11 finds the queue empty."""
    operations = [
        op(1, "enqueue", 1, None, 0, 1), op(0, "drain", None, [], 2, 11), op(2, "enqueue", 2, None, 3, 4),
        op(3, "dequeue", None, 1, 8, 12), op(4, "dequeue", None, 2, 20, 21),
    ]  # fmt: skip
    assert check(operations, "unordered-queue", engine="bag").verdict == "unknown"
    before = [*operations[:2], op(2, "enqueue", 2, None, 3, 15), *operations[3:]]
    assert check(before, "unordered-queue", engine="bag").verdict == "valid"


def test_an_item_that_is_dequeued_later_was_not_taken_before_by_one_in_doubt() -> None:
    operations = [
        op(0, "enqueue", 1, None, 0, 1), op(1, "dequeue", None, None, 2, 3, "info"), op(2, "drain", None, [], 4, 5),
        op(3, "dequeue", None, 1, 6, 7),
    ]  # fmt: skip
    assert check(operations, "unordered-queue", engine="bag").verdict == "unknown"


@pytest.mark.parametrize("f", ["dequeue", "drain"])
def test_a_call_in_doubt_may_have_emptied_the_queue(f: str) -> None:
    operations = [
        op(0, "enqueue", 1, None, 0, 1), op(1, f, None, None, 2, 3, "info"), op(2, "dequeue", None, None, 4, 5),
    ]  # fmt: skip
    assert check(operations, "unordered-queue").verdict == "unknown"
    none_lost = [*operations, op(3, "dequeue", None, 1, 6, 7)]
    assert check([none_lost[0], none_lost[1], none_lost[3]], "unordered-queue").verdict == "valid"
    assert check([*operations, op(3, "dequeue", None, 2, 6, 7)], "unordered-queue").verdict == "invalid"


def test_a_queue_may_be_found_empty_during_a_drain() -> None:
    operations = [
        op(0, "drain", None, [1, 2], 0, 9), op(1, "enqueue", 1, None, 1, 2), op(3, "dequeue", None, None, 3, 4),
        op(2, "enqueue", 2, None, 5, 6),
    ]  # fmt: skip
    assert check(operations, "unordered-queue").verdict == "unknown"
    assert check([*operations[:2], *operations[3:]], "unordered-queue").verdict == "valid"


def test_what_a_drain_takes_leaves_one_by_one() -> None:
    """Its items need not be there at one moment."""
    operations = [
        op(0, "drain", None, [1, 2], 0, 9), op(1, "enqueue", 1, None, 1, 2), op(2, "enqueue", 2, None, 5, 6),
    ]  # fmt: skip
    assert check(operations, "unordered-queue").verdict == "valid"
    late = [*operations[:2], op(2, "enqueue", 2, None, 10, 11)]
    (example,) = check(late, "unordered-queue").counterexamples
    assert example.kind == "future-read"


@pytest.mark.parametrize("engine", ["search", "python-search", "wgl"])
def test_no_search_decides_a_queue_whose_items_leave_unseen(engine: str) -> None:
    """Each of these has an order in which the call in doubt, or the drain, takes items at moments of their own."""
    begin = op(0, "enqueue", 1, None, 0, 1)
    empty = op(2, "dequeue", None, None, 4, 5)
    drained = [op(0, "drain", None, [1, 2], 0, 9), op(1, "enqueue", 1, None, 1, 2), op(2, "enqueue", 2, None, 6, 7)]
    for f in ("dequeue", "drain"):
        with pytest.raises(ModelError, match="cannot decide"):
            check([begin, op(1, f, None, None, 2, 3, "info"), empty], "unordered-queue", engine=engine)
    for model in ("unordered-queue", "total-queue"):
        with pytest.raises(ModelError, match="cannot decide"):
            check([*drained, empty] if model == "unordered-queue" else drained, model, engine=engine)


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


def test_a_value_that_was_enqueued_twice_is_owed_twice() -> None:
    operations = [
        op(0, "enqueue", 1, None, 0, 1), op(0, "enqueue", 1, None, 2, 3), op(1, "dequeue", None, 1, 4, 5),
    ]  # fmt: skip
    model = TotalQueue()
    for drained, verdict in (([], "invalid"), ([1], "valid"), ([1, 1], "valid")):
        all_of_them = [*operations, op(2, "drain", None, drained, 6, 7)]
        assert check(all_of_them, model).verdict == verdict
        assert linearizable(calls_of(all_of_them, model), model) == (verdict == "valid")


def test_one_copy_that_was_delivered_twice_does_not_stand_for_the_other() -> None:
    operations = [
        op(0, "enqueue", 1, None, 0, 1), op(1, "dequeue", None, 1, 2, 3), op(1, "dequeue", None, 1, 4, 5),
        op(0, "enqueue", 1, None, 6, 7), op(2, "drain", None, [], 8, 9),
    ]  # fmt: skip
    assert check(operations, "total-queue").verdict == "unknown"


def test_a_queue_that_is_found_empty_is_left_to_the_search() -> None:
    operations = [op(0, "enqueue", 1, None, 0, 1), op(1, "dequeue", None, None, 2, 3), op(2, "dequeue", None, 1, 4, 5)]
    assert check(operations, "unordered-queue").verdict == "invalid"
    for engine in ("search", "python-search", "wgl"):
        assert check(operations, "unordered-queue", engine=engine).verdict == "invalid"
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


@pytest.mark.parametrize("make", [Bank, SolventBank])
def test_a_bank_whose_start_is_not_known_against_every_start(make: type[Bank]) -> None:
    """It is linearizable if and only if it is from some balances, none of them below 0 in a solvent bank."""
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
            for bank in (make(freeze([["a", a], ["b", total - a]])) for a in range(-2, 5))
            if make.overdraft or all(held >= 0 for _, held in bank.initial)
        )
        found = verdict(f"{make.name}-unknown", *operations)
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
