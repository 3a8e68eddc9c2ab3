"""Never half a table, and no table of another kind."""

from __future__ import annotations

import errno
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

from history import FormatError
from history.tables.metadata import named
from history.tables.schemas import FAULTS, PROBES, TABLES
from pipeline import read_table
from pipeline.tables.storage import remove, replacing, write_part, write_tables, written_schema

EMPTY = {name: schema.empty_table() for name, schema in TABLES.items()}


def replaced(final: Path, name: str) -> None:
    """Empty tables, and a file of this name beside them."""
    with replacing(final) as (fresh, rows):
        (fresh / name).touch()
        rows.update(write_tables(fresh, EMPTY))


def found_in(final: Path) -> set[str]:
    return {path.name for path in final.iterdir() if path.suffix != ".parquet"}


def test_a_failure_leaves_what_was_there(tmp_path) -> None:
    final = tmp_path / "tables"
    replaced(final, "old")
    with pytest.raises(FileNotFoundError), replacing(final) as (fresh, _):
        (fresh / "no" / "such" / "directory").touch()
    assert list(tmp_path.iterdir()) == [final]
    assert found_in(final) == {"manifest.json", "old"}


def test_a_success_replaces_all_of_it(tmp_path) -> None:
    final = tmp_path / "tables"
    for name in ("old", "new"):
        replaced(final, name)
    assert list(tmp_path.iterdir()) == [final]
    assert found_in(final) == {"manifest.json", "new"}


@pytest.mark.parametrize("lost", ["a table", "a part", "rows"])
def test_tables_are_those_that_their_writer_wrote(tmp_path, lost: str) -> None:
    """Whatever can be read back: the disk, or a task, may have lost a whole file without a word."""

    def write() -> None:
        with replacing(tmp_path / "tables") as (fresh, rows):
            rows.update(write_tables(fresh, EMPTY))
            fault = {"id": 1, "fault": "kill", "state": "installed", "started": 0}
            for part in (1, 2):
                rows["faults"] += write_part(fresh, "faults", [pa.Table.from_pylist([fault], FAULTS)], part)
            if lost == "a table":
                shutil.rmtree(fresh / "probes.parquet")
            elif lost == "a part":
                (fresh / "faults.parquet" / "part-00002.parquet").unlink()
            else:
                write_part(fresh, "faults", [EMPTY["faults"]], 2)

    with pytest.raises(FileNotFoundError if lost == "a table" else FormatError, match=r"no table here|'faults': 1"):
        write()
    assert not list(tmp_path.iterdir())


KILLED = """
import os, pathlib, signal, sys
from pipeline.tables.storage import replacing
with replacing(pathlib.Path(sys.argv[1]) / "tables") as (fresh, _):
    (fresh / "half").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_job_left_is_removed_after_a_day(tmp_path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "tables").exists()
    (left,) = tmp_path.iterdir()
    replaced(tmp_path / "tables", "new")
    assert left.exists()
    for path in (left / "half", left):
        os.utime(path, (1, 1))
    replaced(tmp_path / "tables", "newer")
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]


@pytest.mark.parametrize("more", [["probes"], []])
def test_a_writer_that_was_taken_for_dead_fails_and_publishes_nothing(tmp_path, more: list[str]) -> None:
    """Paused for longer than a day, on whichever host."""

    def write() -> None:
        with replacing(tmp_path / "tables") as (fresh, rows):
            rows.update(write_tables(fresh, EMPTY))
            remove(fresh)
            for name in more:
                write_part(fresh, name, [EMPTY[name]])

    with pytest.raises(FileNotFoundError):
        write()
    assert not list(tmp_path.iterdir())


def test_what_is_not_whole_does_not_appear(tmp_path) -> None:
    def write() -> None:
        with replacing(tmp_path / "tables") as (fresh, rows):
            rows.update(write_tables(fresh, EMPTY))
            (fresh / "probes.parquet" / "part-00001.parquet").write_bytes(b"PAR1")

    with pytest.raises(FormatError, match="expected Parquet"):
        write()
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_reported_with_the_file(tmp_path) -> None:
    path = tmp_path / "probes.parquet"
    with pytest.raises(OSError, match=f"No space left on device: '{path}'"), named(path):
        raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device")


def test_several_parts_are_one_table(tmp_path) -> None:
    for part in range(3):
        write_part(tmp_path, "probes", [PROBES.empty_table()], part)
    assert read_table(tmp_path / "probes.parquet", "probes").num_rows == 0


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        (written_schema("faults"), "expected the table probes, found faults"),
        (PROBES, "found no table"),
        (
            written_schema("probes").set(0, pa.field("time", pa.string())),
            "the column time of probes is string, but this release needs int64",
        ),
    ],
)
def test_other_tables_are_refused_by_name(tmp_path, schema: pa.Schema, complaint: str) -> None:
    (tmp_path / "probes.parquet").mkdir()
    pq.write_table(schema.empty_table(), tmp_path / "probes.parquet" / "part-00000.parquet")
    with pytest.raises(FormatError, match=complaint):
        read_table(tmp_path / "probes.parquet", "probes")


def test_columns_of_other_releases(tmp_path) -> None:
    """One that is not there yet is null, one that is not there any more is left out, and the version is no matter."""
    schema = written_schema("probes").remove(0).append(pa.field("new", pa.int64()))
    (tmp_path / "probes.parquet").mkdir()
    rows: list[dict[str, Any]] = [
        {name: None if pa.types.is_string(schema.field(name).type) else 1 for name in schema.names}
    ]
    rows[0].update(node="n1", role="leader")
    other = schema.with_metadata({**schema.metadata, b"harness.version": b"99"})
    pq.write_table(pa.Table.from_pylist(rows, schema=other), tmp_path / "probes.parquet" / "part-00000.parquet")
    table = read_table(tmp_path / "probes.parquet", "probes")
    assert table.column_names == PROBES.names
    assert (table["time"][0].as_py(), table["term"][0].as_py()) == (None, 1)


def test_what_is_no_parquet_is_refused(tmp_path) -> None:
    (tmp_path / "probes.parquet").mkdir()
    (tmp_path / "probes.parquet" / "part-00000.parquet").write_bytes(b"PAR1")
    with pytest.raises(FormatError, match="byte 0: expected Parquet"):
        read_table(tmp_path / "probes.parquet", "probes")
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "faults.parquet", "faults")


def test_a_null_where_none_may_be_is_not_written(tmp_path) -> None:
    table = pa.Table.from_pylist([dict.fromkeys(PROBES.names)], schema=pa.schema([(f.name, f.type) for f in PROBES]))
    with pytest.raises(ValueError, match="null"):
        write_part(tmp_path, "probes", [table])


def test_every_table_is_written_with_its_name() -> None:
    assert all(written_schema(name).metadata[b"harness.table"] == name.encode() for name in TABLES)
