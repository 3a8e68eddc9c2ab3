"""How the time for checking is shared."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pytest

from history import KeyVerdict, Operation, pair, read_history
from history.columns.pairing import CODED_OPERATIONS
from history.tables.operations import operations_table
from pipeline.tables.judging import Budget, OneKey, each_key, judge, verdict_table, verdicts_of


def whole(table: pa.Table) -> OneKey:
    (one,) = each_key(table)
    return one


def verdict_on(table: pa.Table, rows: int) -> list[str] | None:
    found = judge(whole(table), "register", Budget.of(30, 1, lambda: 0.0), 0, rows)
    return None if found is None else found["verdict"].to_pylist()


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
    (by_values,), (by_columns,) = (verdicts_of(judge(whole(table), "register", budget, rows)) for rows in (10**9, 0))
    assert (by_columns.key, by_columns.verdict, by_columns.operations) == ("a", by_values.verdict, by_values.operations)
    assert bool(by_columns.counterexamples) == bool(by_values.counterexamples)


@pytest.mark.parametrize("seed", range(6))
def test_parts_in_any_order_are_judged_as_the_whole(make_random, seed: int) -> None:
    run = make_random(seed, operations=120, keys=("a",))
    table = operations_table(pair(read_history(run.history).events))
    coded = table.cast(CODED_OPERATIONS)
    parts = [partial(coded.slice, begin, 25) for begin in (75, 0, 200, 100, 25, 50)]
    budget = Budget.of(30, 1, lambda: 0.0)
    for columnar in (0, 10**9):
        judged = (
            judge(one, "register", budget, columnar) for one in (whole(table), OneKey('"a"', table.num_rows, parts))
        )
        # How small a counterexample becomes is a matter of time.
        at_once, in_parts = ((v.key, v.verdict, v.operations) for found in judged for v in verdicts_of(found))
        assert at_once == in_parts


def test_a_key_whose_values_are_too_many_for_this_process_is_not_judged() -> None:
    def table(value: object) -> pa.Table:
        return operations_table([Operation(0, "write", "k", value, value, "ok", 0, 1, 0, 1)])

    assert [verdict_on(table(1), rows) for rows in (1, 0)] == [["valid"], ["valid"]]
    assert [verdict_on(table("text"), rows) for rows in (1, 0)] == [["valid"], None]


def test_verdicts_come_back_in_the_order_of_their_keys() -> None:
    verdicts = [KeyVerdict(key, "valid", "zones", 1, 0.5) for key in ("b", 10, None, "a", 9)]
    assert [verdict.key for verdict in verdicts_of(verdict_table(verdicts))] == [None, 9, 10, "a", "b"]
