"""The model of a set of brokers: its words for operations, and what it says of an answer that cannot be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checker import check_operations
from checker.models.registry import model_named
from history import Operation


def op(place: int, f: str, value: Any, result: Any, outcome: Any = "ok", error: str | None = None) -> Operation:
    return Operation(
        place, f, "broker-0", value, result, outcome, 10 * place, 10 * place + 5, 2 * place, 2 * place + 1, error=error
    )


STATE = [1, 3, [1, 2], 117]


@pytest.mark.parametrize(
    ("operation", "reported"),
    [
        (op(0, "alter", [1, 3, 117, [1, 3]], 118),
         "alter to [1, 3] granted as epoch 118: expected epoch 117, master 1 of epoch 3"),
        (op(0, "alter", [1, 3, 115, [1, 3]], None, "fail", "2001: Rejecting alter syncStateSet request: it is {117}"),
         "alter to [1, 3] refused (2001): expected epoch 115, master 1 of epoch 3"),
        (op(0, "alter", [1, 3, 115, [1, 3]], None, "fail", "no connection: Connect call failed"),
         "alter to [1, 3] failed: expected epoch 115, master 1 of epoch 3"),
        (op(0, "alter", [1, 3, 115, [1, 3]], None, "info", "1: TimeoutException"),
         "alter to [1, 3] in doubt: expected epoch 115, master 1 of epoch 3"),
        (op(0, "elect", 2, ["elected", 2, 4, [2], 118]),
         "elect of broker 2: master 2 of epoch 4, sync state set [2] of epoch 118"),
        (op(0, "elect", 1, ["exists", *STATE]),
         "elect of broker 1, master already: master 1 of epoch 3, sync state set [1, 2] of epoch 117"),
        (op(0, "elect", 2, None, "info"), "elect of broker 2 in doubt"),
        (op(0, "read", None, STATE), "read: master 1 of epoch 3, sync state set [1, 2] of epoch 117"),
        (op(0, "read", None, None, "fail"), "read failed"),
        (op(0, "register", 2, [None, None, [1, 2], 117]),
         "register of broker 2: no master, sync state set [1, 2] of epoch 117"),
    ],
)  # fmt: skip
def test_the_controller_calls_its_operations_by_its_own_names(operation: Operation, reported: str) -> None:
    assert model_named("sync-state-set").wording(operation) == reported


@pytest.mark.parametrize(
    "operation",
    [op(0, "write", 1, 1), op(0, "alter", [1, 3], 4), op(0, "alter", None, None, "fail"), op(0, "read", None, 7),
     op(0, "elect", 1, None), op(0, "elect", 1, ["lost", *STATE]), op(0, "alter", [1, 3, 115, 7], None, "fail"),
     op(0, "read", None, [1, 3, 5, 117])],
)  # fmt: skip
def test_what_is_no_operation_of_it_is_shown_by_its_values(operation: Operation) -> None:
    assert model_named("sync-state-set").wording(operation) == ""


def test_a_sentence_names_the_answer_that_cannot_be() -> None:
    first = [op(0, "elect", 1, ["elected", 1, 1, [1], 1]), op(1, "alter", [1, 1, 1, [1, 2]], 2)]
    good = check_operations([*first, op(2, "alter", [1, 1, 2, [1, 2, 3]], 3)], "sync-state-set")
    assert good.verdict == "valid"
    (example,) = check_operations([*first, op(2, "alter", [1, 1, 1, [1, 3]], 2)], "sync-state-set").counterexamples
    assert "process 2: alter to [1, 3] granted as epoch 2: expected epoch 1" in example.sentence
    assert "could only be master 1 of epoch 1, sync state set [1, 2] of epoch 2 by then" in example.sentence
    assert "[1, 1, 1" not in example.sentence


DOUBTED = [op(number, "alter", [1, 1, 2, [1, number]], None, "info") for number in (3, 4, 5)]
GRANTED = [op(0, "elect", 1, ["elected", 1, 1, [1], 1]), op(1, "alter", [1, 1, 1, [1, 2]], 2)]


def test_a_sentence_says_first_that_an_epoch_was_granted_twice() -> None:
    read = op(9, "read", None, [1, 1, [1, 4], 4])
    (example,) = check_operations([*GRANTED, *DOUBTED, read], "sync-state-set").counterexamples
    assert example.sentence.startswith(
        "3 changes expected epoch 2, of which at most one can be granted, as epoch 3; none expected epoch 3; "
        "and yet the epoch was 4. In full: process 9: read: master 1 of epoch 1, sync state set [1, 4] of epoch 4 ("
    )


def test_nothing_is_said_of_changes_where_another_operation_may_have_made_the_epoch() -> None:
    model = model_named("sync-state-set")
    read, elected = op(9, "read", None, [1, 1, [1, 4], 4]), op(9, "read", None, [2, 2, [2], 4])
    made = op(6, "alter", [1, 1, 3, [1, 6]], None, "info")
    assert model.because([*GRANTED, *DOUBTED, made, read], read) == ""
    assert model.because([*GRANTED, *DOUBTED, elected], elected) == ""
    assert model.because([*GRANTED, DOUBTED[0], read], read) == ""
    assert model.because([*GRANTED, *DOUBTED], GRANTED[1]) == ""
    later = replace(made, invoked=100, returned=110)
    assert model.because([*GRANTED, *DOUBTED, later, read], read)
