"""Recovery times of which some are only known to be longer: estimates and the test, against published figures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from history.metrics.survival import Times, log_rank, quantile, two_sided

#: Freireich et al. 1963: weeks of remission of leukaemia, with 6-mercaptopurine and with a placebo; the example of
#: Cox 1972 and of most textbooks since.
TREATED = Times([6, 6, 6, 7, 10, 13, 16, 22, 23], [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35])
PLACEBO = Times([1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23])


def test_medians_of_a_published_example() -> None:
    assert (quantile(TREATED, 0.5), quantile(PLACEBO, 0.5)) == (23, 8)


def test_the_log_rank_test_of_a_published_example() -> None:
    z = log_rank([(PLACEBO, TREATED)])
    assert z is not None
    assert z**2 == pytest.approx(16.79, abs=0.01)
    assert z > 0
    assert two_sided(z) == pytest.approx(4.17e-5, rel=0.01)
    assert log_rank([(TREATED, PLACEBO)]) == pytest.approx(-z)


def test_without_censoring_it_is_the_nearest_rank() -> None:
    assert quantile(Times([4, 1, 3, 2]), 0.5) == 2
    assert quantile(Times([4, 1, 3, 2]), 0.95) == 4


@pytest.mark.parametrize("waited", [500.0, math.inf])
def test_never_counts(waited: float) -> None:
    assert quantile(Times([1, 2, 3], [waited] * 2), 0.5) == 3
    assert quantile(Times([1, 2, 3], [waited] * 4), 0.5) is None
    assert quantile(Times(censored=[waited]), 0.5) is None


def test_nothing_at_all() -> None:
    assert quantile(Times(), 0.5) is None
    assert log_rank([]) is None
    assert log_rank([(Times(), Times([1.0]))]) is None


def test_what_never_recovers_is_slower() -> None:
    z = log_rank([(Times([1.0] * 20), Times([1.0] * 10, [30.0] * 10))])
    assert z is not None
    assert z > 3


def test_strata_are_compared_each_in_itself() -> None:
    """The second is slower in both, and would look faster if both were thrown together."""
    slow = (Times([100, 101, 102, 103]), Times([110.0]))
    quick = (Times([1.0]), Times([2, 3, 4, 5]))
    both, mixed = log_rank([slow, quick]), log_rank([(slow[0] + quick[0], slow[1] + quick[1])])
    assert both is not None
    assert mixed is not None
    assert both > 0 > mixed


def _watched(times: np.ndarray) -> Times:
    """Times that were watched for until 2."""
    return Times(times[times < 2].tolist(), times[times == 2].tolist())


def test_two_alike_differ_as_often_as_chance_says() -> None:
    random = np.random.default_rng(1)
    values = []
    for _ in range(400):
        first, second = (np.minimum(random.exponential(1.0, 30), 2.0) for _ in range(2))
        z = log_rank([(_watched(first), _watched(second))])
        assert z is not None
        values.append(two_sided(z))
    assert np.mean(np.array(values) < 0.05) == pytest.approx(0.05, abs=0.025)
