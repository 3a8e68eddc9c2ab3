"""The files over all runs of a store: ``warehouse/runs.parquet``, ``trends.parquet`` and ``baselines.toml``.

The pipeline writes the tables when a run is added to the warehouse; the site reads them.  People write the baselines.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from history.errors import FormatError
from history.tables.metadata import add_metadata, read_checked
from history.tables.schemas import RUNS, RUNS_VERSION, TRENDS, TRENDS_VERSION
from history.toml_file import read_toml

_TABLES: Final[Mapping[str, tuple[pa.Schema, tuple[int, ...]]]] = {
    "runs": (RUNS, (3, 4, RUNS_VERSION)),
    "trends": (TRENDS, (3, TRENDS_VERSION)),
}
"""The columns of each, and the versions that this release reads."""
BASELINES: Final = "baselines.toml"


def read_runs(warehouse: Path) -> pa.Table:
    """All runs, one row each (``history.tables.schemas.RUNS``), in the order of their names.

    Raises FileNotFoundError if no run was ever added, FormatError for a file of another kind or version.
    """
    return read_rows(warehouse / "runs.parquet", "runs")


def read_trends(warehouse: Path) -> pa.Table:
    """All kinds of runs, one row each (``history.tables.schemas.TRENDS``).  Raises as :func:`read_runs` does."""
    return read_rows(warehouse / "trends.parquet", "trends")


def written_schema(name: str) -> pa.Schema:
    """The schema of ``runs`` or ``trends`` with its name and version in the metadata, as it is written."""
    schema, versions = _TABLES[name]
    return add_metadata(schema, name, max(versions))


def read_rows(path: Path, name: str) -> pa.Table:
    """Read one file of ``runs`` or ``trends``; columns that an older version lacks are null.

    Raises FileNotFoundError, FormatError.
    """
    schema, versions = _TABLES[name]
    table, version = read_checked(path, name, schema, versions, "`harness ingest` makes it anew")
    return table if version == max(versions) else table.cast(written_schema(name))


def read_baselines(warehouse: Path) -> list[dict[str, Any]]:
    """The tables ``[[baseline]]`` of ``baselines.toml`` with ``run``, ``reason`` and perhaps ``figure``.

    There are none without that file.  Raises FormatError, OSError.
    """
    path = warehouse / BASELINES
    try:
        found = read_toml(path)
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise FormatError(str(path), "the file", str(error)) from None
    rows = found.pop("baseline", [])
    if found or not isinstance(rows, list) or not all(map(_is_baseline, rows)):
        raise FormatError(str(path), "the file", "expected tables [[baseline]] with run, reason and (optional) figure")
    return rows


def _is_baseline(row: object) -> bool:
    texts = isinstance(row, dict) and all(isinstance(value, str) and value for value in row.values())
    return texts and isinstance(row, dict) and {"run", "reason"} <= set(row) <= {"run", "reason", "figure"}
