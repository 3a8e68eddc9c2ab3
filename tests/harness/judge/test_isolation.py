"""The check of transactions in a run: by the level in the name of the model, with what holds beside what is broken."""

from __future__ import annotations

import pytest

from checker import Transaction, check
from checker.transactions.transaction import operations_of_transactions
from harness.judge.judge import isolation
from history import Check
from history.columns.operations import from_operations
from history.records.violations import LINEARIZABLE

SKEW = [
    Transaction(process=0, steps=[["r", 1, []], ["append", 2, 1]]),
    Transaction(process=1, steps=[["r", 2, []], ["append", 1, 1]]),
    Transaction(process=2, steps=[["append", 1, 9]], outcome="fail"),
]
TURNS = [
    Transaction(process=0, steps=[["r", 1, []], ["append", 2, 1]]),
    Transaction(process=1, steps=[["r", 2, [1]], ["append", 1, 1]]),
]


def judged(transactions: list[Transaction], model: str) -> Check:
    operations = operations_of_transactions(transactions)
    return isolation(check(operations, model).keys, model, from_operations(operations), None)


@pytest.mark.parametrize(
    ("transactions", "model", "verdict"),
    [
        (SKEW, "list-append:serializable", "invalid"),
        (SKEW, "list-append:snapshot-isolation", "valid"),
        (TURNS, "list-append:serializable", "valid"),
        ([], "list-append:serializable", "unknown"),
        ([Transaction(process=0, steps=[["append", 1, 1]], outcome="info")], "list-append:serializable", "unknown"),
    ],
)
def test_the_level_decides(transactions: list[Transaction], model: str, verdict: str) -> None:
    found = judged(transactions, model)
    assert (found.name in LINEARIZABLE, found.verdict) == (True, verdict)
    kinds = ["G2-item", "isolation-level"] if verdict == "invalid" else []
    assert [finding.kind for finding in found.findings] == kinds


def test_a_broken_level_is_said_with_the_strongest_that_holds() -> None:
    assert "strong-snapshot-isolation" in judged(SKEW, "list-append:serializable").seen


@pytest.mark.parametrize(
    ("model", "exact"),
    [
        ("list-append:serializable", True),
        ("list-append:strict-serializable", True),
        ("list-append:snapshot-isolation", False),
        ("rw-register:serializable", False),
    ],
)
def test_a_level_that_is_not_decided_exactly_says_so(model: str, exact: bool) -> None:
    transactions = [Transaction(process=0, steps=[["append" if "list" in model else "w", 1, 1]])]
    assert ("not every violation" in judged(transactions, model).seen) is not exact
