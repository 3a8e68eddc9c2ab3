"""How the time for checking is shared."""

from __future__ import annotations

import pytest

from history import KeyVerdict, Operation, pair, read_history
from pipeline.tables.columns import operations_table
from pipeline.tables.judging import Budget, TooManyRowsError, judge, verdict_table, verdicts_of


def test_a_key_gets_what_is_left_and_never_less_than_its_share() -> None:
    now = 100.0
    budget = Budget.of(20, 4, lambda: now)
    assert (budget.until, budget.left()) == (120, 20)
    now = 112.0
    assert budget.left() == 8
    now = 500.0
    assert budget.left() == 5


def test_no_keys() -> None:
    assert Budget.of(20, 0, lambda: 0.0).share == 20


@pytest.mark.parametrize("seed", range(6))
def test_by_columns_the_verdict_is_the_same(make_random, seed: int) -> None:
    run = make_random(seed, operations=120, keys=("a",))
    table = operations_table(pair(read_history(run.history).events))
    budget = Budget.of(30, 1, lambda: 0.0)
    (by_values,), (by_columns,) = (verdicts_of(judge(table, "register", budget, rows)) for rows in (10**9, 0))
    assert (by_columns.key, by_columns.verdict, by_columns.operations) == ("a", by_values.verdict, by_values.operations)
    assert bool(by_columns.counterexamples) == bool(by_values.counterexamples)


def test_what_is_no_integer_goes_the_long_way() -> None:
    operations = [Operation(0, "write", "k", "text", "text", "ok", 0, 1, 0, 1)]
    found = judge(operations_table(operations), "register", Budget.of(30, 1, lambda: 0.0), 0)
    assert found["verdict"].to_pylist() == ["valid"]


def test_a_key_whose_values_are_too_many_for_this_process_is_not_judged() -> None:
    budget = Budget.of(30, 1, lambda: 0.0)
    for value in ("text", 1):
        table = operations_table([Operation(0, "write", "k", value, value, "ok", 0, 1, 0, 1)])
        assert judge(table, "register", budget, 0, rows=1)["verdict"].to_pylist() == ["valid"]
    assert judge(table, "register", budget, 0, rows=0)["verdict"].to_pylist() == ["valid"]
    table = operations_table([Operation(0, "write", "k", "text", "text", "ok", 0, 1, 0, 1)])
    with pytest.raises(TooManyRowsError):
        judge(table, "register", budget, 0, rows=0)


def test_verdicts_come_back_in_the_order_of_their_keys() -> None:
    verdicts = [KeyVerdict(key, "valid", "zones", 1, 0.5) for key in ("b", 10, None, "a", 9)]
    assert [verdict.key for verdict in verdicts_of(verdict_table(verdicts))] == [None, 9, 10, "a", "b"]
