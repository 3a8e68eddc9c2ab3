"""Parquet tables on disk: exact schemas, a version in every file, and never half a table.

A table is a directory ``<name>.parquet`` with files in it.  All tables of a run are written into a directory beside
the final one, which then takes its name; a job that is killed leaves the old tables, or none.  A later job removes
what killed ones left behind.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from history.tables import TABLES, TABLES_VERSION
from history.warehouse import TABLE, VERSION
from pipeline.errors import TableError

_ATTEMPTS: Final = 10
_SINCE_2: Final = {"windows": ("split", "key", "node")}
"""Columns that version 1 did not have."""


def stamped(name: str) -> pa.Schema:
    """The schema of a table with its name and version in the metadata, as it is written into every file."""
    return TABLES[name].with_metadata({TABLE: name.encode(), VERSION: str(TABLES_VERSION).encode()})


def write_part(root: Path, name: str, batches: Iterable[pa.Table | pa.RecordBatch], part: int = 0) -> int:
    """Write one file of the table ``name`` under ``root``; return the number of rows."""
    directory = root / f"{name}.parquet"
    directory.mkdir(parents=True, exist_ok=True)
    schema = stamped(name)
    rows = 0
    with pq.ParquetWriter(directory / f"part-{part:05d}.parquet", schema) as writer:
        for batch in batches:
            table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
            writer.write_table(exact(table, schema))
            rows += table.num_rows
    return rows


def exact(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table's columns under the schema's own names, order, types and nullability."""
    return pa.Table.from_arrays([table.column(field.name).cast(field.type) for field in schema], schema=schema)


def read_table(path: Path, name: str) -> pa.Table:
    """Read the table ``name`` from its directory; one of version 1 is read as what it is in today's columns.

    Raises TableError if it is another table, another version or has other columns, FileNotFoundError if it is absent.
    """
    parts = sorted(path.glob("*.parquet"))
    if not parts:
        raise FileNotFoundError(f"{path}: no table here")
    return pa.concat_tables([_checked(part, name) for part in parts])


def _checked(part: Path, name: str) -> pa.Table:
    try:
        schema = pq.read_schema(part)
    except pa.ArrowInvalid as error:
        raise TableError(f"{part}: not a Parquet file: {error}") from None
    version = check_schema(schema, name, str(part))
    table = pq.read_table(part, partitioning=None)
    return table if version == TABLES_VERSION else _of_version_1(table, name)


def check_schema(schema: pa.Schema, name: str, place: str) -> int:
    """The version of the table ``name`` that has this schema.  Raises TableError if this release does not read it."""
    stamps = schema.metadata or {}
    found, version = stamps.get(TABLE, b"no table").decode(), stamps.get(VERSION, b"none").decode()
    if found != name:
        raise TableError(f"{place}: expected the table {name}, found {found}")
    if version not in ("1", str(TABLES_VERSION)):
        raise TableError(
            f"{place}: version {version} of {name} is not one that this release reads;"
            " `harness check` of the run makes it anew"
        )
    expected = [field for field in TABLES[name] if version != "1" or field.name not in _SINCE_2.get(name, ())]
    if not schema.equals(pa.schema(expected), check_metadata=False):
        raise TableError(f"{place}: the columns are not those of {name} version {version}")
    return int(version)


def is_current(tables: Path) -> bool:
    """Are all tables there, in a version that this release reads?"""
    for name in TABLES:
        parts = sorted((tables / f"{name}.parquet").glob("*.parquet"))
        try:
            for part in parts:
                check_schema(pq.read_schema(part), name, str(part))
        except (TableError, pa.ArrowInvalid, OSError):
            return False
        if not parts:
            return False
    return True


def _of_version_1(table: pa.Table, name: str) -> pa.Table:
    if name == "windows":
        rows = table.num_rows
        table = table.append_column("split", pa.repeat("all", rows))
        for column in ("key", "node"):
            table = table.append_column(column, pa.nulls(rows, pa.string()))
    return exact(table, stamped(name))


def write_tables(root: Path, tables: Mapping[str, pa.Table]) -> None:
    """Write whole tables under ``root``, one file each."""
    for name, table in tables.items():
        write_part(root, name, [table])


@contextlib.contextmanager
def replacing(final: Path) -> Iterator[Path]:
    """A fresh directory beside ``final``, which takes its place when the block ends well and is removed otherwise."""
    sweep(final)
    mark = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
    fresh, old = (final.with_name(f"{final.name}.{kind}-{mark}") for kind in ("tmp", "old"))
    fresh.mkdir(parents=True)
    try:
        yield fresh
        _swap(fresh, final, old)
    finally:
        for rest in (fresh, *final.parent.glob(f"{glob.escape(old.name)}-*")):
            shutil.rmtree(rest, ignore_errors=True)


def _swap(fresh: Path, final: Path, old: Path) -> None:
    """Put ``fresh`` in the place of ``final``.  Raises OSError if others do the same again and again."""
    for attempt in range(_ATTEMPTS):
        with contextlib.suppress(FileNotFoundError):
            final.rename(old.with_name(f"{old.name}-{attempt}"))
        try:
            fresh.rename(final)
        except OSError as error:
            # Somebody else put theirs there in between.
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or attempt == _ATTEMPTS - 1:
                raise
        else:
            return


def sweep(final: Path) -> None:
    """Remove what killed jobs left beside ``final``; what a living process works on stays."""
    for kind in ("tmp", "old"):
        sweep_dead(final.parent, f"{final.name}.{kind}")


def sweep_dead(directory: Path, prefix: str) -> None:
    """Remove the directories ``<prefix>-<pid>-<anything>`` whose process is gone."""
    for rest in directory.glob(f"{glob.escape(prefix)}-*-*"):
        pid = rest.name.removeprefix(f"{prefix}-").split("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(rest, ignore_errors=True)
