"""Never half a table, and no table of another kind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from history import FormatError
from history.tables.schemas import PROBES, TABLES
from pipeline import read_table
from pipeline.tables.storage import replacing, sweep_dead, write_part, written_schema


def test_a_failure_leaves_what_was_there(tmp_path) -> None:
    final = tmp_path / "tables"
    with replacing(final) as fresh:
        (fresh / "old").touch()
    with pytest.raises(FileNotFoundError), replacing(final) as fresh:
        (fresh / "no" / "such" / "directory").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["tables", "old"]


def test_a_success_replaces_all_of_it(tmp_path) -> None:
    final = tmp_path / "tables"
    for name in ("old", "new"):
        with replacing(final) as fresh:
            (fresh / name).touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["tables", "new"]


KILLED = """
import os, pathlib, signal, sys
from pipeline.tables.storage import replacing
with replacing(pathlib.Path(sys.argv[1]) / "tables") as fresh:
    (fresh / "half").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_job_left_is_removed_by_the_next(tmp_path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "tables").exists()
    assert len(list(tmp_path.iterdir())) == 1
    with replacing(tmp_path / "tables"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]


def test_what_a_living_process_works_on_stays(tmp_path) -> None:
    mine = tmp_path / f"tables.tmp-{os.getpid()}-cafe"
    other = tmp_path / "tables.tmp-no-pid-at-all"
    mine.mkdir()
    other.mkdir()
    sweep_dead(tmp_path, "tables.tmp")
    assert mine.exists()
    assert other.exists()


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
            PROBES.with_metadata({**written_schema("probes").metadata, b"harness.version": b"99"}),
            "version 99 of probes",
        ),
        (written_schema("probes").remove(0), "the columns are not those of probes"),
    ],
)
def test_other_tables_are_refused_by_name(tmp_path, schema: pa.Schema, complaint: str) -> None:
    (tmp_path / "probes.parquet").mkdir()
    pq.write_table(schema.empty_table(), tmp_path / "probes.parquet" / "part-00000.parquet")
    with pytest.raises(FormatError, match=complaint):
        read_table(tmp_path / "probes.parquet", "probes")


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
