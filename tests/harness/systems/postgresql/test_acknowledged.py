"""Acknowledged appends that the primary's last reads lack are lost; nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("psycopg", reason="needs the extra postgresql")

from harness.systems import Machine, Setup
from harness.systems.api import Evidence
from harness.systems.postgresql.acknowledged import acknowledged
from history import Check, Operation
from history.records.finding import Contradiction

NODES = (Machine("n1", "10.0.0.1"), Machine("n2", "10.0.0.2"))


def txn(at: int, *steps: list[Any], outcome: Any = "ok", node: str = "n1", phase: Any = "main") -> Operation:
    return Operation(at, "txn", None, list(steps), list(steps), outcome, at, at + 5, at, at + 5, node, None, phase)


def judged(*operations: Operation) -> Check:
    return acknowledged(Evidence(
        setup=Setup(version="15", workload="list-append", nodes=NODES), nodes=("n1", "n2"), operations=operations,
        probes=(), receipts=(), moments={},
    ))  # fmt: skip


def last(items: list[int], *, at: int = 100, node: str = "n1") -> Operation:
    return txn(at, ["r", 7, items], node=node, phase="final")


def test_an_append_that_the_last_read_lacks_is_lost() -> None:
    check = judged(txn(0, ["append", 7, 1]), txn(10, ["append", 7, 2], ["r", 8, []]), last([1]))
    assert check.verdict == "invalid"
    (finding,), (example,) = check.findings, check.counterexamples
    assert isinstance(finding, Contradiction)
    assert (finding.kind, finding.severity, finding.count) == ("lost-append", "data lost", 1)
    assert [operation.invoked for operation in example.operations] == [10, 100]
    assert judged(txn(0, ["append", 7, 1]), txn(10, ["append", 7, 2]), last([1, 2])).verdict == "valid"


@pytest.mark.parametrize(
    "append",
    [
        txn(10, ["append", 7, 2], outcome="info"),
        txn(10, ["append", 7, 2], outcome="fail"),
        txn(98, ["append", 7, 2]),
        txn(10, ["append", 9, 2]),
    ],
    ids=["in doubt", "failed", "acknowledged during the read", "of a list that was not read"],
)
def test_what_need_not_be_there_is_not_missed(append: Operation) -> None:
    assert judged(append, last([1])).verdict == "valid"


def test_only_the_primary_s_last_read_counts() -> None:
    append = txn(10, ["append", 7, 2])
    assert judged(append, last([]), last([2], at=200)).verdict == "valid"
    assert judged(append, last([2]), last([], at=200, node="n2")).verdict == "valid"
    assert judged(append, last([], node="n2")).verdict == "unknown"
