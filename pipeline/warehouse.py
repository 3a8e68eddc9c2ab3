"""The tables of all runs: ``store/warehouse/run=<run>/<table>.parquet``.

A run's directory appears there at once with everything in it, or not at all, so a job that is killed leaves nothing
behind and writers need no lock: whoever comes last wins, with the same content.  The directories are named as Spark and
Arrow expect of a partitioned table; ``runs.parquet`` holds the run's own row.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq

from history import RunFiles
from history.tables import TABLES
from pipeline.errors import TableError
from pipeline.run_row import RUNS, RUNS_VERSION, run_row
from pipeline.storage import exact, read_table, replacing

_PREFIX: Final = "run="
_ROW: Final = "runs.parquet"
_MARK: Final = re.compile(r"\.(tmp|old)-\d+-[0-9a-f]{8}(-\d+)?$")
_STAMP: Final = {b"harness.table": b"runs", b"harness.version": str(RUNS_VERSION).encode()}


def run_name(run: RunFiles) -> str:
    """``<test name>/<UTC start>-<seed>``: what tells a run from all others of a store."""
    root = run.root.resolve()
    return f"{root.parent.name}/{root.name}"


def append_run(warehouse: Path, run: RunFiles) -> bool:
    """Bring the finished tables of a run into the warehouse; False if they are there already.

    A run that was judged anew replaces its former self.  Raises FileNotFoundError without tables or history,
    TableError for tables of another version, OSError.
    """
    name = run_name(run)
    place = _place(warehouse, name)
    mark = fingerprint(run)
    if _fingerprint_of(place) == mark:
        return False
    tables = {table: read_table(run.table(table), table) for table in TABLES}
    row = run_row(run, name, tables, mark)
    with replacing(place) as fresh:
        for table in TABLES:
            shutil.copytree(run.table(table), fresh / f"{table}.parquet")
        (fresh / _ROW).mkdir()
        whole = exact(pa.Table.from_pylist([row], schema=RUNS), RUNS.with_metadata(_STAMP))
        pq.write_table(whole, fresh / _ROW / "part-00000.parquet")
    return True


def fingerprint(run: RunFiles) -> str:
    """A hash of what was recorded and concluded, and of the tables' version.  Raises FileNotFoundError, OSError."""
    total = hashlib.sha256(repr(sorted(TABLES)).encode())
    for path in (run.history, run.probes, run.plan, run.results):
        if path == run.history or path.exists():
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
        total.update(path.name.encode())
    return total.hexdigest()


def runs_in(warehouse: Path) -> Iterator[str]:
    """The names of the runs in a warehouse, in order."""
    yield from sorted(unquote(path.name.removeprefix(_PREFIX)) for path in _places(warehouse))


def read_runs(warehouse: Path) -> pa.Table:
    """The rows of all runs (``pipeline.run_row.RUNS``).  Raises TableError for a row of another version."""
    rows = [_read_row(path) for path in sorted(_places(warehouse))]
    return pa.concat_tables([RUNS.empty_table(), *rows])


def read_all(warehouse: Path, table: str) -> pa.Table:
    """One table of all runs, with the column ``run`` in front.  Raises TableError as :func:`read_table` does."""
    parts = [RUNS.empty_table().select(["run"])]
    for path in sorted(_places(warehouse)):
        part = read_table(path / f"{table}.parquet", table)
        name = unquote(path.name.removeprefix(_PREFIX))
        parts.append(part.add_column(0, RUNS.field("run"), pa.array([name] * part.num_rows, pa.string())))
    return pa.concat_tables(parts, promote_options="default")


def _place(warehouse: Path, name: str) -> Path:
    return warehouse / f"{_PREFIX}{quote(name, safe='')}"


def _places(warehouse: Path) -> Iterator[Path]:
    """The runs' directories, without those that are being written."""
    return (path for path in warehouse.glob(f"{_PREFIX}*") if not _busy(path) and (path / _ROW).is_dir())


def _busy(path: Path) -> bool:
    return _MARK.search(path.name) is not None


def _fingerprint_of(place: Path) -> str | None:
    try:
        return str(_read_row(place)["fingerprint"][0].as_py())
    except (FileNotFoundError, TableError, pa.ArrowInvalid):
        return None


def _read_row(place: Path) -> pa.Table:
    part = place / _ROW / "part-00000.parquet"
    table = pq.read_table(part, partitioning=None)
    stamps = table.schema.metadata or {}
    if any(stamps.get(name) != value for name, value in _STAMP.items()):
        raise TableError(
            f"{part}: version {stamps.get(b'harness.version')!r} of runs is not one that this release reads"
        )
    return table
