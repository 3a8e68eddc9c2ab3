"""Contradictions that need many operations: none of them can be left out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from random import Random

import pytest

from checker import Register, check_operations
from checker.columnar import check_columns
from checker.core.calls import calls_of
from checker.core.result import Limits
from checker.counterexamples.minimize import minimize_core
from checker.counterexamples.shrink import Core
from checker.dispatch import decide
from history import Operation
from tests.support.checker.columns import columns_of
from tests.support.checker.oracle import history_of, is_linearizable

NO_LIMITS = Limits(lambda: 0.0)


def one_write_short(reads: int) -> list[Operation]:
    """Two values are read in turn, once more often than they were written, while all of the writes are open.

    Then come operations that have nothing to do with it.
    """
    writes = [("write", 1 + place % 2, place, 1000 + place) for place in range(reads - 1)]
    turns = [("read", 1 + place % 2, 100 + 2 * place, 101 + 2 * place) for place in range(reads)]
    return history_of([*writes, *turns, ("write", 3, 2000, 2001), ("read", 3, 2002, 2003), ("read", 3, 2004, 2005)])


def one_pending_short(pairs: int) -> list[Operation]:
    """As many pending writes of either value, and two values read in turn, once more often than they were written."""
    writes = [("write", 1 + place % 2, place, None) for place in range(2 * pairs)]
    turns = [("read", 1 + place % 2, 5000 + 2 * place, 5001 + 2 * place) for place in range(2 * pairs + 1)]
    return history_of([*writes, *turns])


def verdict_of(operations: Sequence[Operation]) -> str:
    calls = calls_of(operations, Register())
    return decide(calls, Register(), NO_LIMITS, engine="automaton", proof=False).verdict


def assert_needs_all(core: Sequence[Operation]) -> None:
    assert verdict_of(core) == "invalid"
    for left_out in core:
        fewer = [operation for operation in core if operation is not left_out]
        # Without the last write of a value that is read, the rest would be another contradiction.
        asked = left_out.f == "write" and any(o.result == left_out.value for o in fewer)
        assert asked or verdict_of(fewer) == "valid", left_out


@pytest.mark.parametrize("reads", [4, 10, 12, pytest.param(40, marks=pytest.mark.slow)])
def test_a_contradiction_of_many_operations_can_do_without_none_of_them(reads: int) -> None:
    verdict = check_operations(one_write_short(reads), "register")
    assert (verdict.verdict, verdict.violations, verdict.reason) == ("invalid", 1, None)
    (example,) = verdict.counterexamples
    assert len(example.operations) > reads
    assert_needs_all(example.operations)
    # One more write, and all of it is explained.
    more = history_of([("write", 1, 99, 1999), ("write", 2, 98, 1998)])
    assert check_operations([*more, *one_write_short(reads)], "register").verdict == "valid"


@pytest.mark.slow
def test_a_contradiction_of_a_hundred_operations_is_reported_without_what_lies_between_them() -> None:
    beside = history_of([("write", 9, 4000, 4001), ("read", 9, 4002, 4003)])
    beside += history_of([("write", 7, 4900, None), ("write", 7, 4901, None)])
    verdict = check_operations([*one_pending_short(30), *beside], "register")
    (example,) = verdict.counterexamples
    assert len(example.operations) == 121
    assert all(o.value in (None, 1, 2) and o.result in (None, 1, 2) for o in example.operations)
    assert_needs_all(example.operations)
    one_more = history_of([("write", 1, 4998, None)])
    assert check_operations([*one_pending_short(30), *beside, *one_more], "register").verdict == "valid"


def test_where_time_runs_out_the_report_says_that_a_counterexample_may_not_be_minimal() -> None:
    calls = calls_of(one_pending_short(12), Register())
    core, looks = Core(tuple(calls), Register()), count()
    # Each look at the clock takes a tenth of a second.
    found = minimize_core(core, calls, Register(), Limits(lambda: next(looks) / 10, deadline=1.5))
    assert len(found.calls) == 49
    assert 0 < found.untried < 49
    assert found.note is not None
    assert f": {found.untried} of them" in found.note
    assert minimize_core(core, calls, Register(), NO_LIMITS).note is None


#: The violation is the last read's; before it, an earlier or a later operation explains what the others answered.
EXPLAINED: dict[str, list[tuple[str, int, int, int | None]]] = {
    "by an earlier write": [
        ("write", 1, 0, 1), ("write", 1, 2, 100), ("write", 2, 3, 101), ("read", 1, 4, 5), ("read", 2, 6, 7),
        ("read", 1, 8, 9), ("read", 2, 10, 11),
    ],
}  # fmt: skip


@pytest.mark.parametrize("how", EXPLAINED)
def test_no_answer_is_accused_that_an_operation_beside_the_core_explains(how: str) -> None:
    history = history_of(EXPLAINED[how])
    assert is_linearizable(history[:-1])
    (example,) = check_operations(history, "register").counterexamples
    assert history[-1] in example.operations
    assert_needs_all(example.operations)


def test_by_columns_the_operation_that_explains_may_be_far_back() -> None:
    start, *others = EXPLAINED["by an earlier write"]
    reads = [("read", 1, 2 + 2 * place, 3 + 2 * place) for place in range(500)]
    history = history_of([start, *reads, *((f, value, b + 1000, e and e + 1000) for f, value, b, e in others)])
    columns = columns_of([history], Random(1))
    (example,) = check_columns(columns, "register").counterexamples
    assert len(example.operations) == 6
    assert max(o.invoke_index for o in example.operations) == columns.invoke[-1]
    assert_needs_all(example.operations)


def test_a_swap_that_was_open_is_not_accused_for_what_came_after_the_violation() -> None:
    def op(f: str, value: object, start: int, end: int) -> Operation:
        asked, result = (None, value) if f == "read" else (value, None)
        return Operation(start, f, None, asked, result, "ok", start, end, start, end)

    future = [op("cas", [0, 0], 9, 20), op("read", None, 10, 15), op("read", 0, 11, 14), op("cas", [None, 0], 16, 18)]
    assert not is_linearizable(future)
    (example,) = check_operations(future, "cas-register").counterexamples
    assert future[2] in example.operations


@pytest.mark.slow
def test_what_the_deadline_left_whole_is_no_counterexample() -> None:
    """The last of 3,000 operations is stale; the clock is looked at more and more often before time is over."""
    pairs = [(f, place % 5, 4 * place + 2 * (f == "read"), 4 * place + 2 * (f == "read") + 1)
             for place in range(1500) for f in ("write", "read")]  # fmt: skip
    operations, reported = history_of([*pairs, ("read", 2, 7000, 7001)]), []
    for looks in range(1, 30):
        left = iter([0.0] * looks)
        verdict = check_operations(
            operations,
            "register",
            deadline_s=1.0,
            engine="automaton",
            clock=lambda: next(left, 2.0),  # noqa: B023
        )
        sizes = [len(example.operations) for example in verdict.counterexamples]
        reported.append((verdict.verdict, sizes))
        if reported[-1] == ("invalid", []):
            assert (
                verdict.reason
                == "the deadline passed when 0 of the violations had been reduced to a few operations each"
            )
    assert [one for place, one in enumerate(reported) if one not in reported[:place]] == [
        ("unknown", []), ("invalid", []), ("invalid", [3])
    ]  # fmt: skip
