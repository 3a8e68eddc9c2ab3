"""The trends of the warehouse on the site: groups, distributions, regressions with the runs that they rest on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from history.tables.schemas import RUNS, TRENDS
from history.tables.warehouse import written_schema
from reports.analysis import trends
from reports.analysis.trend_rows import INVALID, DrawnRegression, Group, Sample, Trends, open_first
from reports.load.store_index import StoreIndex
from reports.site import site
from tests.support.reports.shapes import HOSTILE

EMPTY: dict[Any, Any] = {pa.string(): "", pa.int64(): 0, pa.float64(): None}

PLACES = {"runs": "runs/month=2026-03/1.parquet", "trends": "trends.parquet"}


def run_record(number: int, **changes: Any) -> dict[str, Any]:
    plain = {field.name: EMPTY.get(field.type) for field in RUNS}
    named = {"run": f"t/2026030{number}T020000.000Z-1", "started": f"2026030{number}", "verdict": "valid"}
    return {**plain, **named, "system_version": "0.4.0", "nemesis": "kill", "workload": "register", **changes}


def trend_record(**changes: Any) -> dict[str, Any]:
    plain = {field.name: EMPTY.get(field.type) for field in TRENDS}
    kind = {"system_version": "0.4.0", "nemesis": "kill", "workload": "register"}
    reported = {"verdict_counts": {"valid": 5, "invalid": 1}, "recovery_buckets": [], "regressions": "[]"}
    return {**plain, **kind, **reported, **changes}


def write(store: Path, runs: list[dict[str, Any]], kinds: list[dict[str, Any]]) -> None:
    version = store / "warehouse" / "versions" / "00000001"
    (version / "runs" / "month=2026-03").mkdir(parents=True, exist_ok=True)
    for name, rows in (("runs", runs), ("trends", kinds)):
        pq.write_table(pa.Table.from_pylist(rows, schema=written_schema(name)), version / PLACES[name])


RUN = "t/2026030{}T020000.000Z-1".format
REGRESSIONS: list[dict[str, Any]] = [
    {
        "figure": "recovery_ms", "series": "rate=200.0", "onset": RUN(5), "found": RUN(6), "closed": None,
        "median_before": 2000.0, "median_since": None,
        "before": [[RUN(n), 1900.0 + 50 * n] for n in range(1, 5)], "since": [[RUN(5), 9000.0], [RUN(6), None]],
    },
    {
        "figure": "verdict", "series": "rate=200.0", "onset": RUN(6), "found": RUN(6), "closed": RUN(7),
        "median_before": None, "median_since": None, "before": [["a/1", "valid"]] * 5, "since": [[RUN(6), "invalid"]],
    },
]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Path:
    runs = [run_record(n, recovery_ms=1900.0 + 50 * n) for n in range(1, 6)]
    runs.append(run_record(6, recovery_ms=9000.0, verdict="invalid"))
    buckets = [[0, 100, 1], [100, 200, 0], [200, None, 5]]
    kind = trend_record(
        runs=6,
        flakiness=0.2,
        recovery_ms_p50=2100.0,
        recovery_ms_p95=8000.0,
        recovery_ms_max=9000.0,
        rate_median=190.0,
        unavailable_s_median=1.5,
        never_recovered=2,
        recovery_buckets=buckets,
        regressions=json.dumps(REGRESSIONS),
    )
    write(tmp_path, runs, [kind])
    for row in runs[:5]:
        (tmp_path / row["run"]).mkdir(parents=True)
        (tmp_path / row["run"] / "plan.json").write_text('{"nemesis": ["kill"], "version": "0.4.0"}')
    return tmp_path


def test_the_warehouse_is_drawn(store: Path) -> None:
    rows = StoreIndex(store, remember=False).rows()
    found = trends.trends_of(store, rows)
    assert found.note == "From the warehouse: 6 runs."
    (group,) = found.groups
    assert (group.nemesis, group.version, group.workload, group.flaky) == ("kill", "0.4.0", "register", "changes 20%")
    assert (group.recovery_s, group.late_recovery_s, group.worst_recovery_s) == (2.1, 8.0, 9.0)
    assert (group.away_s, group.rate, group.never, group.verdicts["invalid"]) == (1.5, 190.0, 2, 1)
    assert group.histogram == ((0.0, 0.1, 1), (0.1, 0.2, 0), (0.2, None, 5))
    dots, top = trends.strip(group)
    assert ([dot.verdict for dot in dots], top) == ([*["valid"] * 5, "invalid"], 9.0)


def test_regressions_come_with_the_runs_that_they_rest_on(store: Path) -> None:
    slow, verdict = trends.trends_of(store, []).regressions
    assert (slow.metric, slow.unit, slow.median_before, slow.median_since) == (
        "time until the rate was back", "s", 2.0, None,
    )  # fmt: skip
    assert (slow.onset, slow.found, slow.closed, verdict.closed) == (RUN(5), RUN(6), None, RUN(7))
    assert slow.since == ((RUN(5), 9.0), (RUN(6), None))
    verdicts = dict.fromkeys([place for place, _ in slow.before[1:]], "valid") | {slow.found: "invalid"}
    dots = trends.evidence(slow, verdicts)
    assert [dot.verdict for dot in dots] == ["unknown", *["valid"] * 3, "unknown", "invalid"]
    assert [dot.y for dot in dots[-2:]] == [pytest.approx(6), pytest.approx(6)]
    assert dots[-1].text == f"{RUN(6)}: never"
    assert dots[0].y is not None
    assert dots[0].y > 25
    assert (verdict.metric, trends.evidence(verdict, verdicts)) == ("verdict became invalid", [])


def test_open_regressions_come_first(store: Path) -> None:
    write(store, [run_record(1)], [trend_record(regressions=json.dumps(REGRESSIONS[::-1]))])
    found = trends.trends_of(store, [])
    assert [regression.closed for regression in found.regressions] == [None, RUN(7)]
    page = site.trends_page([], found)
    assert page.index(">open<") < page.index("closed by")


def test_a_version_that_recovers_more_slowly_is_named(store: Path) -> None:
    compared = {"compared_with": "0.3.2", "recovery_log_rank": 3.1, "recovery_p": 0.0019}
    write(store, [run_record(1)], [trend_record(**compared)])
    (group,) = trends.trends_of(store, []).groups
    assert group.compared == "slower than 0.3.2, p 0.0019"
    assert "slower than 0.3.2, p 0.0019" in site.trends_page([], trends.trends_of(store, []))


def test_a_run_without_a_recovery_does_not_look_like_a_fast_one(store: Path) -> None:
    quick, none = run_record(1, recovery_ms=0), run_record(2, recovery_ms=None)
    write(store, [quick, none], [trend_record()])
    (group,) = trends.trends_of(store, []).groups
    (fast, unmeasured), _ = trends.strip(group)
    assert (fast.y, unmeasured.y) == (38, None)
    assert unmeasured.text.endswith("no recovery time")
    page = site.trends_page([], trends.trends_of(store, []))
    assert page.count('class="v-valid unmeasured" cx="18.0" cy="38"') == 1
    assert 'class="v-valid" cx="6.0"' in page


def test_only_runs_that_are_there_are_linked(store: Path) -> None:
    rows = StoreIndex(store, remember=False).rows()
    page = site.trends_page(rows, trends.trends_of(store, rows))
    assert 'href="runs/t/20260305T020000.000Z-1/index.html"' in page
    assert "20260306T020000.000Z-1" in page
    assert 'href="runs/t/20260306' not in page
    assert "verdict became invalid" in page


def test_runs_that_the_warehouse_lacks_are_counted(store: Path) -> None:
    (store / "t" / "another").mkdir()
    (store / "t" / "another" / "plan.json").write_text("{}")
    rows = StoreIndex(store, remember=False).rows()
    assert "1 of the store's runs is not in it" in trends.trends_of(store, rows).note


def test_hostile_names_of_the_warehouse_stay_text(store: Path) -> None:
    write(store, [run_record(1, run=HOSTILE, nemesis=HOSTILE)], [trend_record(nemesis=HOSTILE, workload=HOSTILE)])
    page = site.trends_page([], trends.trends_of(store, []))
    assert "<img" not in page
    assert page.count("<script>") == 1


@pytest.mark.parametrize("spoilt", ["cut", "text", "table", "json"])
def test_a_warehouse_that_cannot_be_read_is_named_and_the_results_are_drawn(store: Path, spoilt: str) -> None:
    path = store / "warehouse" / "versions" / "00000001" / PLACES["trends"]
    if spoilt == "cut":
        path.write_bytes(path.read_bytes()[:100])
    elif spoilt == "text":
        path.write_text("nonsense")
    elif spoilt == "table":
        old = written_schema("trends").with_metadata({b"harness.table": b"runs", b"harness.version": b"0"})
        pq.write_table(pa.Table.from_pylist([trend_record()], schema=old), path)
    else:
        write(store, [run_record(1)], [trend_record(regressions="{")])
    rows = StoreIndex(store, remember=False).rows()
    found = trends.trends_of(store, rows)
    assert "the warehouse cannot be read" in found.note
    assert [len(group.samples) for group in found.groups] == [5]


def test_a_planted_bug_that_was_found_is_reported_as_that_and_is_no_regression() -> None:
    """No failure of the system either: only what other checks found is red, and a bug that was missed."""
    version = "0.4.0 planted-bug stale-reads"
    one = DrawnRegression("kill", version, "", INVALID, "", "a/1", "a/2", None, None, None, (), ())
    slower = replace(one, metric="rate")
    real = replace(one, version="0.4.0")
    assert open_first([one, slower, real]) == (real,)
    samples = (
        Sample("a/1", "invalid", 1.0, "found"), Sample("a/2", "valid", None, "missed"), Sample("a/3", "unknown", None),
        Sample("a/4", "invalid", 1.0, "missed"),
    )  # fmt: skip
    verdicts = {"valid": 1, "invalid": 2, "unknown": 1, "harness failure": 0}
    group = Group("kill", version, "", samples, verdicts, "", None, None, None, None, None, 0, 0, ())
    dots = trends.strip(group)[0]
    assert [dot.text.rpartition(", ")[0] for dot in dots] == [
        "a/1: planted bug found, as intended", "a/2: planted bug not found", "a/3: unknown",
        "a/4: invalid, planted bug not found",
    ]  # fmt: skip
    assert [dot.verdict for dot in dots] == ["as intended", "missed", "unknown", "invalid"]
    page = site.trends_page([], Trends((group,), (), "note"))
    for piece in (
        "planted bug</span>",
        "1 missed</td>",
        ">1 as intended<",
        '<span class="red strong">1 by other checks',
    ):
        assert piece in page
    plain = site.trends_page([], Trends((replace(group, version="0.4.0"),), (), "note"))
    assert ("planted bug</span>" in plain, 'red strong">2</td>' in plain) == (False, True)


def test_the_warehouse_has_no_regressions_of_planted_bugs_and_the_page_takes_their_outcome_from_the_runs(
    store: Path,
) -> None:
    rows = StoreIndex(store, remember=False).rows()
    planted = "0.4.0 planted-bug stale-reads"
    records = [{**run_record(1), "run": rows[0].place, "verdict": "invalid", "system_version": planted}]
    write(store, records, [trend_record(system_version=planted)])
    for planted_bug in ("found", "missed"):
        (group,) = trends.trends_of(store, [replace(rows[0], planted_bug=planted_bug)]).groups
        assert [sample.planted_bug for sample in group.samples] == [planted_bug]
    (group,) = trends.trends_of(store, [replace(rows[0], planted_bug="found", beside="data lost: odd")]).groups
    assert [(sample.shown, sample.beside) for sample in group.samples] == [("invalid", "data lost: odd")]
