"""Workloads: each value written once, the same stream for the same seed, every register read at the end."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.workloads import Invocation, workload_named

BOTH = pytest.mark.parametrize("name", ["register", "cas-register"])


def stream(name: str, seed: int, count: int, keys: int = 5, mode: str = "log") -> list[Invocation]:
    return list(islice(workload_named(name, keys, mode).invocations(random.Random(seed)), count))


def written(invocation: Invocation) -> int:
    value = invocation.value[1] if invocation.f == "cas" else invocation.value
    assert isinstance(value, int)
    return value


@settings(max_examples=30)
@given(st.sampled_from(["register", "cas-register"]), st.integers(0, 2**32), st.integers(1, 7))
def test_each_value_is_written_at_most_once_over_all_keys(name: str, seed: int, keys: int) -> None:
    values = [written(invocation) for invocation in stream(name, seed, 300, keys) if invocation.f != "read"]
    assert len(set(values)) == len(values)
    assert all(value > 0 for value in values)


@BOTH
def test_the_same_seed_gives_the_same_stream_and_another_one_another(name: str) -> None:
    assert stream(name, 7, 200) == stream(name, 7, 200)
    assert stream(name, 7, 200) != stream(name, 8, 200)


@pytest.mark.parametrize(("name", "kinds"), [("register", "read write"), ("cas-register", "read write cas")])
def test_kinds_come_in_equal_shares_and_keys_too(name: str, kinds: str) -> None:
    invocations = stream(name, 1, 6000)
    by_kind = Counter(invocation.f for invocation in invocations)
    assert set(by_kind) == set(kinds.split())
    assert all(abs(count * len(by_kind) / 6000 - 1) < 0.1 for count in by_kind.values())
    by_key = Counter(invocation.key for invocation in invocations)
    assert set(by_key) == {f"k{number}" for number in range(5)}
    assert all(abs(count * 5 / 6000 - 1) < 0.15 for count in by_key.values())


def test_a_cas_expects_one_of_the_last_three_values_asked_for_on_its_key() -> None:
    recent: dict[object, list[int | None]] = {}
    for invocation in stream("cas-register", 3, 3000):
        if invocation.f == "read":
            continue
        known = recent.setdefault(invocation.key, [])
        if invocation.f == "cas":
            assert invocation.value[0] in (known[-3:] or [None])
        known.append(written(invocation))


@BOTH
def test_reads_carry_the_mode_and_nothing_else_does(name: str) -> None:
    for invocation in stream(name, 2, 300, mode="unsafe"):
        assert invocation.read_mode == ("unsafe" if invocation.f == "read" else None)
        assert (invocation.value is None) == (invocation.f == "read")


@BOTH
def test_final_reads_are_one_a_register_and_always_through_the_log(name: str) -> None:
    reads = workload_named(name, 3, "unsafe").final_reads()
    assert reads == [Invocation("read", key, read_mode="log") for key in ("k0", "k1", "k2")]


def test_an_unknown_workload_is_refused() -> None:
    with pytest.raises(UsageError, match="--workload must be register or cas-register, not queue"):
        workload_named("queue", 1, "log")
