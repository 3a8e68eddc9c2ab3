"""Sessions: each sees its own writes and never goes back; what is not a peek is linearizable."""

from __future__ import annotations

from typing import Any

import pytest

from harness.workloads import sessions_check
from history import Counterexample, Operation


def operation(index: int, process: int, f: str, value: Any, result: Any = None, outcome: str = "ok") -> Operation:
    return Operation(
        process, f, "k0", value, result, outcome, index * 10, index * 10 + 5, index * 2, index * 2 + 1  # type: ignore[arg-type]
    )  # fmt: skip


def judged(*operations: Operation) -> Any:
    return sessions_check(operations)


WRITTEN = (operation(0, 0, "write", 7, 7), operation(1, 0, "write", 8, 8))


@pytest.mark.parametrize(
    ("peeks", "verdict"),
    [
        ([(1, [7, 0]), (1, [8, 1])], "valid"),
        ([(1, None), (1, [7, 0])], "valid"),
        ([(1, [8, 1]), (2, [7, 0])], "valid"),  # another session may be behind
        ([(1, [8, 1]), (1, [7, 0])], "invalid"),
        ([(1, [7, 0]), (1, None)], "invalid"),
        ([(1, [8, 1]), (0, [7, 0])], "invalid"),  # it wrote 8 itself
        ([(1, [9, 2])], "invalid"),  # nobody wrote 9
        ([], "unknown"),  # nothing was asked
    ],
)
def test_sessions_never_go_back_and_see_their_own_writes(peeks: list[tuple[int, Any]], verdict: str) -> None:
    seen = [operation(2 + n, process, "peek", None, result) for n, (process, result) in enumerate(peeks)]
    assert judged(*WRITTEN, *seen).verdict == verdict


def test_a_system_may_answer_a_write_by_what_was_written_or_by_nothing() -> None:
    peek = operation(2, 0, "peek", None, [8, 1])
    silent = [operation(place, 0, "write", one.value) for place, one in enumerate(WRITTEN)]
    assert judged(*WRITTEN, peek).verdict == judged(*silent, peek).verdict == "valid"
    back = operation(3, 0, "peek", None, [7, 0])
    assert judged(*WRITTEN, peek, back).verdict == judged(*silent, peek, back).verdict == "invalid"


def test_after_a_failure_the_session_may_be_another() -> None:
    back = [operation(3, 1, "peek", None, outcome="fail"), operation(4, 1, "peek", None, [7, 0])]
    assert judged(*WRITTEN, operation(2, 1, "peek", None, [8, 1]), *back).verdict == "valid"


@pytest.mark.parametrize(("value", "verdict"), [(8, "valid"), (7, "invalid")])
def test_the_last_reads_see_what_was_acknowledged(value: int, verdict: str) -> None:
    peek = operation(3, 4, "peek", None, [8, 1])
    assert judged(*WRITTEN, operation(2, 3, "read", None, value), peek).verdict == verdict


def test_a_session_that_went_back_is_shown_by_what_it_had_seen() -> None:
    seen, back = operation(2, 0, "write", 9), operation(4, 0, "peek", None, [7, 0])
    found = judged(*WRITTEN, seen, operation(3, 1, "peek", None, [9, 2]), back)
    (shown,) = [Counterexample.from_json(record) for record in found.details["counterexamples"]]
    assert (shown.kind, shown.operations, shown.suspects) == ("session-went-back", (seen, back), (back,))
    assert [role.says for role in shown.roles] == ["version 2", "version 0"]
