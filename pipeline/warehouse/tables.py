"""The tables of all runs: ``store/warehouse/run=<run>/<table>.parquet``.

A run's directory appears there at once with everything in it, or not at all, so a job that is killed leaves nothing
behind and writers need no lock: the last one wins, with the same content.  The directories are named as Spark and
Arrow expect of a partitioned table; ``runs.parquet`` in each holds the run's own row.  ``pipeline.warehouse.index``
puts all rows into one file.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq

from history import FormatError, RunFiles
from history.tables.schemas import RUNS, RUNS_VERSION, TABLES, TABLES_VERSION
from history.tables.warehouse import read_rows, written_schema
from pipeline.tables.conclusions import conclusion_tables
from pipeline.tables.load_figures import batches_of, load_figures
from pipeline.tables.run_row import last_moment, run_row
from pipeline.tables.storage import exact, is_dead, read_table, replacing, versions_of, write_part, write_tables

_PREFIX: Final = "run="
_ROW: Final = "runs.parquet"
_MARK: Final = re.compile(r"\.(tmp|old)-(?P<pid>\d+)-[0-9a-f]{8}(-\d+)?$")


def run_name(run: RunFiles) -> str:
    """``<test name>/<UTC start>-<seed>``, which identifies a run in its store."""
    root = run.root.resolve()
    return f"{root.parent.name}/{root.name}"


def add_tables(
    warehouse: Path,
    run: RunFiles,
    name: str | None = None,
    now: Callable[[], int] = time.time_ns,
    made: Mapping[str, pa.Table] | None = None,
) -> pa.Table | None:
    """Add the finished tables of a run to the warehouse; returns its row, or None if all is there already.

    A run that was judged again replaces the former one.  Tables of version 1 are converted.  ``made`` are the run's
    tables if the caller still holds them, so that they need not be read.  Raises FileNotFoundError without tables or
    history, FormatError for tables of another version, OSError.
    """
    name = name or run_name(run)
    place = place_of(warehouse, name)
    mark = fingerprint(run)
    if _fingerprint_of(place) == mark:
        return None
    small = made or {table: read_table(run.table(table), table) for table in ("verdicts", "faults")}
    old = () if made else [table for table in TABLES if versions_of(run.table(table), table) != {TABLES_VERSION}]
    written = now() // 1000
    batches = made["operations"].to_batches if made else batches_of(run.table("operations"))
    of_load = load_figures(batches, last_moment(small["faults"]))
    concluded = conclusion_tables(run, small, of_load[1])
    row = run_row(run, name, of_load, {**small, **concluded}, mark, written)
    whole = exact(pa.Table.from_pylist([row], schema=RUNS), written_schema("runs"))
    with replacing(place, sweeping=False) as fresh:
        for table in TABLES:
            _copy(run.table(table), fresh, table, rewrite=table in old)
        write_tables(fresh, concluded)
        (fresh / _ROW).mkdir()
        pq.write_table(whole, fresh / _ROW / "part-00000.parquet")
        # By the directory's time the index knows whether its row of the run is current.
        os.utime(fresh, ns=(written * 1000, written * 1000))
    return whole


def _copy(source: Path, fresh: Path, name: str, *, rewrite: bool) -> None:
    """Copy a table, rewriting it if it is of an older version.  Raises FormatError, FileNotFoundError."""
    if rewrite:
        write_part(fresh, name, [read_table(source, name)])
        return
    target = fresh / f"{name}.parquet"
    target.mkdir()
    for part in os.listdir(source):  # noqa: PTH208 (names alone, 10^5 times)
        _link(f"{source}/{part}", f"{target}/{part}")


def _link(source: str, target: str) -> None:
    """Hard-link a file that never changes once it is written, or copy it where the file system cannot."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def fingerprint(run: RunFiles) -> str:
    """A hash of what was recorded and concluded, and of the tables' version.  Raises FileNotFoundError, OSError."""
    total = hashlib.sha256(f"{TABLES_VERSION} {RUNS_VERSION}".encode())
    for path in (run.history, run.probes, run.plan, run.results, run.suite):
        if path == run.history or path.exists():
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
        total.update(path.name.encode())
    return total.hexdigest()


def read_all(warehouse: Path, table: str) -> pa.Table:
    """One table of all runs, with the column ``run`` in front.  Raises FormatError as :func:`read_table` does."""
    parts = [RUNS.empty_table().select(["run"])]
    for path in sorted(_places(warehouse)):
        part = read_table(path / f"{table}.parquet", table)
        name = unquote(path.name.removeprefix(_PREFIX))
        parts.append(part.add_column(0, RUNS.field("run"), pa.array([name] * part.num_rows, pa.string())))
    return pa.concat_tables(parts, promote_options="default")


def place_of(warehouse: Path, name: str) -> Path:
    """Where a run's tables are."""
    return warehouse / f"{_PREFIX}{quote(name, safe='+')}"


def runs_written(warehouse: Path) -> dict[str, int]:
    """When each run in a warehouse was written (µs since 1970), by its name.

    Also removes what killed writers left between the runs.
    """
    there: dict[str, int] = {}
    with os.scandir(warehouse) as entries:
        for entry in entries:
            if not entry.name.startswith(_PREFIX):
                continue
            if (mark := _MARK.search(entry.name)) is None:
                there[unquote(entry.name.removeprefix(_PREFIX))] = entry.stat().st_mtime_ns // 1000
            elif is_dead(int(mark["pid"])):
                shutil.rmtree(entry.path, ignore_errors=True)
    return there


def read_row(warehouse: Path, name: str) -> pa.Table:
    """A run's own row.  Raises FormatError for one of another version, FileNotFoundError."""
    return read_rows(place_of(warehouse, name) / _ROW / "part-00000.parquet", "runs")


def _places(warehouse: Path) -> Iterator[Path]:
    """The directories of the runs, without those that are being written."""
    return (path for path in warehouse.glob(f"{_PREFIX}*") if not _MARK.search(path.name) and (path / _ROW).is_dir())


def _fingerprint_of(place: Path) -> str | None:
    try:
        row = read_rows(place / _ROW / "part-00000.parquet", "runs")
    except (OSError, FormatError):
        return None
    return str(row["fingerprint"][0].as_py())
