"""Parquet tables on disk: exact schemas, a version in every file, written all or nothing.

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

from history.tables.metadata import add_metadata, read_checked, version_of
from history.tables.schemas import ALL_TABLES, TABLES_VERSION

_ATTEMPTS: Final = 10
_VERSIONS: Final = range(1, TABLES_VERSION + 1)
_MEND: Final = "`harness check` of the run makes it anew"


def written_schema(name: str) -> pa.Schema:
    """The schema of a table as it is written into every file."""
    return add_metadata(ALL_TABLES[name], name, TABLES_VERSION)


def write_part(root: Path, name: str, batches: Iterable[pa.Table | pa.RecordBatch], part: int = 0) -> int:
    """Write one file of the table ``name`` under ``root``; return the number of rows."""
    directory = root / f"{name}.parquet"
    directory.mkdir(parents=True, exist_ok=True)
    schema = written_schema(name)
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
    """Read the table ``name`` from its directory; one of an older version gets the current columns.

    Raises FormatError if it is another table, another version or has other columns, FileNotFoundError if it is absent.
    """
    parts = sorted(path.glob("*.parquet"))
    if not parts:
        raise FileNotFoundError(f"{path}: no table here")
    return pa.concat_tables([_checked(part, name) for part in parts])


def _checked(part: Path, name: str) -> pa.Table:
    table, version = read_checked(part, name, ALL_TABLES[name], _VERSIONS, _MEND)
    if version == 1 and name == "windows":
        place = table.column_names.index("split")
        table = table.set_column(place, table.schema.field(place), pa.repeat("all", table.num_rows))
    return table if version == TABLES_VERSION else exact(table, written_schema(name))


def versions_of(path: Path, name: str) -> set[int]:
    """The versions of the table ``name`` in a directory.  Raises as :func:`read_table` does."""
    parts = sorted(path.glob("*.parquet"))
    if not parts:
        raise FileNotFoundError(f"{path}: no table here")
    return {version_of(part, name, ALL_TABLES[name], _VERSIONS, _MEND) for part in parts}


def write_tables(root: Path, tables: Mapping[str, pa.Table]) -> None:
    """Write whole tables under ``root``, one file each."""
    for name, table in tables.items():
        write_part(root, name, [table])


@contextlib.contextmanager
def replacing(final: Path, *, sweeping: bool = True) -> Iterator[Path]:
    """A fresh directory beside ``final``, which takes its place when the block ends well and is removed otherwise.

    What killed jobs left beside it is removed first; without ``sweeping`` it is not, since listing a directory of very
    many runs for each of them takes longer than all else.
    """
    if sweeping:
        sweep(final)
    mark = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
    fresh, old = (final.with_name(f"{final.name}.{kind}-{mark}") for kind in ("tmp", "old"))
    fresh.mkdir(parents=True)
    aside: list[Path] = []
    try:
        yield fresh
        _swap(fresh, final, old, aside)
    finally:
        for rest in (fresh, *aside):
            shutil.rmtree(rest, ignore_errors=True)


def _swap(fresh: Path, final: Path, old: Path, aside: list[Path]) -> None:
    """Put ``fresh`` in the place of ``final``, what was there into ``aside``.

    Raises OSError if others do the same again and again.
    """
    for attempt in range(_ATTEMPTS):
        away = old.with_name(f"{old.name}-{attempt}")
        with contextlib.suppress(FileNotFoundError):
            final.rename(away)
            aside.append(away)
        try:
            fresh.rename(final)
        except OSError as error:
            # Another writer has put its directory there meanwhile.
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
        if pid.isdigit() and is_dead(int(pid)):
            shutil.rmtree(rest, ignore_errors=True)


def is_dead(pid: int) -> bool:
    """Is there no process of that number?"""
    return not Path(f"/proc/{pid}").exists()
