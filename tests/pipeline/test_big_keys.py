"""Distributed zones against the checker's own verdict."""

from __future__ import annotations

import random

import pytest

from checker import check_operations
from history import KeyVerdict, Operation
from pipeline.spark.big_keys import judge_big_keys
from pipeline.tables.columns import operations_table
from tests.support.pipeline.big_keys import random_register

pytestmark = pytest.mark.spark


def shift(operations: list[Operation], by: int) -> list[Operation]:
    import dataclasses

    return [
        dataclasses.replace(
            item,
            invoke_index=item.invoke_index + by,
            return_index=None if item.return_index is None else item.return_index + by,
        )
        for item in operations
    ]


def test_random_histories_of_many_keys(spark) -> None:
    """A few hundred small registers, as keys of one history, each with its own part of the time."""
    rng = random.Random(7)
    histories = [shift(random_register(key, rng, rng.randrange(1, 9)), 1000 + 20 * key) for key in range(400)]
    table = operations_table([operation for history in histories for operation in history])
    found = {verdict.key: verdict for verdict in judge_big_keys(spark, spark.createDataFrame(table), ranges=700)}
    expected = {history[0].key: check_operations(history, "register") for history in histories}
    assert {key: verdict.verdict for key, verdict in found.items()} == {
        key: verdict.verdict for key, verdict in expected.items() if verdict.operations
    }
    for key, verdict in found.items():
        assert (verdict.operations, verdict.violations) == (expected[key].operations, expected[key].violations)
        assert bool(verdict.counterexamples) == (verdict.verdict == "invalid")
    assert {verdict.verdict for verdict in found.values()} == {"valid", "invalid"}


@pytest.mark.parametrize("ranges", [1, 3, 50])
def test_one_long_history_whatever_the_ranges(spark, ranges: int) -> None:
    history = random_register("k", random.Random(3), 150)
    found = judge_big_keys(spark, spark.createDataFrame(operations_table(history)), ranges=ranges)
    expected = check_operations(history, "register", engine=None)
    assert [(verdict.key, verdict.verdict, verdict.violations) for verdict in found] == [
        ("k", expected.verdict, expected.violations)
    ]


def judged(spark, operations: list[Operation]) -> KeyVerdict:
    return judge_big_keys(spark, spark.createDataFrame(operations_table(operations)))[0]


def write(value: object, at: int, key: str | int | None = None, f: str = "write") -> Operation:
    return Operation(0, f, key, value, value, "ok", at, at + 1, at, at + 1)


def test_what_zones_do_not_decide_is_unknown_with_a_reason(spark) -> None:
    assert judged(spark, [write(1, 0), write(1, 2)]).reason == "a value was written 2 times"
    assert judged(spark, [write(None, 0)]).reason == "the initial value was written"
    assert judged(spark, [write([1, 2], 0, f="cas")]).reason == "1 operations are neither read nor write"


def test_an_unkeyed_object(spark) -> None:
    verdict = judged(spark, [write(1, 0)])
    assert (verdict.key, verdict.verdict, verdict.engine) == (None, "valid", "zones-distributed")


def test_nothing(spark) -> None:
    assert judge_big_keys(spark, spark.createDataFrame(operations_table([]))) == []
