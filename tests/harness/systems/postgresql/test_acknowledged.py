"""Acknowledged appends that the primary's last reads lack are lost; nothing else is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="needs the extra postgresql")

from harness.systems import Machine, Setup
from harness.systems.api import Evidence
from harness.systems.sql.acknowledged import acknowledged
from history import Check, Operation
from history.records.finding import Contradiction

NODES = (Machine("n1", "10.0.0.1"), Machine("n2", "10.0.0.2"))


def txn(at: int, *steps: list[Any], outcome: Any = "ok", node: str = "n1", phase: Any = "main") -> Operation:
    return Operation(at, "txn", None, list(steps), list(steps), outcome, at, at + 5, at, at + 5, node, None, phase)


def judged(*operations: Operation, standbys: int = 0) -> Check:
    setup = Setup(version="15", workload="list-append", nodes=NODES, options={"standbys": standbys})
    return acknowledged(Evidence(
        setup=setup, nodes=("n1", "n2"), operations=operations, probes=(), receipts=(), moments={},
    ))  # fmt: skip


def last(items: list[int] | None, *, at: int = 100, node: str = "n1") -> Operation:
    return txn(at, ["r", 7, items], node=node, phase="final")


def test_an_append_that_the_last_read_lacks_is_lost() -> None:
    check = judged(txn(0, ["append", 7, 1]), txn(10, ["append", 7, 2], ["r", 8, []]), last([1]))
    assert check.verdict == "invalid"
    (finding,), (example,) = check.findings, check.counterexamples
    assert isinstance(finding, Contradiction)
    assert (finding.kind, finding.severity, finding.count) == ("lost-append", "data lost", 1)
    assert [operation.invoked for operation in example.operations] == [10, 100]
    assert judged(txn(0, ["append", 7, 1]), txn(10, ["append", 7, 2]), last([1, 2])).verdict == "valid"


FIRST = txn(0, ["append", 7, 1])


@pytest.mark.parametrize("outcome", ["info", "fail"])
def test_what_was_not_acknowledged_is_not_missed(outcome: Any) -> None:
    append = txn(10, ["append", 7, 2], outcome=outcome)
    assert judged(FIRST, append, last([1])).verdict == "valid"
    assert judged(append, last([1])).verdict == "unknown"


@pytest.mark.parametrize(
    "append",
    [txn(98, ["append", 7, 2]), txn(10, ["append", 9, 2])],
    ids=["acknowledged during the read", "of a list that was not read"],
)
def test_what_was_not_read_afterwards_is_neither_missed_nor_held(append: Operation) -> None:
    assert judged(FIRST, append, last([1])).verdict == "unknown"
    assert judged(FIRST, append, last([1]), txn(200, ["r", 7, [1, 2]], ["r", 9, [2]], phase="final")).verdict == "valid"
    assert judged(FIRST, append, last([])).verdict == "invalid"


def test_one_list_of_many_is_not_enough() -> None:
    appends = [txn(number, ["append", number, 1]) for number in range(3)]
    check = judged(*appends, txn(100, ["r", 0, [1]], phase="final"))
    assert (check.verdict, check.seen.partition(",")[0]) == ("unknown", "1 of 3 lists read")
    reads = [txn(100 + number, ["r", number, [1]], phase="final") for number in range(3)]
    assert judged(*appends, *reads).verdict == "valid"


def test_an_earlier_read_does_not_stand_in_for_the_last() -> None:
    def failed(at: int) -> Operation:
        return replace(txn(at, ["r", 7, None], phase="final"), outcome="fail", result=None)

    assert judged(FIRST, last([1]), failed(200)).verdict == "unknown"
    assert judged(FIRST, failed(100), last([1], at=200)).verdict == "valid"
    assert judged(FIRST, last([]), failed(200)).verdict == "invalid"


def test_a_list_that_is_not_there_has_lost_everything() -> None:
    assert judged(FIRST, last(None)).verdict == "invalid"


def test_only_the_primary_s_last_read_counts() -> None:
    append = txn(10, ["append", 7, 2])
    assert judged(append, last([]), last([2], at=200)).verdict == "valid"
    assert judged(append, last([2]), last([], at=200, node="n2")).verdict == "valid"
    assert judged(append, last([], node="n2")).verdict == "unknown"


def test_with_standbys_the_primary_is_wherever_a_promotion_put_it() -> None:
    append = txn(10, ["append", 7, 2], node="primary")
    standby = last([2], node="n1")
    assert judged(append, standby, last([], at=200, node="primary"), standbys=1).verdict == "invalid"
    assert judged(append, standby, standbys=1).verdict == "unknown"
