"""Standstills are taken out of the clock; times without any question are found."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from history.metrics.awake_clock import GAP_NS, AwakeClock, gaps, merged

S = 1_000_000_000

spans = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=6)
moments = st.integers(0, 60)


def test_a_standstill_takes_no_time() -> None:
    clock = AwakeClock([(10, 30), (50, 55)])
    assert [clock.at(moment) for moment in (0, 10, 20, 30, 40, 52, 60)] == [0, 10, 10, 10, 20, 30, 35]
    assert (clock.slept(0, 60), clock.slept(20, 30), clock.slept(30, 40)) == (25, 10, 0)
    assert [clock.back(awake) for awake in (0, 9, 20, 35)] == [0, 9, 40, 60]


def test_standstills_that_overlap_are_one() -> None:
    assert merged([(5, 9), (1, 6), (20, 20), (30, 31)]) == [(1, 9), (30, 31)]


@given(spans, moments, moments)
def test_the_clock_never_falls_and_never_gains(standstills: list[tuple[int, int]], one: int, other: int) -> None:
    clock, (begin, end) = AwakeClock(standstills), sorted((one, other))
    assert 0 <= clock.at(end) - clock.at(begin) <= end - begin
    asleep = {moment for first, last in standstills for moment in range(first, last)}
    assert clock.at(end) - clock.at(begin) == sum(moment not in asleep for moment in range(begin, end))


@given(spans, st.lists(moments))
def test_many_moments_at_once_are_as_each_by_itself(standstills: list[tuple[int, int]], many: list[int]) -> None:
    clock = AwakeClock(standstills)
    assert clock.times(np.array(many, np.int64)).tolist() == [clock.at(moment) for moment in many]


@given(spans, moments)
def test_the_way_back_leads_to_the_same_awake_time(standstills: list[tuple[int, int]], awake: int) -> None:
    clock = AwakeClock(standstills)
    assert clock.at(clock.back(awake)) == awake


def test_a_time_in_which_no_node_was_asked_is_a_gap_and_a_failed_question_is_none() -> None:
    asked = [at * S for at in (0, 4, 8, 20)]
    assert gaps(asked, 0, 20 * S) == [(8 * S, 20 * S)]
    assert gaps(asked, 9 * S, 16 * S) == [(9 * S, 16 * S)]
    assert gaps(asked, 0, 8 * S + GAP_NS) == []
    assert gaps([], 0, 6 * S) == [(0, 6 * S)]
