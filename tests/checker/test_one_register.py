"""Counterexamples of transactions: few operations, on one register where one is enough."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from checker import as_events, check, check_operations
from checker.core.calls import calls_of
from checker.core.definition import linearizable
from checker.models.objects import MultiRegister
from history import Operation
from tests.support.checker.counterexamples import as_counted
from tests.support.checker.oracle_objects import object_history, transaction_history
from tests.support.draws import draws

MODEL = MultiRegister()


def txn(process: int, steps: list[list[Any]], start: int, end: int | None) -> Operation:
    asked = [[f, key, None if f == "r" else value] for f, key, value in steps]
    outcome, result = ("info", None) if end is None else ("ok", steps)
    return Operation(process, "txn", None, asked, result, outcome, start, end, start, end)  # type: ignore[arg-type]


def possible(operations: Sequence[Operation]) -> bool:
    return linearizable(calls_of(operations, MODEL), MODEL)


def made_for(operation: Operation, others: Sequence[Operation]) -> bool:
    """Does one of the others ask for what this one left behind?"""
    mine, *rest = sorted(calls_of([operation, *others], MODEL), key=lambda call: call.source)
    assert mine.source == 0
    made = set(MODEL.made(mine.f, mine.value, mine.result))
    return any(not made.isdisjoint(MODEL.asked(call.f, call.value, call.result)) for call in rest)


@pytest.mark.parametrize("drawn", ["many values", "few values"])
def test_no_operation_of_a_counterexample_can_be_left_out(drawn: str) -> None:
    random, seen = Random(5), {"alone": 0, "together": 0}
    for _ in range(samples := draws(500, 1200)):
        history = transaction_history(random)
        if drawn == "few values":
            history = object_history(random, "multi-register", random.randint(2, 7), 3, 0.8)
        verdict = check_operations(history, MODEL)
        assert (verdict.verdict == "valid") == possible(history)
        assert bool(verdict.counterexamples) == (verdict.verdict == "invalid")
        for example in verdict.counterexamples:
            operations = as_counted(example).operations
            assert not possible(operations), (history, operations)
            if example.roles:
                # Dependencies contradict each other, and other transactions may have shown them.
                assert example.refutes
                continue
            for place, operation in enumerate(operations):
                rest = [*operations[:place], *operations[place + 1 :]]
                assert possible(rest) or made_for(operation, rest), (history, operations, operation)
            again = check(as_events(example), MODEL)
            assert again.verdict == "invalid"
        alone = "several registers" in (verdict.reason or "")
        seen["alone"] += alone
        seen["together"] += verdict.verdict == "invalid" and not alone
    assert min(seen.values()) > samples / 60


def test_a_stale_read_of_one_register_is_reported_as_that() -> None:
    first = txn(0, [["w", "x", 1], ["w", "y", 2]], 0, 1)
    history = [first, txn(1, [["r", "x", 1], ["w", "z", 9]], 2, 3), txn(2, [["r", "z", 9], ["r", "y", None]], 4, 5)]
    verdict = check_operations(history, MODEL)
    (example,) = verdict.counterexamples
    assert example.kind == "lost-write"
    assert [operation.result for operation in example.operations] == [[["write", "y", 2]], [["read", "y", None]]]
    assert example.sentence.startswith("y was absent at the start, and was absent again at 0.000000004 s")
    good = [*history[:2], txn(2, [["r", "z", 9], ["r", "y", 2]], 4, 5)]
    assert check_operations(good, MODEL).verdict == "valid"


def test_what_is_wrong_only_on_two_registers_together_is_reported_by_whole_transactions() -> None:
    writes = txn(0, [["w", "x", 1], ["w", "y", 1]], 0, 5)
    verdict = check_operations([writes, txn(1, [["r", "x", 1], ["r", "y", None]], 1, 2)], MODEL)
    (example,) = verdict.counterexamples
    assert (verdict.reason, example.kind, len(example.operations)) == (None, "G-single", 2)
    assert [edge.kind for edge in example.dependencies] == ["wr", "rw"]
    assert check_operations([writes, txn(1, [["r", "x", 1], ["r", "y", 1]], 1, 2)], MODEL).verdict == "valid"


def test_a_transaction_that_contradicts_itself_is_reported_alone() -> None:
    strange = txn(1, [["w", "x", 3], ["r", "x", 4]], 2, 3)
    verdict = check_operations([txn(0, [["w", "x", 4]], 0, 1), strange], MODEL)
    assert verdict.verdict == "invalid"
    assert strange in verdict.counterexamples[0].operations
    assert check_operations([txn(0, [["w", "x", 4]], 0, 1)], MODEL).verdict == "valid"


def test_a_failed_write_that_was_read_is_named() -> None:
    refused = Operation(0, "txn", None, [["w", "x", 7]], None, "fail", 0, 1, 0, 1)
    verdict = check_operations([refused, txn(1, [["r", "x", 7], ["w", "y", 1]], 2, 3)], MODEL)
    assert verdict.counterexamples[0].kind == "failed-write-read"


def test_many_transactions_need_few_to_tell_what_is_wrong() -> None:
    turns = [txn(place % 3, [["r", "x", place % 5 if place else None], ["w", "x", (place + 1) % 5]],
                 2 * place, 2 * place + 1) for place in range(600)]  # fmt: skip
    verdict = check_operations([*turns, txn(4, [["r", "x", 2], ["w", "y", 1]], 1300, 1301)], MODEL)
    assert [len(example.operations) <= 4 for example in verdict.counterexamples] == [True]
    assert check_operations([*turns, txn(4, [["r", "x", 0], ["w", "y", 1]], 1300, 1301)], MODEL).verdict == "valid"
