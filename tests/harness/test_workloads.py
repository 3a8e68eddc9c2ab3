"""Workloads: each value written once, the same stream for the same seed, every register read at the end."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.workloads import CasRegister, Invocation, Register

BOTH = pytest.mark.parametrize("name", ["register", "cas-register"])


WORKLOADS: dict[str, type[Register] | type[CasRegister]] = {"register": Register, "cas-register": CasRegister}


def stream(name: str, seed: int, count: int, keys: int = 5) -> list[Invocation]:
    return list(islice(WORKLOADS[name](keys).invocations(random.Random(seed)), count))


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
    recent: dict[str, list[int | None]] = {}
    for invocation in stream("cas-register", 3, 3000):
        if invocation.f == "read":
            continue
        known = recent.setdefault(invocation.key, [])
        if invocation.f == "cas":
            assert invocation.value[0] in (known[-3:] or [None])
        known.append(written(invocation))


@BOTH
def test_reads_have_no_value_and_nothing_is_final(name: str) -> None:
    for invocation in stream(name, 2, 300):
        assert not invocation.final
        assert (invocation.value is None) == (invocation.f == "read")


@BOTH
def test_final_reads_are_one_a_register(name: str) -> None:
    reads = WORKLOADS[name](3).final_reads()
    assert reads == [Invocation("read", key, final=True) for key in ("k0", "k1", "k2")]
