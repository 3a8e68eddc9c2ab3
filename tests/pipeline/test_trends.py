"""Trends over runs: figures by kind, recovery that counts *never*, and the regressions that come with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from history.metrics.regressions import Baseline
from history.tables.schemas import RUNS, TRENDS
from pipeline.warehouse.trends import trend_table


def row(number: int, **fields: Any) -> dict[str, Any]:
    base = {
        "run": f"t/{number:03}", "test": "t", "started": f"{number:03}", "system_version": "0.4.0", "nemesis": "kill",
        "workload": "register", "settings": "rate=200.0", "verdict": "valid",
        "operations": 100, "ok": 90, "violations": 0, "rate": 200.0,
        "unavailable_s": 1.0, "longest_gap_ms": 400.0, "p99_ms": 20.0, "faults": 3, "never_recovered": 0,
        "recovery_ms": 500.0, "recovery_times_ms": [400.0, 500.0, 600.0], "censored_times_ms": [], "machine": None,
        "written": 0, "fingerprint": "",
    }  # fmt: skip
    return {**base, **fields}


def trends(rows: list[dict[str, Any]], baselines: Sequence[Baseline] = ()) -> list[dict[str, Any]]:
    table = trend_table(pa.Table.from_pylist(rows, schema=RUNS), baselines)
    assert table.schema.equals(TRENDS, check_metadata=False)
    return table.to_pylist()


def test_kinds_are_distinguished_and_in_order() -> None:
    rows = [row(1, nemesis="pause"), row(2), row(3, system_version="0.3.2"), row(4)]
    assert [(trend["system_version"], trend["nemesis"], trend["runs"]) for trend in trends(rows)] == [
        ("0.3.2", "kill", 1), ("0.4.0", "kill", 2), ("0.4.0", "pause", 1),
    ]  # fmt: skip


def test_figures_of_a_kind() -> None:
    verdicts = ["valid", "invalid", "invalid", "valid", "harness failure"]
    rows = [row(n, verdict=verdict, recovery_times_ms=[100.0 * n], violations=n, rate=None if n == 4 else 200.0 + n)
            for n, verdict in enumerate(verdicts)]  # fmt: skip
    (trend,) = trends(rows)
    assert dict(trend["verdict_counts"]) == {"valid": 2, "invalid": 2, "harness failure": 1}
    assert trend["flakiness"] == pytest.approx(2 / 3)
    assert (trend["violations"], trend["rate_median"]) == (6, 201)
    assert (trend["recoveries"], trend["recovery_ms_p50"], trend["recovery_ms_max"]) == (4, 100, 300)
    assert trend["recovery_buckets"] == [[0, 100, 2], [100, 200, 1], [200, 500, 1]]
    assert trend["newest"] == "t/004"


def test_nothing_to_tell_from_nothing() -> None:
    assert trends([]) == []
    (trend,) = trends([row(1, rate=None, recovery_ms=None, recovery_times_ms=[], unavailable_s=None)])
    assert (trend["flakiness"], trend["rate_median"], trend["recovery_ms_p50"]) == (None, None, None)


def test_faults_without_a_way_back_count() -> None:
    rows = [row(n, recovery_times_ms=[100.0], never_recovered=1, censored_times_ms=[5000.0]) for n in range(3)]
    (half,) = trends([*rows, row(9, recovery_times_ms=[200.0])])
    assert (half["recoveries"], half["never_recovered"], half["recovery_ms_p50"]) == (4, 3, 200)
    assert half["recovery_ms_p95"] is None
    (most,) = trends([*rows, row(9, recovery_times_ms=[], never_recovered=1, censored_times_ms=None)])
    assert (most["recovery_ms_p50"], most["recovery_ms_max"]) == (None, 100)


def test_a_version_is_compared_with_the_one_before_it() -> None:
    old = [row(n, system_version="0.3.2") for n in range(5)]
    slower = [row(n, recovery_times_ms=[900.0, 1000.0]) for n in range(5, 10)]
    first, second = trends([*old, *slower])
    assert (first["compared_with"], first["recovery_p"]) == (None, None)
    assert (second["compared_with"], second["recovery_log_rank"] > 2, second["recovery_p"] < 0.05) == (
        "0.3.2", True, True,
    )  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [{"settings": "rate=50.0"}, {"machine": "another"}, {"workload": "set"}, {"system_version": "0.4.0 snapshot"}],
)
def test_versions_are_compared_within_equal_settings_on_equal_machines(change: dict[str, Any]) -> None:
    old = [row(n, system_version="0.3.2", machine="EPYC") for n in range(5)]
    slower = [row(n, recovery_times_ms=[900.0, 1000.0], **{"machine": "EPYC"} | change) for n in range(5, 10)]
    assert [trend["compared_with"] for trend in trends([*old, *slower])] == [None, None]


def nights(rate: float, first: int, count: int, **fields: Any) -> list[dict[str, Any]]:
    return [row(n, rate=rate + (n * 7 % 5) / 2, **fields) for n in range(first, first + count)]


def open_ones(rows: list[dict[str, Any]], baselines: Sequence[Baseline] = ()) -> list[tuple[str, str]]:
    found = [found for trend in trends(rows, baselines) for found in json.loads(trend["regressions"])]
    return [(one["figure"], one["onset"]) for one in found if one["closed"] is None]


def test_a_regression_comes_with_its_runs() -> None:
    (trend,) = trends([*nights(200, 0, 60), *nights(170, 60, 5)])
    (worse,) = json.loads(trend["regressions"])
    assert (worse["figure"], worse["series"], worse["closed"]) == ("rate", "rate=200.0", None)
    assert (worse["onset"], worse["found"]) == ("t/060", "t/062")
    assert (worse["median_before"], worse["median_since"]) == (201, 171)
    assert [run for run, _ in worse["before"]] == [f"t/{n:03}" for n in range(50, 60)]
    assert worse["since"][0] == ["t/060", 170]


def test_runs_with_a_planted_bug_have_no_regressions() -> None:
    worse = [*nights(200, 0, 60), *nights(170, 60, 5)]
    assert open_ones(worse) == [("rate", "t/060")]
    assert open_ones([{**one, "system_version": "0.4.0 planted-bug stale-reads"} for one in worse]) == []


def test_a_new_baseline_acknowledges_it() -> None:
    rows = [*nights(200, 0, 60), *nights(170, 60, 30)]
    assert open_ones(rows) == [("rate", "t/060")]
    assert open_ones(rows, [Baseline("t/060")]) == open_ones(rows, [Baseline("t/060", "rate")]) == []
    assert open_ones(rows, [Baseline("t/060", "p99_ms"), Baseline("another/run")]) == [("rate", "t/060")]
    again = [*rows, *nights(140, 90, 5)]
    assert open_ones(again, [Baseline("t/060", "rate")]) == [("rate", "t/090")]


@pytest.mark.parametrize("change", [{"settings": "rate=170.0"}, {"machine": "another"}])
def test_other_settings_or_another_machine_begin_a_new_series(change: dict[str, Any]) -> None:
    assert open_ones([*nights(200, 0, 60, machine="EPYC"), *nights(170, 60, 30, machine="EPYC")]) != []
    assert open_ones([*nights(200, 0, 60, machine="EPYC"), *nights(170, 60, 30, **{"machine": "EPYC"} | change)]) == []


def test_a_run_after_which_the_rate_never_came_back_is_the_slowest() -> None:
    never = {"recovery_times_ms": [], "recovery_ms": None, "never_recovered": 3, "censored_times_ms": [9.0, 9.0, 9.0]}
    rows = [row(n, recovery_times_ms=[400.0 + n * 7 % 5]) for n in range(60)]
    (trend,) = trends([*rows, *(row(n, **never) for n in range(60, 64))])
    (worse,) = json.loads(trend["regressions"])
    assert (worse["figure"], worse["onset"], worse["median_since"]) == ("recovery_ms", "t/060", None)


def test_a_verdict_that_turns() -> None:
    rows = [row(n) for n in range(6)]
    assert open_ones([*rows, row(7, verdict="invalid")]) == [("verdict", "t/007")]
    assert open_ones([*rows, row(7, verdict="invalid"), row(8, verdict="invalid")]) == [("verdict", "t/007")]
    assert open_ones([*rows, row(7, verdict="invalid"), row(8, verdict="harness failure")]) == [("verdict", "t/007")]
    assert open_ones([*rows, row(7, verdict="invalid"), *(row(n) for n in range(8, 13))]) == []
    assert open_ones([*rows, row(7, verdict="unknown")]) == []
    assert open_ones([*rows[:4], row(7, verdict="invalid")]) == []
