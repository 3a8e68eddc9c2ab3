"""Change points: how often they are false alarms, how soon a change is found, when it is closed."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from history.metrics.change_points import MIN_BEFORE, RECOVERED, Change, rises

NIGHTS_A_MONTH = 30
SERIES = 116 * 4
SCATTER = 0.03

Draw = Callable[[np.random.Generator, int], np.ndarray]


def gauss(random: np.random.Generator, count: int) -> np.ndarray:
    return random.standard_normal(count)


def heavy_tails(random: np.random.Generator, count: int) -> np.ndarray:
    return random.standard_t(3, count)


def skewed(random: np.random.Generator, count: int) -> np.ndarray:
    return random.exponential(1.0, count)


def mostly_nothing(random: np.random.Generator, count: int) -> np.ndarray:
    return np.where(random.random(count) < 0.8, 0.0, random.exponential(1.0, count))


def correlated(random: np.random.Generator, count: int) -> np.ndarray:
    """Neighbours have a correlation of 0.2."""
    found = random.standard_normal(count)
    for place in range(1, count):
        found[place] = 0.2 * found[place - 1] + math.sqrt(1 - 0.2**2) * found[place]
    return found


def alarms_a_month(draw: Draw, series: int, nights: int, seed: int) -> float:
    """False alarms a month over all cells; each simulated series begins with a first run."""
    random = np.random.default_rng(seed)
    found = sum(len(rises(draw(random, nights).tolist(), 0.0)) for _ in range(series))
    return found / (series * nights) * SERIES * NIGHTS_A_MONTH


def nights_until_found(drop: float, scatter: float, before: int, repeats: int, seed: int) -> np.ndarray:
    """Nights from a lasting drop of a rate to the one on which it is found (infinity: not within sixty)."""
    random = np.random.default_rng(seed)
    nights = []
    for _ in range(repeats):
        rate = 200.0 * np.exp(scatter * random.standard_normal(before + 60))
        rate[before:] *= 1 - drop
        found = [change.found for change in rises((-rate).tolist(), 1.0) if change.found >= before]
        nights.append(found[0] - before + 1 if found else math.inf)
    return np.array(nights)


def test_false_alarms_of_some_months_are_few() -> None:
    assert alarms_a_month(gauss, series=SERIES, nights=6 * NIGHTS_A_MONTH, seed=1) <= 1.5


@pytest.mark.parametrize(("scatter", "nights"), [(0.02, 3), (SCATTER, 4)])
def test_a_lasting_drop_of_a_tenth_is_found_within_days(scatter: float, nights: int) -> None:
    found = nights_until_found(0.1, scatter, before=60, repeats=100, seed=2)
    assert np.mean(found <= nights) >= 0.9
    assert np.median(found) == 3


def test_one_in_all_cells_is_found_by_the_first_of_them_at_more_scatter() -> None:
    rounds = [nights_until_found(0.1, 0.05, before=60, repeats=20, seed=seed).min() for seed in range(40)]
    assert np.mean(np.array(rounds) <= 3) >= 0.85


@pytest.mark.nightly
@pytest.mark.parametrize("draw", [gauss, heavy_tails, skewed, mostly_nothing])
def test_at_most_one_false_alarm_a_month_whatever_the_distribution(draw: Draw) -> None:
    """Twenty years of all cells; the bound leaves two standard errors of the count for chance."""
    months = 240
    bound = 1 + 2 / math.sqrt(months)
    assert alarms_a_month(draw, series=SERIES * months // 12, nights=12 * NIGHTS_A_MONTH, seed=3) <= bound


@pytest.mark.nightly
def test_the_table_in_the_docs(capsys: pytest.CaptureFixture[str]) -> None:
    """What ``docs/regressions.md`` says, to the last figure; run with ``-s`` to print the rows."""
    rows = []
    for scatter in (0.02, SCATTER, 0.05):
        for before in (30, 60, 120, 240):
            found = nights_until_found(0.1, scatter, before, repeats=1000, seed=4)
            within = " | ".join(f"{np.mean(found <= nights):.0%}".replace("%", " %") for nights in (3, 4, 7))
            rows.append(f"| {100 * scatter:.0f} % | {before} | {np.median(found):.0f} | {within} |")
    for scatter in (SCATTER, 0.05, 0.08):
        found = nights_until_found(0.1, scatter, before=60, repeats=1000, seed=4)
        missed = [np.mean(found > nights) for nights in (3, 7)]
        shares = [f"{1 - one**cells:.0%}".replace("%", " %") for one in missed for cells in (5, 20, 116)]
        rows.append(f"| {100 * scatter:.0f} % | {' | '.join(shares)} |")
    for name, draw in (("normal", gauss), ("Student's t, 3 degrees of freedom", heavy_tails), ("exponential", skewed),
                       ("four of five are 0", mostly_nothing),
                       ("normal, neighbours correlated by 0.2", correlated)):  # fmt: skip
        rate = alarms_a_month(draw, series=SERIES * 10, nights=12 * NIGHTS_A_MONTH, seed=5)
        rows.append(f"| {name} | {rate:.2f} |")
    with capsys.disabled():
        print("", *rows, sep="\n")
    page = (Path(__file__).parents[2] / "docs" / "regressions.md").read_text()
    assert [row for row in rows if row not in page] == []


def steady(count: int, seed: int = 0) -> list[float]:
    return (100 + np.random.default_rng(seed).standard_normal(count)).tolist()


def test_a_rise_is_open_until_the_figures_are_back() -> None:
    before, risen, back = steady(60), [value + 20 for value in steady(10, 1)], steady(20, 2)
    (change,) = rises([*before, *risen], 1.0)
    assert (change.onset, change.closed) == (60, None)
    assert change.found <= 62
    assert change.before == pytest.approx(100, abs=0.5)
    assert change.since == pytest.approx(120, abs=2)
    assert rises([*before, *risen, *back[: RECOVERED - 1]], 1.0) == [change]
    (closed,) = rises([*before, *risen, *back], 1.0)
    assert closed == Change(60, change.found, 69 + RECOVERED, change.before, change.since)


def test_a_rise_that_lasts_a_year_is_one_and_stays_open() -> None:
    (change,) = rises([*steady(60), *(value + 20 for value in steady(365, 1))], 1.0)
    assert (change.onset, change.closed) == (60, None)


def test_after_one_is_closed_the_next_is_found() -> None:
    risen = [value + 20 for value in steady(10, 1)]
    found = rises([*steady(60), *risen, *steady(20, 2), *risen], 1.0)
    assert [(change.onset, change.closed is None) for change in found] == [(60, False), (90, True)]


def test_one_outlier_is_no_change() -> None:
    assert rises([*steady(60), 1e9, *steady(60, 1)], 1.0) == []


def test_a_slow_drift_is_seen() -> None:
    values = [*steady(60), *(value + 0.15 * night for night, value in enumerate(steady(120, 1)))]
    (change,) = rises(values, 1.0)
    assert 60 < change.found < 120
    assert change.closed is None


@pytest.mark.parametrize("lower", [0.5, 3.0])
def test_after_a_lasting_fall_the_old_level_is_a_rise(lower: float) -> None:
    """A fall by less than matters is none, so coming back from it is none either."""
    values = [*steady(60), *(value - 4 * lower for value in steady(40, 1)), *steady(20, 2)]
    assert [change.onset for change in rises(values, 1.0)] == ([100] if lower == 3.0 else [])


def test_what_is_too_small_to_matter_is_none_and_hides_nothing() -> None:
    small = [value + 4 for value in steady(60, 1)]
    assert rises([*steady(60), *small], 1.0) == []
    (change,) = rises([*steady(60), *small, *(value + 20 for value in steady(5, 2))], 1.0)
    assert change.onset == 120


def test_nothing_is_found_without_enough_to_compare_with() -> None:
    assert rises([*steady(MIN_BEFORE - 1), *(value + 20 for value in steady(4, 1))], 1.0) == []
    assert rises([], 1.0) == []


def test_never_is_worse_than_any_number() -> None:
    (change,) = rises([*steady(60), *[math.inf] * 4], 1.0)
    assert (change.onset, change.since, change.closed) == (60, math.inf, None)
    (closed,) = rises([*steady(60), *[math.inf] * 4, *steady(RECOVERED, 1)], 1.0)
    assert closed.closed is not None
    assert rises([math.inf] * 100, 1.0) == []


def test_only_ranks_and_medians_decide() -> None:
    values = [*steady(60), *(value + 20 for value in steady(10, 1))]
    assert [change.found for change in rises([value**3 for value in values], 1.0)] == [
        change.found for change in rises(values, 1.0)
    ]
