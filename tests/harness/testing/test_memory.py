"""Registers in memory: the right ones are always right, and each bug is found."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker import check
from harness.testing import BUGS, QUIRKS, Quirk, Registers, history_of
from history import pair


def operations(seed: int, number: int, *, cas: bool) -> Iterator[tuple[str, Any, Any]]:
    rng = random.Random(seed)
    for value in range(1, number + 1):
        f = rng.choice(("read", "write", "cas") if cas else ("read", "write"))
        asked = {"read": None, "write": value, "cas": [rng.choice([None, value - 1, value - 2]), value]}[f]
        yield f, rng.choice("xy"), asked


def verdict(quirk: Quirk, seed: int, number: int = 120, *, cas: bool = True) -> str:
    events = history_of(Registers(quirk), operations(seed, number, cas=cas), seed=seed)
    return check(events, "cas-register" if cas else "register").verdict


@given(st.integers(0, 2**32), st.sampled_from(["", "lost-answers"]), st.booleans())
def test_a_right_one_is_always_right(seed: int, quirk: Quirk, cas: bool) -> None:
    assert verdict(quirk, seed, 40, cas=cas) == "valid"


@pytest.mark.parametrize("bug", BUGS)
def test_every_bug_is_found(bug: Quirk) -> None:
    found = [verdict(bug, seed, 300) for seed in range(5)]
    assert found == ["invalid"] * 5


@pytest.mark.parametrize("quirk", QUIRKS)
def test_operations_overlap_and_a_process_has_one_at_a_time(quirk: Quirk) -> None:
    events = history_of(Registers(quirk), operations(1, 60, cas=True), workers=4)
    found = pair(events)
    assert len(found) == 60
    assert any(a.invoked < b.invoked < (a.returned or 0) for a in found for b in found)
    assert all(a.time <= b.time for a, b in pairwise(events))
    assert ("info" in {one.outcome for one in found}) == (quirk == "lost-answers")


def test_the_same_seed_makes_the_same_history() -> None:
    first, second = (history_of(Registers(), operations(3, 50, cas=True), seed=5) for _ in range(2))
    assert first == second


def test_what_a_register_does_not_know() -> None:
    with pytest.raises(ValueError, match="a register has no 'enqueue'"):
        Registers().perform("enqueue", "x", 1)
