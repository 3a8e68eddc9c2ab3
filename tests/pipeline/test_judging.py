"""How the time for checking is shared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from checker.core.engine import NODE_BYTES
from checker.core.model import Model
from checker.core.options import CheckOptions
from checker.core.result import Limits
from checker.models.registry import model_named
from checker.per_key import check_object
from checker.turns import FIRST_MEMORY, STEPS
from history import KeyVerdict, Operation, pair, read_history
from history.columns.pairing import CODED_OPERATIONS
from history.tables.operations import operations_table
from pipeline.tables import judging
from pipeline.tables.judging import Budget, OneKey, each_key, judge, verdict_table, verdicts_of
from tests.support.checker.oracle import Sampler, is_linearizable


def whole(table: pa.Table) -> OneKey:
    (one,) = each_key(table)
    return one


def renamed(value: Any, name: Callable[[int], Any]) -> Any:
    if isinstance(value, list):
        return [renamed(item, name) for item in value]
    return None if value is None else name(value)


def verdict_on(table: pa.Table, rows: int) -> tuple[list[str], list[str]]:
    found, too_large = judge([whole(table)], "register", Budget.of(30, 1, lambda: 0.0), 0, rows)
    return found["verdict"].to_pylist(), too_large


def test_keys_get_what_is_left_and_never_less_than_their_share() -> None:
    now = 100.0
    budget = Budget.of(20, 4, lambda: now)
    assert (budget.until, budget.left(1), budget.left(3)) == (120, 20, 20)
    now = 112.0
    assert (budget.left(1), budget.left(2)) == (8, 10)
    now = 500.0
    assert (budget.left(1), budget.left(4)) == (5, 20)


def test_small_keys_get_their_steps_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def check(operations: list[Operation], model: Model, options: CheckOptions) -> KeyVerdict:
        tried.append((operations[0].key, options.by_steps, options.memory_cap // NODE_BYTES))
        return check_object(operations, model, options)

    monkeypatch.setattr(judging, "check_object", check)
    adds = (Operation(0, "add", f"k{n}", 1, None, "ok", n, n + 9, 10 * n, 10 * n + 5) for n in range(9))
    found, _ = judge(each_key(operations_table([*adds])), "counter", Budget.of(1e-6, 9, lambda: 0.0))
    assert tried == [(f"k{n}", True, STEPS) for n in range(9)]
    assert found["verdict"].to_pylist() == ["valid"] * 9


def test_a_violation_of_one_key_hides_none_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(operations: list[Operation], model: Model, options: CheckOptions) -> KeyVerdict:
        """Decide b only with more memory than keys get at first."""
        if operations[0].key == "b" and options.memory_cap <= FIRST_MEMORY:
            return KeyVerdict("b", "unknown", "none", 2, 0.0)
        return check_object(operations, model, options)

    monkeypatch.setattr(judging, "check_object", check)
    lost = [
        Operation(0, f, key, value, total, "ok", at, at + 1, at, at + 1)
        for key, begin in (("a", 0), ("b", 10))
        for at, f, value, total in ((begin, "add", 1, None), (begin + 2, "read", None, 0))
    ]
    found, _ = judge(each_key(operations_table(lost)), "counter", Budget.of(60, 2))
    assert found["verdict"].to_pylist() == ["invalid", "invalid"]


@pytest.mark.parametrize("name", [lambda number: number, lambda number: f"v{number}"], ids=["numbers", "texts"])
@pytest.mark.parametrize("model", ["register", "cas-register"])
def test_keys_that_are_judged_together_are_judged_as_each_alone(model: str, name: Callable[[int], Any]) -> None:
    random, objects = Random(3), dict[str, list[Operation]]()
    for key in range(120):
        sampler = Sampler(random, values=random.choice([None, 2]), cas=model != "register", truth=0.9)
        objects[f"k{key}"] = [
            replace(
                one, key=f"k{key}", invoke_index=1000 * key + one.invoke_index,
                return_index=None if one.return_index is None else 1000 * key + one.return_index,
                value=renamed(one.value, name), result=renamed(one.result, name),
            )
            for one in sampler.history(random.randint(1, 9), 3)
        ]  # fmt: skip
    table = operations_table([one for mine in objects.values() for one in mine])
    found = {verdict.key: verdict for verdict in verdicts_of(judge(each_key(table), model, Budget.of(60, 120))[0])}
    assert {verdict.verdict for verdict in found.values()} == {"valid", "invalid"}
    for name_of_key, mine in objects.items():
        assert (found[name_of_key].verdict == "valid") == is_linearizable(mine)
        alone = check_object(mine, model_named(model), CheckOptions())
        assert replace(found[name_of_key], seconds=0.0) == replace(alone, seconds=0.0)


@pytest.mark.parametrize("model", ["register", "counter"])
def test_a_malformed_key_leaves_the_others_to_their_verdicts(model: str) -> None:
    f = "write" if model == "register" else "add"
    table = operations_table([Operation(0, f, f"k{n}", 1, None, "ok", n, n + 9, 10 * n, 10 * n + 5) for n in range(9)])
    values = pa.array([*["1"] * 4, "{", *["1"] * 4])
    table = table.set_column(table.schema.get_field_index("value"), "value", values)
    found = verdicts_of(judge(each_key(table), model, Budget.of(60, 9))[0])
    assert [verdict.verdict for verdict in found] == [*["valid"] * 4, "unknown", *["valid"] * 4]
    assert [bool(verdict.failure) for verdict in found] == [number == 4 for number in range(9)]


def test_no_keys() -> None:
    assert Budget.of(20, 0, lambda: 0.0).share == 20


@pytest.mark.parametrize("apart", [1, 1000], ids=["alone", "among many others"])
@pytest.mark.parametrize("seed", range(6))
def test_by_columns_the_verdict_is_the_same(
    make_random, seed: int, apart: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # How small a counterexample becomes would be a matter of time.
    monkeypatch.setattr(Limits, "extended", lambda limits, _at_least_s=1.0: limits)
    run = make_random(seed, operations=120, keys=("a",))
    operations = [
        replace(
            one, invoke_index=one.invoke_index * apart,
            return_index=None if one.return_index is None else one.return_index * apart,
        )
        for one in pair(read_history(run.history).events)
    ]  # fmt: skip
    table, budget = operations_table(operations), Budget.of(30, 1, lambda: 0.0)
    (by_values,), (by_columns,) = (
        verdicts_of(judge([whole(table)], "register", budget, rows)[0]) for rows in (10**9, 0)
    )
    assert (by_columns.key, by_columns.verdict, by_columns.operations) == ("a", by_values.verdict, by_values.operations)
    assert bool(by_columns.counterexamples) == bool(by_values.counterexamples)
    assert by_columns.engine != by_values.engine or by_columns.counterexamples == by_values.counterexamples


@pytest.mark.parametrize("apart", [1, 1000], ids=["alone", "among many others"])
@pytest.mark.parametrize("doubted", [True, False], ids=["the cas is blamed as well", "only the read is blamed"])
def test_by_columns_the_legal_answers_are_the_same(apart: int, doubted: bool) -> None:
    """An operation that another counterexample blames counts as unanswered at its own place among the events."""
    steps = [("cas", [5, 3], [5, 3], 1, 2), ("write", 5, 5, 3, 6), ("read", None, 4, 4, 5)]
    if not doubted:
        steps = [("write", 5, 5, 1, 2), ("cas", [5, 3], [5, 3], 3, 4), ("read", None, 4, 5, 6)]
    operations = [
        Operation(process, f, "k", value, result, "ok", begin, end, begin * apart, end * apart)
        for process, (f, value, result, begin, end) in enumerate(steps)
    ]
    table, budget = operations_table(operations), Budget.of(30, 1, lambda: 0.0)
    legal = []
    for columnar in (10**9, 0):
        (verdict,) = verdicts_of(judge([whole(table)], "cas-register", budget, columnar)[0])
        points = [one.linearization for one in verdict.counterexamples if one.suspects[0].f == "read"]
        legal += [one.legal for one in points if one is not None]
    assert legal == [(3, 5, None) if doubted else (3,)] * 2


@pytest.mark.parametrize("seed", range(6))
def test_parts_in_any_order_are_judged_as_the_whole(make_random, seed: int) -> None:
    run = make_random(seed, operations=120, keys=("a",))
    table = operations_table(pair(read_history(run.history).events))
    coded = table.cast(CODED_OPERATIONS)
    parts = [partial(coded.slice, begin, 25) for begin in (75, 0, 200, 100, 25, 50)]
    budget = Budget.of(30, 1, lambda: 0.0)
    for columnar in (0, 10**9):
        judged = (
            judge([one], "register", budget, columnar) for one in (whole(table), OneKey('"a"', table.num_rows, parts))
        )
        # How small a counterexample becomes is a matter of time.
        at_once, in_parts = ((v.key, v.verdict, v.operations) for found, _ in judged for v in verdicts_of(found))
        assert at_once == in_parts


def test_a_key_whose_values_are_too_many_for_this_process_is_not_judged() -> None:
    def table(value: object) -> pa.Table:
        return operations_table([Operation(0, "write", "k", value, value, "ok", 0, 1, 0, 1)])

    assert [verdict_on(table(1), rows) for rows in (1, 0)] == [(["valid"], []), (["valid"], [])]
    assert [verdict_on(table("text"), rows) for rows in (1, 0)] == [(["valid"], []), ([], ['"k"'])]


def test_verdicts_come_back_in_the_order_of_their_keys() -> None:
    verdicts = [KeyVerdict(key, "valid", "zones", 1, 0.5) for key in ("b", 10, None, "a", 9)]
    assert [verdict.key for verdict in verdicts_of(verdict_table(verdicts))] == [None, 9, 10, "a", "b"]
