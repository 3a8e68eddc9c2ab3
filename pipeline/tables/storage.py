"""Parquet tables on disk: exact schemas, a version in every file, written all or nothing.

A table is a directory ``<name>.parquet`` with files in it.  All tables of a run are written into a directory beside the
final one.  They are read back, and the row counts must equal what the writer counted, which ``manifest.json`` lists.
Then that directory takes the final name.  A job that is killed leaves the old tables, or none.

Nothing checks whether another writer is alive, because no process can know that about another host.  Instead, a
writer's directory is removed if nothing was written to it for a day, and it is renamed first.  A writer that was only
paused for so long finds its directory gone and fails, so it never publishes a partial one.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from history import FormatError
from history.json_object import read_object
from history.tables.metadata import add_metadata, named, parquet, read_checked, schema_of
from history.tables.schemas import TABLES, TABLES_VERSION

#: The file beside the tables of a run that says how many rows each has, and what they were made from.
MANIFEST: Final = "manifest.json"
#: A directory is removed if nothing was written to it for this long (s).
ABANDONED_S: Final = 24 * 3600
_ATTEMPTS: Final = 10


def written_schema(name: str) -> pa.Schema:
    """Return the schema of a run's table, as it is written into every file."""
    return add_metadata(TABLES[name], name, TABLES_VERSION)


def write_part(root: Path, name: str, batches: Iterable[pa.Table | pa.RecordBatch], part: int = 0) -> int:
    """Write one file of the table ``name`` under ``root``, which must exist; return the number of rows.

    Raises OSError that names the file.
    """
    directory = root / f"{name}.parquet"
    # Never create its parents: a directory that was removed as abandoned must not come back with half of its tables.
    directory.mkdir(exist_ok=True)
    return write_file(directory / f"part-{part:05d}.parquet", written_schema(name), batches)


def write_file(path: Path, schema: pa.Schema, batches: Iterable[pa.Table | pa.RecordBatch]) -> int:
    """Write one Parquet file; return the number of rows.  Raises OSError that names the file."""
    rows = 0
    with named(path), pq.ParquetWriter(path, schema) as writer:
        for batch in batches:
            table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
            writer.write_table(exact(table, schema))
            rows += table.num_rows
    return rows


def exact(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the table's columns with the schema's own names, order, types and nullability."""
    return pa.Table.from_arrays([table.column(field.name).cast(field.type) for field in schema], schema=schema)


def read_table(path: Path, name: str) -> pa.Table:
    """Read the table ``name`` from its directory, with the current columns.

    Raises FormatError if it is another table or its columns have other types, or FileNotFoundError if it is absent.
    """
    return pa.concat_tables([read_checked(part, name, written_schema(name)) for part in _parts(path)])


def rows_of(root: Path) -> dict[str, int]:
    """Return the number of rows of each table of a run under ``root``, which must equal the manifest if there is one.

    Raises FormatError for tables that are incomplete or unreadable, or FileNotFoundError if one is absent.
    """
    counts = {name: sum(rows_in(part, name) for part in _parts(root / f"{name}.parquet")) for name in TABLES}
    expected = _manifest(root / MANIFEST)
    for name, rows in counts.items():
        if expected.get(name, rows) != rows:
            complaint = f"{rows} rows of {name}, but {MANIFEST} says {expected[name]}"
            raise FormatError(str(root / f"{name}.parquet"), "the table", complaint)
    return counts


def made_from(root: Path) -> dict[str, int]:
    """Return the writer's record of the source of the tables under ``root``; empty if there is none."""
    return {name: number for name, number in _manifest(root / MANIFEST).items() if name not in TABLES}


def _manifest(path: Path) -> dict[str, int]:
    """Return the number of rows of each table and what they were made from; empty if there is no manifest yet."""
    try:
        return read_object(path)
    except ValueError as error:
        raise FormatError(str(path), "the file", str(error)) from None


def rows_in(part: Path, name: str | None = None) -> int:
    """Return the number of rows of a file, which must belong to the table ``name`` if that is given.

    Raises FormatError if it is damaged.
    """
    if name is not None:
        schema_of(part, name)
    with parquet(part):
        return int(pq.read_metadata(part).num_rows)


def _parts(path: Path) -> list[Path]:
    parts = sorted(path.glob("*.parquet"))
    if not parts:
        raise FileNotFoundError(f"{path}: no table here")
    return parts


def write_tables(root: Path, tables: Mapping[str, pa.Table]) -> dict[str, int]:
    """Write whole tables under ``root``, one file each; return the number of rows of each."""
    return {name: write_part(root, name, [table]) for name, table in tables.items()}


@contextlib.contextmanager
def appearing(final: Path, publish: Callable[[Path, Path], object] = Path.rename) -> Iterator[Path]:
    """Yield a fresh directory that takes the name ``final`` if the block succeeds, and is removed otherwise.

    Its parent directory must exist.  Raises OSError, with ENOTEMPTY or EEXIST if another directory has that name.
    """
    fresh = final.with_name(f"{final.name}.tmp-{uuid.uuid4().hex}")
    # Never create its parents: a run that was removed in the meantime must not come back with nothing but tables.
    fresh.mkdir()
    try:
        yield fresh
        publish(fresh, final)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@contextlib.contextmanager
def replacing(final: Path, source: Mapping[str, int] | None = None) -> Iterator[tuple[Path, dict[str, int]]]:
    """Yield a fresh directory that replaces ``final`` if the block succeeds and is removed otherwise, and a dictionary.

    The block writes all tables of a run into the directory and the number of rows of each into the dictionary.  Reading
    back must give the same numbers.  ``source`` is what the tables are made from, which may change.  Raises FormatError
    or OSError if they are not complete.
    """
    sweep(final.parent, f"{final.name}.")
    rows: dict[str, int] = {}
    with appearing(final, _swap) as fresh:
        yield fresh, rows
        if (actual := rows_of(fresh)) != rows:
            raise FormatError(str(final), "the tables", f"{rows} rows were written, but {actual} were read back")
        with named(fresh / MANIFEST):
            (fresh / MANIFEST).write_text(json.dumps(rows | dict(source or {})))


def _swap(fresh: Path, final: Path) -> None:
    """Put ``fresh`` in the place of ``final``.  Raises OSError if other writers keep doing the same."""
    for attempt in range(_ATTEMPTS):
        remove(final)
        try:
            fresh.rename(final)
        except OSError as error:
            # Another writer has put its directory there in the meantime.
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or attempt == _ATTEMPTS - 1:
                raise
        else:
            return


def sweep(directory: Path, prefix: str) -> None:
    """Remove the directories whose names begin with ``prefix`` and to which nothing was written for a day."""
    for rest in directory.glob(f"{glob.escape(prefix)}*"):
        if time.time() - _last_write(rest) > ABANDONED_S:
            remove(rest)


def remove(directory: Path) -> None:
    """Remove a directory, renaming it first, so that users of the name find either all of it or nothing."""
    dead = directory.with_name(f"{directory.name}.dead-{uuid.uuid4().hex}")
    with contextlib.suppress(OSError):
        directory.rename(dead)
        shutil.rmtree(dead, ignore_errors=True)


def _last_write(directory: Path) -> float:
    """Return the latest modification time of anything in a directory, or now if the directory disappears."""
    try:
        return max(path.lstat().st_mtime for path in (directory, *directory.rglob("*")))
    except OSError:
        return time.time()
