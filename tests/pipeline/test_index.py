"""The tables over all runs are whole and right again, whatever happened to who wrote them."""

from __future__ import annotations

import errno
import inspect
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from history import FormatError, RunFiles
from history.metrics import change_points, regressions, survival
from history.metrics.regressions import Baseline
from history.recording import Recording
from history.tables import schemas
from history.tables.warehouse import NEWEST, read_runs, read_trends
from pipeline import append_run, local_tables, read_all, refresh, trend_table
from pipeline.warehouse import index, trends, versions
from pipeline.warehouse.landing import Landing, known_runs, run_name
from pipeline.warehouse.versions import FAN_IN


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


def land(warehouse: Path, run: RunFiles) -> None:
    landing = Landing(warehouse)
    assert landing.add(Recording(run.root), run_name(run))
    landing.publish()


def test_a_process_that_was_killed_before_the_index_is_made_good_by_the_next(three, tmp_path) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, three[0])
    land(warehouse, three[1])
    assert names(warehouse) == ["t/20260101"]
    assert append_run(warehouse, three[2])
    assert names(warehouse) == ["t/20260101", "t/20260102", "t/20260103"]
    assert read_trends(warehouse)["runs"].to_pylist() == [3]


@pytest.mark.parametrize("spoil", ["cut", "gone"])
def test_trends_that_cannot_be_read_are_made_anew(three, tmp_path, spoil: str) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, three[0])
    before, file = read_trends(warehouse), warehouse / "tables" / "trends.parquet"
    if spoil == "cut":
        file.write_bytes(b"PAR1")
    else:
        file.unlink()
    assert not append_run(warehouse, three[0])
    assert read_trends(warehouse).equals(before)


def test_the_newest_attempt_counts_whichever_comes_first_and_whatever_the_clocks_say(three, tmp_path) -> None:
    warehouse = tmp_path / "warehouse"
    late, early = Landing(warehouse, lambda: 7000), Landing(warehouse, lambda: 5000)
    name = run_name(three[0])
    assert late.add(three[0], name)
    three[0].results.write_text('{"verdict": "unknown"}')
    assert early.add(three[0], name)
    late.publish()
    refresh(warehouse)
    early.publish()
    refresh(warehouse)
    first = read_runs(warehouse)
    assert first["written"].to_pylist() == [7]
    slow = Landing(warehouse, lambda: 1000)
    assert slow.add(three[0], name)
    slow.publish()
    refresh(warehouse)
    assert read_runs(warehouse).select(["verdict", "written"]).to_pylist() == [{"verdict": "unknown", "written": 8}]
    assert read_all(warehouse, "operations").num_rows == first["operations"][0].as_py()


def test_a_landing_that_the_disk_has_damaged_stops_no_other(three, tmp_path, caplog) -> None:
    warehouse = tmp_path / "warehouse"
    land(warehouse, three[0])
    (file,) = (warehouse / "landing").glob("*/runs/*/*.parquet")
    file.write_bytes(b"PAR1")
    assert append_run(warehouse, three[1])
    assert names(warehouse) == ["t/20260102"]
    assert f"{file}: byte 0: expected Parquet" in caplog.text
    assert file.exists()


def test_a_landing_of_which_a_page_is_damaged_stops_no_other(three, tmp_path, caplog) -> None:
    """Its end can be read, where the number of rows is; Arrow then says that the disk has an error."""
    warehouse = tmp_path / "warehouse"
    land(warehouse, three[0])
    (file,) = (warehouse / "landing").glob("*/runs/*/*.parquet")
    chunk = pq.read_metadata(file).row_group(0).column(0)
    content = bytearray(file.read_bytes())
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    content[begin : begin + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    file.write_bytes(content)
    assert append_run(warehouse, three[1])
    assert names(warehouse) == ["t/20260102"]
    assert f"{file}: byte 0: expected Parquet" in caplog.text


@pytest.mark.slow
def test_few_files_however_many_runs(three, tmp_path) -> None:
    warehouse = tmp_path / "warehouse"
    for number in range(40):
        landing = Landing(warehouse)
        landing.add(three[number % 3], f"t/202601{number:02}")
        landing.publish()
        refresh(warehouse)
    assert len(names(warehouse)) == 40
    files = list((warehouse / "tables").glob("faults/month=*/*.parquet"))
    assert len(files) < 3 * FAN_IN
    assert len(set(read_all(warehouse, "operations")["run"].to_pylist())) == 40


def test_a_version_that_others_read_stays_and_an_old_one_goes(three, tmp_path, monkeypatch) -> None:
    warehouse = tmp_path / "warehouse"
    for run in three[:2]:
        append_run(warehouse, run)
    there = sorted((warehouse / "versions").iterdir())
    assert len(there) == 2
    assert list(there[0].glob("runs/month=*/*.parquet"))
    monkeypatch.setattr(versions, "_KEEP_S", -1)
    refresh(warehouse)
    assert sorted((warehouse / "versions").iterdir()) == there[1:]


def test_the_link_is_right_though_a_faster_writer_points_it_meanwhile(three, tmp_path, monkeypatch) -> None:
    warehouse = tmp_path / "warehouse"
    whole = Path.symlink_to

    def late(path: Path, target: str) -> None:
        """Another writer adds a run and points the link, before this one does."""
        monkeypatch.setattr(Path, "symlink_to", whole)
        append_run(warehouse, three[1])
        whole(path, target)

    monkeypatch.setattr(Path, "symlink_to", late)
    append_run(warehouse, three[0])
    assert (warehouse / "tables").readlink() == Path("versions/00000002")


def test_a_link_that_a_killed_writer_left_goes_and_that_of_another_writer_stays(three, tmp_path) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, three[0])
    old, fresh = (warehouse / f".{NEWEST}.{name}" for name in ("0ld", "f5e5"))
    marks = [warehouse / f".seen-{name}" for name in ("0ld", "f5e5")]
    for link, mark in zip((old, fresh), marks, strict=True):
        link.symlink_to("versions/00000001")
        mark.touch()
    for path in (old, marks[0]):
        os.utime(path, (1, 1), follow_symlinks=False)
    append_run(warehouse, three[1])
    assert (old.is_symlink(), fresh.is_symlink()) == (False, True)
    assert [mark.exists() for mark in marks] == [False, True]


def test_columns_of_a_later_release_are_not_lost(three, tmp_path) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, three[0])
    for file in (warehouse / "tables" / "faults").glob("*/*.parquet"):
        table = pq.ParquetFile(file).read()
        pq.write_table(table.append_column("colour", pa.repeat("red", table.num_rows)), file)
    for number in range(FAN_IN - 1):
        landing = Landing(warehouse)
        landing.add(three[1], f"t/2026010{number + 2}")
        landing.publish()
        refresh(warehouse)
    (file,) = (warehouse / "tables" / "faults").glob("*/*.parquet")
    rows = pq.ParquetFile(file).read(columns=["run", "colour"]).to_pylist()
    assert {row["colour"] for row in rows if row["run"] == "t/20260101"} == {"red"}
    assert {row["colour"] for row in rows if row["run"] != "t/20260101"} == {None}


@pytest.mark.slow
def test_files_of_a_later_release_are_kept_as_they_are_and_named(three, tmp_path, caplog) -> None:
    """A table that is new, one with a column of another type, one without a column that may not be null."""
    warehouse = tmp_path / "warehouse"

    def later(table: pa.Table, name: str) -> pa.Table:
        return table.replace_schema_metadata({"harness.table": name, "harness.version": "99"})

    def added(*names: str) -> dict[str, pa.Table]:
        """Add a run under some names as a later release would; returns what is then in its files."""
        landing = Landing(warehouse)
        for name in names:
            assert landing.add(three[0], name)
        landing.publish()
        (root,) = (warehouse / "landing").iterdir()
        windows, probes = (next(root.glob(f"{table}/*/*.parquet")) for table in ("windows", "probes"))
        rows, few = pq.ParquetFile(windows).read(), pq.ParquetFile(probes).read().drop_columns(["role"])
        texts = rows.set_column(1, "second", rows["second"].cast(pa.string()))
        new = root / "colours" / windows.parent.name / windows.name
        new.parent.mkdir(parents=True)
        found = {"windows": later(texts, "windows"), "probes": later(few, "probes"), "colours": later(rows, "colours")}
        for path, table in zip((windows, probes, new), found.values(), strict=True):
            pq.write_table(table, path)
        refresh(warehouse)
        return found

    names = [(f"t/202601{number + 1:02}",) for number in range(FAN_IN + 2)]
    expected = [added("t/20260120", "t/20260121"), *(added(*each) for each in names)]
    wrong = r"second of windows is string, .* version 99, of a later release: update the"
    for table in ("windows", "probes", "colours"):
        assert (
            f"files of {table} of 2026-01 are of a later release, which knows version 99 of that table" in caplog.text
        )
        there = [pq.ParquetFile(path).read() for path in (warehouse / "tables" / table).glob("*/*.parquet")]
        assert len(there) == len(expected)
        for one in expected:
            assert [found for found in there if found.equals(one[table], check_metadata=True)]
    assert len(list((warehouse / "tables" / "faults").glob("*/*.parquet"))) < FAN_IN
    with pytest.raises(FormatError, match=wrong):
        read_all(warehouse, "windows")
    three[0].results.write_text('{"verdict": "unknown"}')
    again = added("t/20260120")
    there = [pq.ParquetFile(path).read() for path in (warehouse / "tables" / "colours").glob("*/*.parquet")]
    assert sum(table.num_rows for table in there) == sum(one["colours"].num_rows for one in expected)
    assert [found for found in there if found.equals(again["colours"], check_metadata=True)]


@pytest.mark.parametrize("name", ["runs", "operations"])
def test_a_column_of_another_type_is_refused_by_name(three, tmp_path, name: str) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, three[0])
    (file,) = (warehouse / "tables" / name).glob("*/*.parquet")
    table = pq.ParquetFile(file).read()
    place = table.column_names.index("ok" if name == "runs" else "process")
    column = table.column_names[place]
    texts = table[column].cast(pa.string())
    pq.write_table(table.set_column(place, column, texts).replace_schema_metadata(table.schema.metadata), file)
    with pytest.raises(FormatError, match=f"the column {column} of {name} is string, but this release needs int64"):
        read_all(warehouse, name)


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


@pytest.mark.parametrize("changed", [trends, regressions, change_points, survival, schemas])
def test_trends_are_made_anew_when_their_rule_has_changed(three, tmp_path, monkeypatch, changed: Any) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, three[0])
    file = warehouse / "tables" / "trends.parquet"
    table = pq.ParquetFile(file).read()
    pq.write_table(table.set_column(3, table.field("runs"), pa.array([7], pa.int64())), file)
    refresh(warehouse)
    assert read_trends(warehouse)["runs"].to_pylist() == [7]
    source = inspect.getsource
    monkeypatch.setattr(inspect, "getsource", lambda module: source(module) + "#" * (module is changed))
    index._rule.cache_clear()
    refresh(warehouse)
    index._rule.cache_clear()
    assert read_trends(warehouse)["runs"].to_pylist() == [1]


def test_trends_of_a_later_release_stay_until_a_run_is_added(three, tmp_path) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, three[0])
    file = warehouse / "tables" / "trends.parquet"
    table = pq.ParquetFile(file).read()
    theirs = {**table.schema.metadata, b"harness.version": b"99", b"harness.made-from": b"their rule"}
    pq.write_table(table.replace_schema_metadata(theirs), file)
    before = file.read_bytes()
    refresh(warehouse)
    assert file.read_bytes() == before
    append_run(warehouse, three[1])
    assert read_trends(warehouse)["runs"].to_pylist() == [2]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("[[baseline", "not TOML"), ('[[baseline]]\nrun = "a"', "expected tables"), ("x = 1", "expected tables"),
     ('[[baseline]]\nrun = "a"\nreason = "b"\nfigures = "c"', "expected tables"), ("baseline = 1", "expected tables"),
     ('[[baseline]]\nrun = "a"\nreason = ""', r"baseline\[0\].reason must be a string that is not empty, not ''"),
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
    (file,) = (warehouse / "tables" / "runs").glob("*/*.parquet")
    shutil.copy(warehouse / "tables" / "trends.parquet", file)
    with pytest.raises(FormatError, match="expected the table runs, found trends"):
        read_runs(warehouse)


def test_a_warehouse_on_a_read_only_disk_is_left_alone_if_nothing_is_new(three, tmp_path, monkeypatch) -> None:
    append_run(tmp_path / "warehouse", three[0])

    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for name in ("unlink", "rename", "replace", "symlink_to", "hardlink_to"):
        monkeypatch.setattr(Path, name, refused)
    assert not append_run(tmp_path / "warehouse", three[0])


def test_nothing_was_ever_brought(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        read_runs(tmp_path)


def test_a_landing_is_read_once_and_removed_when_a_version_holds_its_runs(three, tmp_path, monkeypatch) -> None:
    read: list[str] = []

    def counted(root):
        read.append(root.parent.name)
        return known_runs(root)

    monkeypatch.setattr(versions, "known_runs", counted)
    for run in three:
        land(tmp_path / "warehouse", run)
    refresh(tmp_path / "warehouse")
    assert read.count("landing") == 6  # Once to build a version of them, once to see that it holds them.
    assert not list((tmp_path / "warehouse" / "landing").iterdir())


KILLED = """
import os, pathlib, signal, sys
from history import RunFiles
from pipeline import append_run
from pipeline.warehouse import landing, versions
place, table = sys.argv[3:]
module = {"landing": landing, "versions": versions}[place]
whole = module.month_in
def half(root, name, month):
    if name == table:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(root, name, month)
module.month_in = half
append_run(pathlib.Path(sys.argv[1]), RunFiles(pathlib.Path(sys.argv[2])))
"""


@pytest.mark.parametrize("place", ["landing", pytest.param("versions", marks=pytest.mark.slow)])
def test_a_killed_writer_leaves_no_half_run_and_no_lock(three, tmp_path, place: str) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, three[1])
    words = [str(warehouse), str(three[0].root), place, "probes"]
    done = subprocess.run([sys.executable, "-c", KILLED, *words], check=False)
    assert done.returncode == -signal.SIGKILL
    assert names(warehouse) == ["t/20260102"]
    refresh(warehouse)
    assert names(warehouse) == ["t/20260101", "t/20260102"][place == "landing" :]
    assert append_run(warehouse, three[0]) == (place == "landing")
    assert set(read_all(warehouse, "verdicts")["run"].to_pylist()) == {"t/20260101", "t/20260102"}


WRITER = """
import pathlib, sys
from history import RunFiles
from pipeline import append_run
for root in sys.argv[2:]:
    append_run(pathlib.Path(sys.argv[1]), RunFiles(pathlib.Path(root)))
"""


@pytest.mark.slow  # the same by threads: test_warehouse.py
def test_processes_that_write_at_the_same_time(three, tmp_path) -> None:
    warehouse = tmp_path / "warehouse"
    roots = [str(run.root) for run in three]
    orders = [roots, roots[::-1], roots[1:] + roots[:1]]
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(warehouse), *order]) for order in orders]
    assert [writer.wait(300) for writer in writers] == [0, 0, 0]
    assert names(warehouse) == ["t/20260101", "t/20260102", "t/20260103"]
    assert not [path for path in warehouse.rglob("*") if ".tmp" in path.name]
