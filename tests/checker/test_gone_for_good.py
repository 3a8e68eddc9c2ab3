"""What final reads prove: a value that no node's final read shows, nor anything written after it, is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from checker import Register, check_operations
from checker.columnar import check_columns
from checker.core.options import CheckOptions
from history import UNAPPLIED, KeyVerdict, Operation
from history.codes import ABSENT, OK, READ, WRITE
from history.readers.columns import OperationColumns
from history.records.events import Phase
from tests.support.checker.counterexamples import assert_good, op


def on(node: str, operation: Operation, phase: Phase = "main") -> Operation:
    return replace(operation, node=node, phase=phase)


def final(node: str, value: Any, at: int) -> Operation:
    return on(node, op(int(node[1:]) + 8, "read", value, at, at + 1), "final")


#: A value that was written, acknowledged and read on two nodes.
SEEN = [
    on("n1", op(0, "write", 1, 0, 1)),
    on("n1", op(0, "write", 2, 2, 3)),
    on("n2", op(1, "read", 2, 4, 5)),
]


def kinds(history: Sequence[Operation], model: str = "register") -> set[str]:
    verdict = check_operations(history, model)
    assert {one.kind for one in verdict.kinds} == {one.kind for one in verdict.counterexamples}
    return {one.kind for one in verdict.kinds}


def test_where_a_leader_answers_all_clients_its_final_reads_decide() -> None:
    reads = [final("n1", 1, 6), replace(final("n2", 1, 8), node="n1")]
    assert kinds([*SEEN, *reads]) == {"lost-write"}


@pytest.mark.parametrize("old", [None, 1])
def test_what_no_final_read_returns_is_lost(old: int | None) -> None:
    history = [*SEEN, final("n1", old, 6), final("n2", old, 8)]
    verdict = check_operations(history, "register")
    assert {one.kind for one in verdict.kinds} == {"lost-write"}
    assert_good(replace(verdict.counterexamples[0], kind="", sentence=""), history, Register())


@pytest.mark.parametrize(
    "reads",
    [
        pytest.param([final("n1", 1, 6), final("n2", 2, 8)], id="one node has it"),
        pytest.param([final("n1", 1, 6)], id="a single client read at the end"),
        pytest.param([on("n1", op(9, "read", 1, 6, 7)), on("n2", op(9, "read", 1, 8, 9))], id="no final reads"),
        pytest.param([final("n1", 1, 6), replace(final("n2", 1, 8), error=UNAPPLIED)], id="not applied"),
        pytest.param(
            [final("n1", 1, 6), on("n1", op(0, "write", 3, 8, 9)), final("n1", 3, 10), final("n2", 3, 12)],
            id="written again",
        ),
        pytest.param(
            [final("n1", 1, 6), on("n1", op(7, "write", 5, 8, 9, "info")), final("n1", 5, 30), final("n2", 5, 32)],
            id="what may have been written after it is there",
        ),
    ],
)
def test_what_may_still_be_somewhere_is_not_lost(reads: list[Operation]) -> None:
    assert kinds([*SEEN, *reads]) <= {"stale-read", "read-inversion"}


def columns_of(history: Sequence[Operation]) -> OperationColumns:
    answers = [one.result if one.f == "read" else one.value for one in history]
    return OperationColumns(
        kind=np.array([READ if one.f == "read" else WRITE for one in history], np.int8),
        outcome=np.full(len(history), OK, np.int8),
        value=np.array([ABSENT if answer is None else answer for answer in answers], np.int64),
        old=np.full(len(history), ABSENT, np.int64),
        key=np.zeros(len(history), np.int64),
        invoke=np.array([one.invoke_index for one in history], np.int64),
        ret=np.array([one.return_index for one in history], np.int64),
        keys=(None,),
        operation=lambda row: history[row],
    )


def by_columns(history: Sequence[Operation]) -> KeyVerdict:
    (verdict,) = check_columns(columns_of(history), "register", CheckOptions()).keys
    return verdict


def test_columns_name_the_same_kinds() -> None:
    for reads in ([final("n1", 1, 6), final("n2", 1, 8)], [final("n1", 1, 6), final("n2", 2, 8)]):
        history = [*SEEN, *reads]
        assert {one.kind for one in by_columns(history).kinds} == kinds(history)


def test_a_counter_whose_final_reads_lack_an_add_lost_it() -> None:
    history = [on("n1", op(0, "add", 5, 0, 1)), on("n1", op(1, "read", 5, 2, 3))]
    assert kinds([*history, final("n1", 0, 4)], "counter") == {"lost-write"}
    assert kinds([*history, final("n1", 0, 4), final("n1", 5, 6)], "counter") == {"stale-read"}
    taken = [*history, on("n1", op(0, "add", -2, 4, 5))]
    assert kinds([*taken, final("n1", 0, 6)], "counter") == {"stale-read"}


def test_an_entry_of_a_log_that_no_final_list_has_is_lost() -> None:
    def listed(node: str, at: int, *entries: int) -> Operation:
        return on(node, op(int(node[1:]) + 8, "list", list(entries), at, at + 1), "final")

    history = [on("n1", op(0, "append", 7, 0, 1, result=0)), on("n2", op(1, "get", None, 2, 3))]
    history[1] = replace(history[1], value=0, result=7)
    assert kinds([*history, listed("n1", 4), listed("n2", 6)], "log") == {"lost-write"}
    found = check_operations([*history, listed("n1", 4), listed("n2", 6, 7)], "log").counterexamples
    assert all("no final list" not in one.sentence for one in found)
