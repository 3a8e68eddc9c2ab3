"""What is known of all runs together: ``store/warehouse/runs.parquet`` and ``trends.parquet``.

The pipeline writes both when a run is brought into the warehouse; whoever draws them reads them here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from history.errors import FormatError
from history.tables import RUNS, RUNS_VERSION, TRENDS, TRENDS_VERSION

TABLE: Final = b"harness.table"
VERSION: Final = b"harness.version"

_KNOWN: Final = {"runs": (RUNS, RUNS_VERSION), "trends": (TRENDS, TRENDS_VERSION)}


def read_runs(warehouse: Path) -> pa.Table:
    """All runs, one row each (``history.tables.RUNS``), in the order of their names.

    Raises FileNotFoundError if no run was ever brought there, FormatError for a file of another kind or version.
    """
    return read_stamped(warehouse / "runs.parquet", "runs")


def read_trends(warehouse: Path) -> pa.Table:
    """All kinds of runs, one row each (``history.tables.TRENDS``).  Raises as :func:`read_runs` does."""
    return read_stamped(warehouse / "trends.parquet", "trends")


def stamp(name: str) -> pa.Schema:
    """The schema of ``runs`` or ``trends`` with its name and version in the metadata, as it is written."""
    schema, version = _KNOWN[name]
    return schema.with_metadata({TABLE: name.encode(), VERSION: str(version).encode()})


def read_stamped(path: Path, name: str) -> pa.Table:
    """Read one file of ``runs`` or ``trends``.  Raises FileNotFoundError, FormatError."""
    schema, version = _KNOWN[name]
    try:
        table = pq.ParquetFile(path).read()
    except pa.ArrowInvalid as error:
        raise FormatError(str(path), "byte 0", f"expected Parquet: {error}") from None
    stamps = table.schema.metadata or {}
    kind, found = stamps.get(TABLE, b"no table").decode(), stamps.get(VERSION, b"none").decode()
    if kind != name:
        raise FormatError(str(path), "the schema", f"expected the table {name}, found {kind}")
    if found != str(version):
        raise FormatError(
            str(path), "the schema",
            f"version {found} of {name} is not one that this release reads; `harness ingest` makes it anew",
        )  # fmt: skip
    if not table.schema.equals(schema, check_metadata=False):
        raise FormatError(str(path), "the schema", f"the columns are not those of {name} version {version}")
    return table
