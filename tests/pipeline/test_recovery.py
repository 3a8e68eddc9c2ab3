"""The recovery figures, definition by definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from history import SECOND, Receipt
from history.metrics.awake_clock import AwakeClock
from history.metrics.recovery import LoadSpan, enough
from history.records.receipts import FaultState
from pipeline.tables.recovery import fault_table

S = SECOND
LOAD = LoadSpan(0, 60 * S, 70 * S)


def steady(*spans: tuple[float, float], rate: int = 100) -> np.ndarray:
    """ok at a steady rate within the spans (seconds), the first right at the start of each."""
    return np.concatenate([np.arange(int(a * S), int(b * S), S // rate) for a, b in spans])


def receipt(number: int, started: float, healed: float | None, state: FaultState = "installed") -> Receipt:
    begin, end = round(started * S), None if healed is None else round(healed * S)
    return Receipt(
        id=number, fault="kill", state=state, started=begin, stood=begin, heal_started=end, healed=end,
        witness={"pid": 1},
    )  # fmt: skip


def figures(receipts: list[Receipt], ok: np.ndarray, load: LoadSpan = LOAD) -> list[dict]:
    return fault_table(receipts, ok, load, AwakeClock()).to_pylist()


def test_an_outage_and_its_end() -> None:
    row = figures([receipt(1, 10, 20)], steady((0, 10), (23, 60)))[0]
    assert row["rate_before"] == pytest.approx(100)
    assert row["rate_during"] == 0
    assert row["rate_after"] == pytest.approx(3700 / 40)
    assert row["longest_gap_ms"] == pytest.approx(13_000)
    assert row["first_ok_ms"] == pytest.approx(3000)
    assert row["recovered_ms"] == row["first_ok_ms"]


def test_a_fault_that_no_probe_noticed() -> None:
    row = figures([receipt(1, 10, 20)], steady((0, 60)))[0]
    assert (row["recovered_ms"], row["first_ok_ms"]) == (0, 0)
    assert row["longest_gap_ms"] == pytest.approx(10)


def test_no_ok_ever_after() -> None:
    row = figures([receipt(1, 10, 20)], steady((0, 10)))[0]
    assert row["longest_gap_ms"] == pytest.approx(50_000)
    assert (row["rate_after"], row["first_ok_ms"], row["recovered_ms"]) == (0, None, None)


def test_half_the_rate_is_no_recovery() -> None:
    ok = np.concatenate([steady((0, 10)), steady((20, 60), rate=50)])
    row = figures([receipt(1, 10, 20)], ok)[0]
    assert (row["rate_after"], row["first_ok_ms"], row["recovered_ms"]) == (pytest.approx(50), 0, None)


def test_a_fault_at_the_start_has_nothing_to_compare_with() -> None:
    row = figures([receipt(1, 0.2, 10)], steady((10, 60)))[0]
    assert (row["rate_before"], row["recovered_ms"]) == (None, None)
    assert (row["rate_after"], row["first_ok_ms"]) == (pytest.approx(100), 0)


def test_the_last_fault_is_healed_when_the_load_is_over() -> None:
    row = figures([receipt(1, 50, 60)], np.append(steady((0, 60)), 61 * S))[0]
    assert (row["rate_after"], row["recovered_ms"]) == (None, None)
    assert row["first_ok_ms"] == 1000


def test_never_healed() -> None:
    first, second = figures([receipt(1, 10, None), receipt(2, 30, 40)], steady((0, 10), (35, 60)))
    assert (first["rate_during"], first["rate_after"], first["first_ok_ms"]) == (pytest.approx(50), None, None)
    assert first["longest_gap_ms"] == pytest.approx(25_000)
    assert second["rate_before"] == first["rate_before"] == pytest.approx(100)


def test_overlapping_faults_share_the_calm_before_and_the_next() -> None:
    row, other, later = figures(
        [receipt(1, 10, 20), receipt(2, 15, 25), receipt(3, 40, 50)], steady((0, 10), (26, 40), (50, 60))
    )
    assert row["rate_before"] == other["rate_before"] == pytest.approx(100)
    assert row["rate_after"] == pytest.approx(1400 / 20)
    assert other["rate_after"] == pytest.approx(1400 / 15)
    assert (row["first_ok_ms"], other["first_ok_ms"]) == (6000, 1000)
    assert row["recovered_ms"] == pytest.approx(other["recovered_ms"] + 5000)
    assert later["rate_before"] == pytest.approx(100)


def test_a_skipped_fault_has_no_figures_and_disturbs_none() -> None:
    skipped, real = figures([receipt(1, 9, 10, "skipped"), receipt(2, 10, 20)], steady((0, 60)))
    assert all(skipped[name] is None for name in skipped if name.endswith("_ms") or name.startswith("rate"))
    assert real["rate_before"] == pytest.approx(100)


def test_an_indeterminate_fault_may_have_had_an_effect() -> None:
    row, real = figures([receipt(1, 8, 9, "indeterminate"), receipt(2, 9.5, 20)], steady((0, 60)))
    assert row["rate_before"] is not None
    assert real["rate_before"] is None


def test_no_load_at_all() -> None:
    row = figures([receipt(1, 10, 20)], np.empty(0, dtype=np.int64), LoadSpan(0, 0, 0))[0]
    assert all(row[name] is None for name in row if name.endswith("_ms") or name.startswith("rate"))


@settings(max_examples=300)
@given(st.lists(st.integers(0, 5000), max_size=60), st.integers(1, 12), st.integers(0, 4000))
def test_recovered_is_the_earliest_second_with_enough(times: list[int], before: int, healed: int) -> None:
    """The first ok in it, against every possible start of the second, in whole milliseconds."""
    calm = [-S + number * S // before for number in range(before)]
    ok = np.array(calm + [time * S // 1000 for time in sorted(times)], dtype=np.int64)
    load = LoadSpan(-S, 5 * S, 6 * S)
    row = figures([receipt(1, 0, healed / 1000)], ok, load)[0]
    need = max(1, math.ceil(0.95 * before - 2 * math.sqrt(before)))
    found = None
    for start in range(healed, 4001):
        if sum(start <= time <= start + 1000 for time in times) >= need:
            found = float(min(time for time in times if time >= start) - healed)
            break
    assert row["rate_before"] == before
    assert row["recovered_ms"] == found


@pytest.mark.parametrize(
    ("before", "after", "back"),
    [(185, 160, True), (114, 100, True), (100, 80, True), (100, 70, False), (200, 100, False), (4, 1, True)],
)
def test_what_chance_does_to_one_second_is_no_loss_of_rate(before: int, after: int, back: bool) -> None:
    ok = np.concatenate([steady((0, 10), rate=before), steady((20, 60), rate=after)])
    row = figures([receipt(1, 10, 20)], ok)[0]
    assert (row["recovered_ms"] is not None) == back
    assert (after + 1 >= enough(before)) == back
