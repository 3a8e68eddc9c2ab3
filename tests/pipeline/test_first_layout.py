"""A warehouse of the first release (0.1.0), as it wrote it: every later release reads all of it."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from history.tables.schemas import TABLES
from history.tables.warehouse import read_runs, read_trends
from pipeline import append_run, local_tables, read_all, refresh
from pipeline.warehouse.landing import run_name

FIXTURE = Path(__file__).parent / "data" / "warehouse-0.1.0.tar.gz"
RUNS = [
    f"register-kill-0.4.0/{name}"
    for name in ("20260105T010000.000Z-1", "20260106T010000.000Z-2", "20260207T010000.000Z-3")
]

#: The tables of which a run of that release says, in some way, how much they hold.
HELD = ("operations", "verdicts", "windows", "faults", "runs")


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    with tarfile.open(FIXTURE) as archive:
        archive.extraction_filter = lambda member, _: member  # releases since 3.12 warn without
        archive.extractall(tmp_path)
    return tmp_path / "warehouse"


def place_of(warehouse: Path, run: str) -> Path:
    return warehouse / f"run={run.replace('/', '%2F')}"


def written(warehouse: Path, table: str) -> dict[str, pa.Table]:
    """The rows of each run as they are in the files, whatever this release thinks of them."""
    return {
        run: pa.concat_tables(pq.ParquetFile(part).read() for part in place.glob(f"{table}.parquet/*.parquet"))
        for run in RUNS
        if (place := place_of(warehouse, run)).is_dir()
    }


def check_equal(now: pa.Table, then: pa.Table) -> None:
    """Equal in all columns that are still there as they were."""
    same = [name for name in then.column_names if name in now.column_names]
    assert now.num_rows == then.num_rows
    assert len(same) > then.num_columns - 4
    for name in same:
        assert now[name].to_pylist() == then[name].to_pylist(), name


def test_it_is_read_before_anything_is_written(warehouse: Path) -> None:
    before = written(warehouse, "runs")
    check_equal(read_runs(warehouse), pa.concat_tables(before.values()))
    assert read_trends(warehouse)["runs"].to_pylist() == [3]


def test_it_is_brought_over_whole(warehouse: Path) -> None:
    before = {table: written(warehouse, table) for table in (*TABLES, "runs")}
    refresh(warehouse)
    assert sorted(path.name for path in warehouse.iterdir()) == ["landing", "tables", "versions"]
    for table, rows in before.items():
        now = read_all(warehouse, table)
        assert sorted(set(now["run"].to_pylist())) == [run for run in RUNS if rows[run].num_rows]
        for run in RUNS:
            check_equal(now.filter(pc.equal(now["run"], run)), rows[run])
    assert [path.name for path in sorted((warehouse / "tables" / "runs").iterdir())] == [
        "month=2026-01",
        "month=2026-02",
    ]
    assert read_trends(warehouse)["runs"].to_pylist() == [3]
    refresh(warehouse)
    assert len(list((warehouse / "versions").iterdir())) == 1


def cut(place: Path, table: str, rows: int) -> None:
    """Leave out the first rows of a table."""
    part = place / f"{table}.parquet" / "part-00000.parquet"
    pq.write_table(pq.ParquetFile(part).read().slice(rows), part)


@pytest.mark.parametrize("lost", ["a table", "some rows", *(f"all {name}" for name in HELD)])
def test_what_is_half_there_stays_and_is_named(warehouse: Path, lost: str, caplog: pytest.LogCaptureFixture) -> None:
    half = place_of(warehouse, RUNS[1])
    if lost == "a table":
        shutil.rmtree(half / "faults.parquet")
    elif lost == "some rows":
        cut(half, "operations", 2)
    elif lost == "all faults":  # No run of the fixture has an installed one.
        part = half / "runs.parquet" / "part-00000.parquet"
        rows = pq.ParquetFile(part).read()
        place = rows.column_names.index("faults")
        pq.write_table(rows.set_column(place, rows.field(place), pa.array([2], pa.int64())), part)
    else:
        cut(half, lost.removeprefix("all "), 1 << 30)
    refresh(warehouse)
    assert read_runs(warehouse)["run"].to_pylist() == [RUNS[0], RUNS[2]]
    assert f"{half} is not whole, `harness ingest` of the run brings it again" in caplog.text
    assert half.is_dir()
    assert not place_of(warehouse, RUNS[0]).exists()


def test_a_row_without_a_directory_is_kept_and_named(warehouse: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = read_runs(warehouse)
    shutil.rmtree(place_of(warehouse, RUNS[1]))
    refresh(warehouse)
    assert read_runs(warehouse).drop("written") == before.drop("written")
    assert f"of {RUNS[1]} only its row is left in {warehouse / 'runs.parquet'}" in caplog.text
    assert set(read_all(warehouse, "operations")["run"].to_pylist()) == {RUNS[0], RUNS[2]}
    assert sorted(path.name for path in warehouse.iterdir()) == ["landing", "tables", "versions"]
    assert read_trends(warehouse)["runs"].to_pylist() == [3]


def test_an_index_that_cannot_be_read_stays_and_stops_nothing(
    warehouse: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (warehouse / "runs.parquet").write_bytes(b"PAR1")
    refresh(warehouse)
    assert read_runs(warehouse)["run"].to_pylist() == RUNS
    assert f"{warehouse / 'runs.parquet'} cannot be read and stays" in caplog.text
    assert (warehouse / "runs.parquet").exists()


def test_operations_of_a_later_release_stand_beside_those_of_the_first(warehouse: Path, recorder) -> None:
    recorder.at(5).event("invoke", 0, "read", due=2_000_000).at(6).event("ok", 0, "read")
    run = recorder.close()
    local_tables(run, model="register", deadline_s=10)
    append_run(warehouse, run)
    found = read_all(warehouse, "operations")
    assert set(found["run"].to_pylist()) == {*RUNS, run_name(run)}
    assert [time for time in found["intended"].to_pylist() if time is not None] == [2_000_000]
    assert read_runs(warehouse)["response_p99_ms"].to_pylist() == [None, None, None, 4]
