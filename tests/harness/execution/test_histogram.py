"""Quantiles by buckets: at most one per cent above those of all values."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from harness.execution.histogram import Histogram


@given(st.lists(st.integers(-5, 10**11), min_size=1, max_size=60), st.sampled_from([0.0, 0.5, 0.9, 0.99, 1.0]))
def test_quantiles(times: list[int], share: float) -> None:
    histogram = Histogram()
    for time in times:
        histogram.add(time)
    exact = max(0, sorted(times)[max(1, math.ceil(share * len(times))) - 1]) / 1e6
    assert exact - 0.001 <= histogram.quantile_ms(share) <= exact * 1.011 + 0.001
    assert histogram.most_ms == round(max(0, *times) / 1e6, 3)
    assert histogram.count == len(times)


def test_without_any_value() -> None:
    assert (Histogram().quantile_ms(0.99), Histogram().most_ms) == (0.0, 0.0)
