"""Distributed zones against the checker's own verdict."""

from __future__ import annotations

import dataclasses
import random
import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker import check_operations
from checker.core.calls import freeze
from history import KeyVerdict, Operation
from history.records.events import Phase
from history.tables.operations import json_text, operations_table
from pipeline.spark.big_keys import CANONICAL, canonical, judge_big_keys
from tests.support.draws import draws
from tests.support.pipeline.big_keys import random_register


def shift(operations: list[Operation], by: int) -> list[Operation]:
    return [
        dataclasses.replace(
            item,
            invoke_index=item.invoke_index + by,
            return_index=None if item.return_index is None else item.return_index + by,
        )
        for item in operations
    ]


@pytest.mark.spark
def test_random_histories_of_many_keys(spark) -> None:
    """A few hundred small registers, as keys of one history, each with its own part of the time."""
    rng, keys = random.Random(7), draws(150, 400)
    histories = [shift(random_register(key, rng, rng.randrange(1, 9)), 1000 + 20 * key) for key in range(keys)]
    table = operations_table([operation for history in histories for operation in history])
    judged = judge_big_keys(spark, spark.createDataFrame(table), ranges=2 * keys)
    found = {verdict.key: verdict for verdict in judged}
    expected = {history[0].key: check_operations(history, "register") for history in histories}
    assert {key: verdict.verdict for key, verdict in found.items()} == {
        key: verdict.verdict for key, verdict in expected.items() if verdict.operations
    }
    for key, verdict in found.items():
        assert (verdict.operations, verdict.violations) == (expected[key].operations, expected[key].violations)
        assert bool(verdict.counterexamples) == (verdict.verdict == "invalid")
        assert verdict.kinds == expected[key].kinds
    assert {verdict.verdict for verdict in found.values()} == {"valid", "invalid"}


@pytest.mark.spark
@pytest.mark.parametrize("ranges", [1, 3, 50])
def test_one_long_history_whatever_the_ranges(spark, ranges: int) -> None:
    history = random_register("k", random.Random(3), 150)
    found = judge_big_keys(spark, spark.createDataFrame(operations_table(history)), ranges=ranges)
    expected = check_operations(history, "register", engine=None)
    assert [(verdict.key, verdict.verdict, verdict.violations) for verdict in found] == [
        ("k", expected.verdict, expected.violations)
    ]


ITEM = st.sampled_from(
    [None, True, False, 0, 1, -1, 0.0, -0.0, 1.0, 1.5, 2**53, float(2**53), 2**53 + 1, 1e300, 10**300, "1", "\ud800"]
)  # fmt: skip
VALUE = st.recursive(
    ITEM,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "1"]), inner, max_size=3),
    max_leaves=4,
)


def respelled(value: Any, rng: random.Random) -> Any:
    """A value that the checker holds to be equal."""
    if isinstance(value, list):
        return [respelled(item, rng) for item in value]
    if isinstance(value, dict):
        return {name: respelled(value[name], rng) for name in rng.sample(sorted(value), len(value))}
    if type(value) is int and float(value) == value and rng.random() < 0.5:
        return -0.0 if value == 0 and rng.random() < 0.5 else float(value)
    return value


@given(VALUE, VALUE, st.randoms())
def test_canonical_texts_are_equal_where_the_checker_holds_values_to_be_equal(one, other, rng) -> None:
    first, second = canonical(json_text(one)), canonical(json_text(other))
    assert first is not None
    assert (first == second) == (freeze(one) == freeze(other))
    assert canonical(json_text(respelled(one, rng))) == first
    assert canonical(first) == first
    if re.fullmatch(CANONICAL, json_text(one)):
        assert json_text(one) == first


@pytest.mark.parametrize("text", ["NaN", "1e999", "{", "", '{"a":1,"a":2}'])
def test_what_is_no_json_has_no_canonical_text(text: str) -> None:
    assert canonical(text) is None


def spelled(history: list[Operation], rng: random.Random) -> list[Operation]:
    """The same operations on values of any kind, each spelled in one of its ways."""
    kind = rng.choice([lambda n: n, lambda n: [n, None], lambda n: {"a": n, "b": {"c": [n]}}, lambda n: n + 0.5])

    def of(value: Any) -> Any:
        return None if value is None else respelled(kind(value), rng)

    return [dataclasses.replace(item, value=of(item.value), result=of(item.result)) for item in history]


@pytest.mark.spark
@settings(max_examples=draws(2, 5))
@given(st.integers(0, 2**32))
def test_values_in_many_spellings_get_the_verdict_of_the_checker(spark, seed: int) -> None:
    rng = random.Random(seed)
    histories = [
        spelled(shift(random_register(key, rng, rng.randrange(1, 9)), 1000 + 20 * key), rng) for key in range(100)
    ]
    table = operations_table([operation for history in histories for operation in history])
    for verdict in judge_big_keys(spark, spark.createDataFrame(table)):
        expected = check_operations(histories[int(verdict.key or 0)], "register")
        assert (verdict.verdict, verdict.violations) == (expected.verdict, expected.violations)


@pytest.mark.spark
def test_values_that_are_no_json_are_unknown(spark) -> None:
    table = operations_table([write(1, 0), write(2, 2)])
    broken = table.set_column(5, table.schema.field("value"), pa.array(["1", "NaN"]))
    assert broken.column_names[5] == "value"
    (verdict,) = judge_big_keys(spark, spark.createDataFrame(broken))
    assert (verdict.verdict, verdict.reason) == ("unknown", "1 values are not JSON")


def judged(spark, operations: list[Operation]) -> KeyVerdict:
    return judge_big_keys(spark, spark.createDataFrame(operations_table(operations)))[0]


def write(value: object, at: int, key: str | int | None = None, f: str = "write") -> Operation:
    return Operation(0, f, key, value, value, "ok", at, at + 1, at, at + 1)


@pytest.mark.spark
def test_what_zones_do_not_decide_is_unknown_with_a_reason(spark) -> None:
    assert judged(spark, [write(1, 0), write(1, 2)]).reason == "a value was written 2 times"
    assert judged(spark, [write(None, 0)]).reason == "the initial value was written"
    assert judged(spark, [write([1, 2], 0, f="cas")]).reason == "1 operation is neither read nor write"


@pytest.mark.spark
def test_an_unkeyed_object(spark) -> None:
    verdict = judged(spark, [write(1, 0)])
    assert (verdict.key, verdict.verdict, verdict.engine) == (None, "valid", "zones-distributed")


@pytest.mark.spark
def test_final_reads_decide_whether_a_value_is_lost(spark) -> None:
    """Both nodes return an older value at the end, or the one still has the newer one; a third key never changes."""

    def history(key: str, start: int, final: list[int]) -> list[Operation]:
        seen = [write(1, start, key), write(2, start + 2, key)]
        reads = [2, *final]
        seen += [Operation(1, "read", key, None, value, "ok", at, at + 1, at, at + 1)
                 for at, value in zip(range(start + 4, start + 10, 2), reads, strict=True)]  # fmt: skip
        nodes = ("n1", "n1", "n2", "n1", "n2")
        phases: tuple[Phase, ...] = ("main", "main", "main", "final", "final")
        return [dataclasses.replace(one, node=node, phase=phase, process=process)
                for process, (one, node, phase) in enumerate(zip(seen, nodes, phases, strict=True))]  # fmt: skip

    keys = [history("gone", 0, [1, 1]), history("stale", 20, [1, 2]), history("whole", 40, [2, 2])]
    table = operations_table([operation for key in keys for operation in key])
    found = {verdict.key: verdict for verdict in judge_big_keys(spark, spark.createDataFrame(table))}
    assert {name: [one.kind for one in verdict.kinds] for name, verdict in found.items()} == {
        "gone": ["lost-write"],
        "stale": ["stale-read"],
        "whole": [],
    }
    for key in keys:
        expected = check_operations(key, "register").kinds
        assert [(one.kind, one.count) for one in found[key[0].key].kinds] == [(one.kind, one.count) for one in expected]


@pytest.mark.spark
def test_nothing(spark) -> None:
    assert judge_big_keys(spark, spark.createDataFrame(operations_table([]))) == []
