"""The tables of all runs: the same run twice changes nothing, a bad run harms no other."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from history import RunFiles
from history.tables import RUNS
from history.warehouse import read_runs
from pipeline import TableError, append_run, ingest, local_tables, read_all
from pipeline.warehouse import runs_in


@pytest.fixture
def judged(make_random, tmp_path):
    """Runs with tables, as a store has them."""

    def make(seed: int) -> RunFiles:
        made = make_random(seed)
        root = tmp_path / "store" / "register-kill-0.4.0" / f"2026010{seed}T000000.000Z-{seed}"
        root.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made.root, root)
        run = RunFiles(root)
        run.plan.write_text(json.dumps({"version": "0.4.0", "nemesis": ["kill"], "workload": "register"}))
        local_tables(run, model="register", deadline_s=10)
        return run

    return make


def files(directory: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(directory)): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in directory.rglob("*.parquet")
    }


def test_the_same_run_twice_changes_nothing(judged, tmp_path) -> None:
    run, warehouse = judged(1), tmp_path / "warehouse"
    assert append_run(warehouse, run)
    before = files(warehouse)
    assert not append_run(warehouse, run)
    assert files(warehouse) == before


def test_a_run_judged_anew_replaces_itself(judged, tmp_path) -> None:
    run, warehouse = judged(1), tmp_path / "warehouse"
    append_run(warehouse, run)
    run.results.write_text(json.dumps({"verdict": "unknown"}))
    assert append_run(warehouse, run)
    assert read_runs(warehouse)["verdict"].to_pylist() == ["unknown"]
    assert len(list(warehouse.glob("run=*"))) == 1


def test_rows_and_tables_of_all_runs(judged, tmp_path) -> None:
    runs, warehouse = [judged(seed) for seed in (1, 2, 3)], tmp_path / "warehouse"
    for run in runs:
        append_run(warehouse, run)
    rows = read_runs(warehouse)
    assert rows.schema.equals(RUNS, check_metadata=False)
    assert rows["run"].to_pylist() == list(runs_in(warehouse))
    assert set(rows["nemesis"].to_pylist()) == {"kill"}
    operations = read_all(warehouse, "operations")
    assert operations.num_rows == sum(rows["operations"].to_pylist())
    assert set(operations["run"].to_pylist()) == set(rows["run"].to_pylist())


def test_writers_at_the_same_time(judged, tmp_path) -> None:
    run, warehouse = judged(1), tmp_path / "warehouse"
    failures: list[OSError] = []

    def work() -> None:
        try:
            for _ in range(5):
                append_run(warehouse, run)
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert not append_run(warehouse, run)
    assert sorted(path.name for path in warehouse.iterdir()) == [
        ".lock", "run=register-kill-0.4.0%2F20260101T000000.000Z-1", "runs.parquet", "trends.parquet",
    ]  # fmt: skip
    assert read_runs(warehouse).num_rows == 1


def test_tables_of_another_version_are_refused(judged, tmp_path) -> None:
    run = judged(1)
    part = run.table("faults") / "part-00000.parquet"
    table = pq.read_table(part)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"harness.version": b"0"}), part)
    with pytest.raises(TableError, match="version 0 of faults"):
        append_run(tmp_path / "warehouse", run)
    assert not list((tmp_path / "warehouse").glob("run=*"))


def bad_runs(judged) -> tuple[list[RunFiles], list[str]]:
    runs = [judged(seed) for seed in range(1, 8)]
    for run in runs[1:]:
        shutil.rmtree(run.tables)
    runs[2].history.write_text('{"format":"jepsen"}\n')
    runs[3].history.write_text('{"format":"harness-history","version":9}\n')
    shutil.rmtree(runs[4].root)
    runs[5].history.write_bytes(b"")
    expected = ["added", "added", "FormatError: ", "FormatError: ", "FileNotFoundError: ", "FormatError: ", "added"]
    return runs, expected


def check_outcomes(outcomes, runs: list[RunFiles], expected: list[str]) -> None:
    assert [outcome.run.rpartition("/")[2] for outcome in outcomes] == [run.root.name for run in runs]
    assert [
        (outcome.error or outcome.state)[: len(text)] for outcome, text in zip(outcomes, expected, strict=True)
    ] == expected


def test_a_bad_run_is_named_and_all_others_are_done(judged, tmp_path) -> None:
    runs, expected = bad_runs(judged)
    warehouse = tmp_path / "warehouse"
    outcomes = ingest(runs, warehouse, deadline_s=10)
    check_outcomes(outcomes, runs, expected)
    assert "line 1: version 9 is not one that this release reads" in outcomes[3].error
    assert len(list(runs_in(warehouse))) == 3
    again = ingest(runs, warehouse, deadline_s=10)
    assert [outcome.state for outcome in again if outcome.state != "failed"] == ["unchanged"] * 3


@pytest.mark.spark
def test_the_same_on_spark(spark, judged, tmp_path) -> None:
    runs, expected = bad_runs(judged)
    warehouse = tmp_path / "warehouse"
    check_outcomes(ingest(runs, warehouse, deadline_s=10, spark=spark), runs, expected)
    there = read_runs(warehouse).drop("written")
    shutil.rmtree(warehouse)
    ingest(runs, warehouse, deadline_s=10)
    assert there.equals(read_runs(warehouse).drop("written"))
    assert ingest([], warehouse, deadline_s=10, spark=spark) == []


@pytest.mark.spark
def test_spark_reads_the_warehouse_as_one_partitioned_table(spark, judged, tmp_path) -> None:
    warehouse = tmp_path / "warehouse"
    for seed in (1, 2):
        append_run(warehouse, judged(seed))
    frame = spark.read.option("basePath", str(warehouse)).parquet(f"{warehouse}/run=*/operations.parquet")
    assert frame.count() == read_all(warehouse, "operations").num_rows
    assert {row.run for row in frame.select("run").distinct().collect()} == set(runs_in(warehouse))
