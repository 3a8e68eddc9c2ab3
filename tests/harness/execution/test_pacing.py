"""Pace: a Poisson stream that is never faster than asked for and never fires a backlog."""

from __future__ import annotations

import random
from itertools import pairwise
from statistics import mean, pstdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.generators.pace import Pace


def moments(pace: Pace, count: int) -> list[float]:
    """What takers get who ask again at once, as many free workers do."""
    now, taken = 0.0, []
    for _ in range(count):
        now = pace.take(now)
        taken.append(now)
    return taken


@pytest.mark.parametrize("rate", [0.5, 20.0, 200.0, 5000.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_rate_is_the_one_asked_for(rate: float, seed: int) -> None:
    count = 10_000
    taken = moments(Pace(rate, random.Random(seed), 0.0), count)
    assert (count - 1) / taken[-1] == pytest.approx(rate, rel=0.04)  # four standard errors


def test_gaps_are_exponential() -> None:
    taken = moments(Pace(100.0, random.Random(5), 0.0), 20_000)
    gaps = [after - before for before, after in pairwise(taken)]
    assert mean(gaps) == pytest.approx(0.01, rel=0.04)
    assert pstdev(gaps) == pytest.approx(mean(gaps), rel=0.05)
    assert sum(gap > 0.01 for gap in gaps) / len(gaps) == pytest.approx(0.3679, abs=0.02)


@settings(max_examples=100)
@given(st.integers(), st.floats(0.1, 1e4), st.lists(st.floats(0, 100), max_size=40))
def test_no_moment_is_before_now_or_before_the_one_given_last(seed: int, rate: float, waits: list[float]) -> None:
    pace, now, last = Pace(rate, random.Random(seed), 10.0), 0.0, 10.0
    for wait in waits:
        now += wait
        due = pace.take(now)
        assert due >= now
        assert due >= last
        last = due


def test_an_outage_is_followed_by_the_ordinary_load() -> None:
    """All 50 workers come back at once after 30 s in which 6000 operations were not issued."""
    pace = Pace(200.0, random.Random(9), 0.0)
    moments(pace, 100)
    back = 30.0
    due = [pace.take(back) for _ in range(50)]
    assert due[0] == back
    assert due[-1] - back == pytest.approx(49 / 200, rel=0.5)
    assert len({round(moment, 9) for moment in due}) == 50


def test_slow_workers_are_never_overtaken_by_the_stream() -> None:
    """One worker that needs 1 s an operation at a rate of 1000 gets its next moment at once, every time."""
    pace, now = Pace(1000.0, random.Random(3), 0.0), 0.0
    for _ in range(100):
        due = pace.take(now)
        assert due - now < 0.1
        now = due + 1.0


def test_the_same_seed_gives_the_same_moments() -> None:
    assert moments(Pace(9.0, random.Random(1), 5.0), 50) == moments(Pace(9.0, random.Random(1), 5.0), 50)
