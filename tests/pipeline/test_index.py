"""One file of all runs, which is right again whatever happened to it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from history import FormatError, RunFiles
from history.metrics.regressions import Baseline
from history.tables.warehouse import read_runs, read_trends
from pipeline import append_run, local_tables, refresh, trend_table
from pipeline.warehouse import index
from pipeline.warehouse.tables import add_tables, runs_written


@pytest.fixture
def three(make_random, tmp_path) -> list[RunFiles]:
    runs = []
    for seed in (1, 2, 3):
        made = make_random(seed)
        root = tmp_path / "store" / "t" / f"2026010{seed}"
        root.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made.root, root)
        runs.append(RunFiles(root))
        local_tables(runs[-1], model="register", deadline_s=10)
    return runs


def names(warehouse: Path) -> list[str]:
    return read_runs(warehouse)["run"].to_pylist()


def test_a_process_that_was_killed_before_the_index_is_made_good_by_the_next(three, tmp_path) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, three[0])
    add_tables(warehouse, three[1])
    assert names(warehouse) == ["t/20260101"]
    assert append_run(warehouse, three[2])
    assert names(warehouse) == sorted(runs_written(warehouse)) == ["t/20260101", "t/20260102", "t/20260103"]
    assert read_trends(warehouse)["runs"].to_pylist() == [3]


def test_a_run_that_was_taken_out(three, tmp_path) -> None:
    warehouse = tmp_path / "warehouse"
    for run in three:
        append_run(warehouse, run)
    shutil.rmtree(warehouse / "run=t%2F20260102")
    refresh(warehouse)
    assert names(warehouse) == ["t/20260101", "t/20260103"]


@pytest.mark.parametrize("spoil", ["cut", "gone", "version", "trends"])
def test_an_index_that_cannot_be_read_is_made_anew(three, tmp_path, spoil: str) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, three[0])
    before, file = read_runs(warehouse), warehouse / "runs.parquet"
    if spoil == "cut":
        file.write_bytes(file.read_bytes()[:99])
    elif spoil == "gone":
        file.unlink()
    elif spoil == "trends":
        (warehouse / "trends.parquet").write_bytes(b"")
    else:
        stamps = {**before.schema.metadata, b"harness.version": b"1"}
        pq.write_table(before.replace_schema_metadata(stamps), file)
        with pytest.raises(FormatError, match="version 1 of runs is not one that this release reads; `harness ingest`"):
            read_runs(warehouse)
    assert not append_run(warehouse, three[0])
    assert read_runs(warehouse).equals(before)
    assert read_trends(warehouse).num_rows == 1


def of_version_3(rows: pa.Table) -> pa.Table:
    """The rows as the third version had them: times as JSON text, and no reasons."""
    lists = ["recovery_times_ms", "censored_times_ms"]
    reasons = ["started_at", "sentence", "expected", "as_expected", "kinds", "failed_gates", "warnings"]
    old = rows.drop_columns([*lists, *reasons, "harness_failure", "machine"])
    old = old.append_column("recoveries_ms", [["[400.0, 500.5]"] * len(rows)])
    return old.replace_schema_metadata({**rows.schema.metadata, b"harness.version": b"3"})


def test_rows_of_the_version_before_are_read(three, tmp_path) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, three[0])
    row = warehouse / "run=t%2F20260101" / "runs.parquet" / "part-00000.parquet"
    for file in (row, warehouse / "runs.parquet"):
        pq.write_table(of_version_3(pq.ParquetFile(file).read()), file)
    written = row.parents[1].stat().st_mtime_ns
    shutil.rmtree(three[0].root)
    append_run(warehouse, three[1])
    assert names(warehouse) == ["t/20260101", "t/20260102"]
    rows = read_runs(warehouse)
    assert rows["recovery_times_ms"].to_pylist()[0] == [400.0, 500.5]
    for name in ("censored_times_ms", "started_at", "sentence", "kinds"):
        assert rows[name].to_pylist()[0] is None
    assert row.parents[1].stat().st_mtime_ns == written


def test_baselines_are_used_from_the_next_refresh_on(three, tmp_path, monkeypatch) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, three[0])
    seen: list[list[Baseline]] = []

    def recorded(runs: pa.Table, baselines: list[Baseline]) -> pa.Table:
        seen.append(baselines)
        return trend_table(runs, baselines)

    monkeypatch.setattr(index, "trend_table", recorded)
    file = warehouse / "baselines.toml"
    file.write_text('[[baseline]]\nrun = "t/20260101"\nfigure = "rate"\nreason = "safer and slower"\n')
    refresh(warehouse)
    refresh(warehouse)
    file.unlink()
    refresh(warehouse)
    assert seen == [[Baseline("t/20260101", "rate")], []]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("[[baseline", "not TOML"), ('[[baseline]]\nrun = "a"', "expected tables"), ("x = 1", "expected tables"),
     ('[[baseline]]\nrun = "a"\nreason = "b"\nfigures = "c"', "expected tables"), ("baseline = 1", "expected tables"),
     ('[[baseline]]\nrun = "a"\nreason = "b"\nfigure = "rates"', "no figure 'rates'")],
)  # fmt: skip
def test_a_file_of_baselines_that_says_something_else_is_named(three, tmp_path, text: str, wrong: str) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, three[0])
    (warehouse / "baselines.toml").write_text(text)
    with pytest.raises(FormatError, match=rf"baselines\.toml.*{wrong}"):
        refresh(warehouse)


def test_another_table_in_its_place(three, tmp_path) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, three[0])
    shutil.copy(warehouse / "trends.parquet", warehouse / "runs.parquet")
    with pytest.raises(FormatError, match="expected the table runs, found trends"):
        read_runs(warehouse)


def test_nothing_was_ever_brought(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        read_runs(tmp_path)


KILLED = """
import os, pathlib, signal, sys
from history import RunFiles
from pipeline import append_run
from pipeline.warehouse import tables as warehouse
copy = warehouse._copy
def half(source, fresh, name, **options):
    if name == "faults":
        os.kill(os.getpid(), signal.SIGKILL)
    copy(source, fresh, name, **options)
warehouse._copy = half
append_run(pathlib.Path(sys.argv[1]), RunFiles(pathlib.Path(sys.argv[2])))
"""


def test_a_killed_writer_leaves_no_half_run_and_no_lock(three, tmp_path) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, three[1])
    done = subprocess.run([sys.executable, "-c", KILLED, str(warehouse), str(three[0].root)], check=False)
    assert done.returncode == -signal.SIGKILL
    refresh(warehouse)
    assert names(warehouse) == sorted(runs_written(warehouse)) == ["t/20260102"]
    assert append_run(warehouse, three[0])
    assert sorted(path.name for path in warehouse.glob("run=*")) == ["run=t%2F20260101", "run=t%2F20260102"]


WRITER = """
import pathlib, sys
from history import RunFiles
from pipeline import append_run
for root in sys.argv[2:]:
    append_run(pathlib.Path(sys.argv[1]), RunFiles(pathlib.Path(root)))
"""


def test_processes_that_write_at_the_same_time(three, tmp_path) -> None:
    warehouse = tmp_path / "warehouse"
    roots = [str(run.root) for run in three]
    orders = [roots, roots[::-1], roots[1:] + roots[:1]]
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(warehouse), *order]) for order in orders]
    assert [writer.wait(300) for writer in writers] == [0, 0, 0]
    assert names(warehouse) == ["t/20260101", "t/20260102", "t/20260103"]
    assert not [path for path in warehouse.iterdir() if ".tmp-" in path.name or ".old-" in path.name]
