"""The warehouse: the tables of all runs in a store, and functions that read them.

::

    warehouse/
      versions/00000042/                every version is whole: all tables of all runs
        faults/month=2026-11/*.parquet  one row per fault; `run` and `month` are columns
        runs/month=2026-11/*.parquet    one row per run
        trends.parquet                  one row per kind of run
      tables -> versions/00000042       the newest, for readers with other tools
      landing/                          what writers finished and no version holds yet
      baselines.toml

A version never changes, so all its tables belong together.  The pipeline writes versions; people write the baselines.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec
import pyarrow as pa

from history.errors import FormatError
from history.schema import convert
from history.tables.metadata import add_metadata, read_checked
from history.tables.schemas import ALL_TABLES, RUNS, RUNS_VERSION, TABLES_VERSION, TRENDS, TRENDS_VERSION
from history.toml_file import read_toml

VERSIONS: Final = "versions"
NEWEST: Final = "tables"
BASELINES: Final = "baselines.toml"
_Value = TypeVar("_Value")
_Text: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]


class Acknowledged(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A new level that somebody accepted: later runs are compared with the runs from ``run`` on.

    This concerns one ``figure``, or all figures if it is None.
    """

    run: _Text
    reason: _Text
    figure: _Text | None = None


class _Baselines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    baseline: list[Acknowledged] = msgspec.field(default_factory=list)


def newest_version(warehouse: Path) -> Path | None:
    """Return the directory of the newest version; None if there is none."""
    try:
        numbers = [path.name for path in (warehouse / VERSIONS).iterdir() if path.name.isdigit()]
    except FileNotFoundError:
        return None
    return warehouse / VERSIONS / max(numbers) if numbers else None


def files_of(version: Path, table: str) -> list[Path]:
    """Return the files of a table, ordered by month.  Raises FileNotFoundError if the version was removed."""
    files = sorted(version.glob(f"{table}/month=*/*.parquet"))
    # A version is renamed before it is removed.  So if it still exists here, the listing above was complete.
    version.stat()
    return files


def in_newest(warehouse: Path, read: Callable[[Path], _Value]) -> _Value:
    """Call ``read`` with the newest version, and retry if that version was replaced and removed meanwhile.

    Raises FileNotFoundError if there is no version.
    """
    while True:
        version = newest_version(warehouse)
        if version is None:
            raise FileNotFoundError(f"{warehouse}: no run was ever added")
        try:
            return read(version)
        except FileNotFoundError:
            if newest_version(warehouse) == version:
                raise


def read_all(warehouse: Path, table: str) -> pa.Table:
    """Read a table of all runs, sorted by run name, with ``run`` as the first column.

    Raises FileNotFoundError if no run was ever added, and FormatError for a column of another type.
    """
    return in_newest(warehouse, lambda version: read_version(version, table)).sort_by("run")


def read_version(version: Path, table: str) -> pa.Table:
    """Read a table of all runs in a version.

    Raises FileNotFoundError if the version was removed, and FormatError.
    """
    schema = written_schema(table)
    parts = [read_checked(path, table, schema) for path in files_of(version, table)]
    return pa.concat_tables([schema.empty_table(), *parts])


def read_runs(warehouse: Path) -> pa.Table:
    """Read the table of runs (``history.tables.schemas.RUNS``), sorted by name.

    Raises like :func:`read_all`.
    """
    first = warehouse / "runs.parquet"
    if newest_version(warehouse) is None and first.exists():
        return read_checked(first, "runs", written_schema("runs"))
    return read_all(warehouse, "runs")


def read_trends(warehouse: Path) -> pa.Table:
    """Read the table of trends (``history.tables.schemas.TRENDS``).  Raises like :func:`read_all`."""
    first = warehouse / "trends.parquet"
    if newest_version(warehouse) is None and first.exists():
        return read_checked(first, "trends", written_schema("trends"))
    schema = written_schema("trends")
    return in_newest(warehouse, lambda version: read_checked(version / "trends.parquet", "trends", schema))


def written_schema(name: str) -> pa.Schema:
    """Return the schema of a warehouse table as it is written, with name and version in the metadata."""
    if name == "trends":
        return add_metadata(TRENDS, name, TRENDS_VERSION)
    if name == "runs":
        return add_metadata(RUNS, name, RUNS_VERSION)
    return add_metadata(pa.schema([RUNS.field("run"), *ALL_TABLES[name]]), name, TABLES_VERSION)


def read_baselines(warehouse: Path) -> list[Acknowledged]:
    """Read the ``[[baseline]]`` tables in ``baselines.toml``; none without that file.  Raises FormatError, OSError."""
    path = warehouse / BASELINES
    try:
        document = read_toml(path)
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise FormatError(str(path), "the file", str(error)) from None
    try:
        return convert(document, _Baselines).baseline
    except ValueError as error:
        wanted = "expected tables [[baseline]] with run, reason and (optional) figure"
        raise FormatError(str(path), "the file", f"{wanted}: {error}") from None
