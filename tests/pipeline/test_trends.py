"""Trends over runs, and what counts as a regression."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from history.tables.schemas import RUNS, TRENDS
from pipeline.warehouse.trends import LEAST, regressions, spark_trends, trend_table


def row(number: int, **fields: Any) -> dict[str, Any]:
    base = {
        "run": f"t/{number:03}", "test": "t", "started": f"{number:03}", "system_version": "0.4.0", "nemesis": "kill",
        "workload": "register", "settings": "rate=200.0", "verdict": "valid",
        "operations": 100, "ok": 90, "violations": 0, "rate": 200.0,
        "unavailable_s": 1.0, "longest_gap_ms": 400.0, "p99_ms": 20.0, "faults": 3, "never_recovered": 0,
        "recovery_ms": 500.0, "recoveries_ms": "[400.0, 500.0, 600.0]", "written": 0, "fingerprint": "",
    }  # fmt: skip
    return {**base, **fields}


def trends(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    table = trend_table(pa.Table.from_pylist(rows, schema=RUNS))
    assert table.schema.equals(TRENDS, check_metadata=False)
    return table.to_pylist()


def test_kinds_are_told_apart_and_in_order() -> None:
    rows = [row(1, nemesis="pause"), row(2), row(3, system_version="0.3.2"), row(4)]
    assert [(trend["system_version"], trend["nemesis"], trend["runs"]) for trend in trends(rows)] == [
        ("0.3.2", "kill", 1), ("0.4.0", "kill", 2), ("0.4.0", "pause", 1),
    ]  # fmt: skip


def test_figures_of_a_kind() -> None:
    verdicts = ["valid", "invalid", "invalid", "valid", "harness failure"]
    rows = [row(n, verdict=verdict, recoveries_ms=f"[{100.0 * n}]", violations=n, rate=None if n == 4 else 200.0 + n)
            for n, verdict in enumerate(verdicts)]  # fmt: skip
    (trend,) = trends(rows)
    assert json.loads(trend["verdicts"]) == {"valid": 2, "invalid": 2, "harness failure": 1}
    assert trend["flakiness"] == pytest.approx(2 / 3)
    assert (trend["violations"], trend["rate_median"]) == (6, 201)
    assert (trend["recoveries"], trend["recovery_ms_p50"], trend["recovery_ms_max"]) == (4, 100, 300)
    assert json.loads(trend["recovery_histogram"]) == [[0, 100, 2], [100, 200, 1], [200, 500, 1]]
    assert trend["newest"] == "t/004"


def test_nothing_to_tell_from_nothing() -> None:
    assert trends([]) == []
    (trend,) = trends([row(1, rate=None, recovery_ms=None, recoveries_ms="[]", unavailable_s=None)])
    assert (trend["flakiness"], trend["rate_median"], trend["recovery_ms_p50"]) == (None, None, None)


def history(values: list[float], **newest: Any) -> list[dict[str, Any]]:
    return [row(n, rate=value) for n, value in enumerate(values)] + [row(len(values), **newest)]


def test_a_change_beyond_the_spread_is_a_regression_with_its_evidence() -> None:
    (worse,) = regressions(history([200, 204, 196, 201, 199], rate=190.0))
    before = [["t/000", 200], ["t/001", 204], ["t/002", 196], ["t/003", 201], ["t/004", 199]]
    assert worse == {"figure": "rate", "run": "t/005", "new": 190.0, "median_before": 200.0, "spread_before": 8.0,
                     "before": before}  # fmt: skip


@pytest.mark.parametrize(
    ("values", "newest"),
    [
        ([200, 204, 196, 201, 199], 192.5),  # within the spread
        ([200, 204, 196, 201, 199], 300.0),  # better
        ([200, 150, 250, 201, 199], 120.0),  # a noisy figure
        ([200.0] * 5, 199.5),  # too small to matter
        ([200.0] * (LEAST - 1), 1.0),  # too few to compare with
    ],
)
def test_what_is_none(values: list[float], newest: float) -> None:
    assert regressions(history(values, rate=newest)) == []


def test_only_the_last_runs_count() -> None:
    old = [1000.0, 10.0] * 5
    assert regressions(history(old + [200.0] * 10, rate=150.0))
    assert not regressions(history([*old, 200.0], rate=150.0))


def test_runs_with_other_settings_are_not_compared() -> None:
    asked_for_less = history([200, 204, 196, 201, 199], rate=50.0, settings="rate=50.0")
    assert regressions(asked_for_less) == []
    back = [*asked_for_less, row(9, rate=150.0)]
    assert [found["run"] for found in regressions(back)] == ["t/009"]


@pytest.mark.spark
def test_the_same_on_spark(spark) -> None:
    rows = [row(n, nemesis="kill+pause" if n % 3 else "", rate=None if n == 4 else 200.0 - n) for n in range(20)]
    table = pa.Table.from_pylist([*rows, row(30, rate=1.0)], schema=RUNS)
    assert spark_trends(spark, table).equals(trend_table(table))
    assert spark_trends(spark, RUNS.empty_table()).num_rows == 0


def test_a_verdict_that_turns() -> None:
    rows = [row(n) for n in range(6)]
    assert [found["figure"] for found in regressions([*rows, row(7, verdict="invalid")])] == ["verdict"]
    assert regressions([*rows, row(7, verdict="invalid"), row(8, verdict="invalid")]) == []
    assert regressions([*rows, row(7, verdict="unknown")]) == []
