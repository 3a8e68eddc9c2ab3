"""Add finished tables of runs to the warehouse: ``landing/<id>/<table>/month=…/<id>.parquet``.

A landing holds one run or many.  It has the form of a version (``history.tables.warehouse``), so its files become part
of the next version unchanged.  It appears at once, after everything in it was read back.  No reader looks at it before
a version holds its runs.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from history import FormatError, RunFiles
from history.recording import Recording
from history.tables.metadata import named, read_pieces, schema_of
from history.tables.operations import table_of_rows
from history.tables.schemas import RUNS, RUNS_VERSION, TABLES, TABLES_VERSION
from history.tables.warehouse import files_of, in_newest, newest_version, written_schema
from pipeline.tables import storage
from pipeline.tables.conclusions import conclusion_tables, source_of
from pipeline.tables.load_figures import batches_of, load_figures
from pipeline.tables.runs import last_moment, run_row
from pipeline.tables.storage import appearing, exact, made_from, read_table, rows_in, rows_of, write_file

LANDING: Final = "landing"
#: The most bytes of tables that are held in memory and published together.  Larger tables of operations are copied in
#: pieces, one run at a time.
HELD_BYTES: Final = 64 << 20
_MARKS: Final = pa.schema([RUNS.field(name) for name in ("run", "fingerprint", "written")])
_STARTED: Final = re.compile(r"(\d{4})(\d{2})\d{2}(?!\d)")


@dataclass(frozen=True, slots=True)
class Known:
    """The row of a run in the newest version; if a run has two rows, the one ``written`` (µs) later counts."""

    fingerprint: str
    written: int
    month: str


def known_runs(root: Path | None) -> Mapping[str, Known]:
    """Return the runs in a version or a landing, by name.

    Raises FileNotFoundError if it is removed in the meantime, or FormatError if it is damaged.
    """
    if root is None:
        return {}
    status = root.stat()
    return _known_runs(root, status.st_ino, status.st_mtime_ns)


def known_in(warehouse: Path) -> Mapping[str, Known]:
    """Return the runs in the newest version; none if there is no version yet."""
    return {} if newest_version(warehouse) is None else in_newest(warehouse, known_runs)


@functools.lru_cache(maxsize=8)
def _known_runs(root: Path, _inode: int, _time: int) -> Mapping[str, Known]:
    # The content of a directory never changes.  Inode and time are part of the cache key because another directory may
    # get the same name.
    runs: dict[str, Known] = {}
    for path in files_of(root, "runs"):
        schema_of(path, "runs")
        month = path.parent.name.partition("=")[2]
        for rows in read_pieces(path, "runs", _MARKS):
            for name, mark, written in zip(*rows.to_pydict().values(), strict=True):
                runs[name] = Known(mark, written, month)
    return runs


def run_name(run: RunFiles) -> str:
    """Return ``<test name>/<UTC start>-<seed>``, which identifies a run in its store."""
    root = run.root.resolve()
    return f"{root.parent.name}/{root.name}"


class Landing:
    """Runs that are being added to a warehouse, where they appear together when published.

    ``ours`` names the runs that the same call has already added; they are not replaced.
    """

    def __init__(
        self, warehouse: Path, now: Callable[[], int] = time.time_ns, ours: Collection[str] = frozenset()
    ) -> None:
        self.bytes = 0
        self._warehouse, self._now = warehouse, now
        self._known = known_in(warehouse)
        self._added = {name: self._known[name].fingerprint for name in ours if name in self._known}
        self._parts: dict[tuple[str, str], list[pa.Table]] = {}

    def add(self, run: RunFiles | Recording, name: str) -> bool:
        """Add a run with finished tables; return False if the warehouse or this landing already has it.

        A run with very many operations is published at once.  Raises FileNotFoundError without tables or history,
        FormatError for incomplete or outdated tables (the history has grown, or the standstills differ) and for another
        run of the same name, or OSError.
        """
        run = Recording.of(run)
        files = run.files
        rows = rows_of(files.tables)
        source = source_of(run)
        if (then := made_from(files.tables)) != source:
            raise FormatError(str(files.tables), "the tables", f"made from {then}, but the run has {source}")
        mark = fingerprint(run, rows)
        if (before := self._added.get(name)) is not None:
            if before != mark:
                raise FormatError(name, "the run", "another run of this name is being added")
            return False
        known = self._known.get(name)
        if known is not None and known.fingerprint == mark:
            return False
        # It must exceed the last row's time even if this machine's clock is behind that of its writer.
        written = max(self._now() // 1000, known.written + 1 if known is not None else 0)
        large = sum(path.stat().st_size for path in files.table("operations").glob("*")) > HELD_BYTES
        names = [table for table in TABLES if not (large and table == "operations")]
        tables = {table: read_table(files.table(table), table) for table in names}
        batches = batches_of(files.table("operations")) if large else tables["operations"].to_batches
        figures = load_figures(batches, run.clock, last_moment(tables["faults"]))
        tables |= conclusion_tables(run, tables, figures)
        row = run_row(run, name, figures, tables, mark, written)
        tables["runs"] = table_of_rows([row], RUNS)
        month = month_of(row["started"])
        parts = {(table, month): with_run(content, table, name) for table, content in tables.items()}
        if large:
            pieces = _pieces(files.table("operations"), name)
            self._publish({**{place: [part] for place, part in parts.items()}, ("operations", month): pieces})
        else:
            self._hold(parts)
        self._added[name] = mark
        return True

    def publish(self) -> None:
        """Make the runs appear in the warehouse, where the next refresh puts them into a version.

        Raises OSError that names a file, or FormatError if what is read back differs from what was written.
        """
        parts, self._parts, self.bytes = self._parts, {}, 0
        if parts:
            self._publish({place: [pa.concat_tables(held)] for place, held in parts.items()})

    def _hold(self, parts: Mapping[tuple[str, str], pa.Table]) -> None:
        for place, content in parts.items():
            self._parts.setdefault(place, []).append(content)
            self.bytes += content.nbytes

    def _publish(self, parts: Mapping[tuple[str, str], Iterable[pa.Table]]) -> None:
        (self._warehouse / LANDING).mkdir(parents=True, exist_ok=True)
        with appearing(self._warehouse / LANDING / uuid.uuid4().hex) as fresh:
            for (table, month), content in parts.items():
                write_month(fresh, table, month, written_schema(table), content)


def write_month(root: Path, table: str, month: str, schema: pa.Schema, content: Iterable[pa.Table]) -> None:
    """Write a file of a table under ``root``, sync it, and read its end back.

    Raises OSError that names the file, or FormatError if it is incomplete.
    """
    directory = month_in(root, table, month)
    path = directory / f"{uuid.uuid4().hex}.parquet"
    rows = write_file(path, schema, content)
    with named(path), path.open("rb") as file:
        os.fsync(file.fileno())
    if (actual := rows_in(path)) != rows:
        raise FormatError(str(path), "the table", f"{rows} rows were written, but {actual} were found")


def month_in(root: Path, table: str, month: str) -> Path:
    """Return the directory of a table's month, creating it if needed; ``root`` must exist."""
    directory = root / table / f"month={month}"
    for part in (directory.parent, directory):
        part.mkdir(exist_ok=True)
    return directory


def month_of(started: str) -> str:
    """Return the month, such as ``2026-11``, of the UTC start in a run's name; ``unknown`` for any other name."""
    match = _STARTED.match(started)
    return f"{match[1]}-{match[2]}" if match else "unknown"


def with_run(table: pa.Table, name: str, run: str) -> pa.Table:
    """Return the rows of one run as they are written into the table of all runs."""
    if "run" not in table.column_names:
        table = table.add_column(0, RUNS.field("run"), pa.repeat(run, table.num_rows))
    return exact(table, written_schema(name))


def _pieces(operations: Path, run: str) -> Iterator[pa.Table]:
    for part in sorted(operations.glob("*.parquet")):
        for piece in read_pieces(part, "operations", storage.written_schema("operations")):
            yield with_run(piece, "operations", run)


def fingerprint(run: Recording, rows: Mapping[str, int]) -> str:
    """Return a hash of what was recorded and concluded, of the tables' versions, and of the number of ``rows`` in each.

    Raises FileNotFoundError or OSError.
    """
    total = hashlib.sha256(f"{TABLES_VERSION} {RUNS_VERSION} {json.dumps(rows, sort_keys=True)}".encode())
    files = run.files
    for path in (files.history, files.probes, files.plan, files.results, files.suite):
        if path == files.history or path.exists():
            total.update(run.digest(path))
        total.update(path.name.encode())
    if spans := run.clock.spans:
        total.update(json.dumps(spans).encode())
    return total.hexdigest()
