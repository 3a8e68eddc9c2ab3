"""Transactions: every value of a key is written once, and the shapes that show an anomaly."""

from __future__ import annotations

from typing import Any

import pytest

from harness.generators import PENDING, Generator, GeneratorContext, simulate
from harness.workloads.transactions import GROUP, MOST_WRITES, Beside, last_transactions, long_forks, mixed, write_skews


def issued(generator: Generator, most: int, seed: int = 7) -> list[Any]:
    run = simulate(generator, workers=5, seed=seed, most=most)
    assert {(one.f, one.key) for one in run.issued} == {("txn", None)}
    return [one.value for one in run.issued]


@pytest.mark.parametrize(
    ("generator", "write"),
    [(mixed(4, "append"), "append"), (mixed(1, "w"), "w"), (long_forks("append"), "append"), (write_skews("w"), "w")],
)
def test_each_value_of_a_key_is_written_once(generator: Generator, write: str) -> None:
    steps = [step for transaction in issued(generator, 600) for step in transaction]
    writes = [(key, value) for f, key, value in steps if f == write]
    assert len(writes) == len(set(writes)) > 100
    assert {f for f, _, _ in steps} == {write, "r"}
    assert max(value for _, value in writes) <= MOST_WRITES


def test_a_key_that_was_written_often_is_replaced() -> None:
    keys = {key for transaction in issued(mixed(3, "append"), 400) for _, key, _ in transaction}
    assert len(keys) > 20
    assert keys == {*range(len(keys))}


def test_a_seed_decides_all() -> None:
    assert issued(mixed(4, "append"), 50) == issued(mixed(4, "append"), 50)
    assert issued(mixed(4, "append"), 50) != issued(mixed(4, "append"), 50, seed=8)


def test_the_keys_of_a_long_fork_are_written_apart_and_read_together() -> None:
    transactions = issued(long_forks("append"), 2 * GROUP * 5)
    for number in range(5):
        group = transactions[2 * GROUP * number :][: 2 * GROUP]
        keys = {*range(GROUP * number, GROUP * (number + 1))}
        assert sorted(len(steps) for steps in group) == [1] * GROUP + [GROUP] * GROUP
        assert all({key for _, key, _ in steps} == keys for steps in group if len(steps) == GROUP)
        assert {steps[0][1] for steps in group if len(steps) == 1} == keys


def test_workers_of_replicas_read_what_was_last_written() -> None:
    run = simulate(Beside(long_forks("append"), frozenset({1, 3})), workers=4, seed=7, most=300)
    reading = {one.worker: set[str]() for one in run.issued}
    for one in run.issued:
        reading[one.worker].update(f for f, _, _ in one.value)
    assert reading == {0: {"append", "r"}, 1: {"r"}, 2: {"append", "r"}, 3: {"r"}}
    assert all(1 <= len(one.value) <= GROUP for one in run.issued)
    assert Beside(long_forks("append"), frozenset({0})).op(GeneratorContext(0, (0,), (0,), (0,)))[0] == PENDING


def test_transactions_of_a_write_skew_read_both_keys_and_write_one() -> None:
    first, second = issued(write_skews("append"), 2)
    assert [step[:2] for step in first[:2]] == [step[:2] for step in second[:2]] == [["r", 0], ["r", 1]]
    assert sorted([first[2], second[2]]) == [["append", 0, 1], ["append", 1, 1]]


def test_the_last_transactions_read_every_key() -> None:
    reads = [step for one in last_transactions(range(100)) for step in one.value]
    assert all(one.final and len(one.value) <= 32 for one in last_transactions(range(100)))
    assert [key for _, key, _ in reads] == [*range(100)]
    assert last_transactions([]) == []
