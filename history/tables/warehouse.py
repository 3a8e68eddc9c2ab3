"""What is known of all runs together: ``store/warehouse/runs.parquet`` and ``trends.parquet``.

The pipeline writes both when a run is brought into the warehouse; whoever draws them reads them here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa

from history.tables.metadata import read_stamped, stamped
from history.tables.schemas import RUNS, RUNS_VERSION, TRENDS, TRENDS_VERSION

_KNOWN: Final = {"runs": (RUNS, RUNS_VERSION), "trends": (TRENDS, TRENDS_VERSION)}


def read_runs(warehouse: Path) -> pa.Table:
    """All runs, one row each (``history.tables.schemas.RUNS``), in the order of their names.

    Raises FileNotFoundError if no run was ever brought there, FormatError for a file of another kind or version.
    """
    return read_rows(warehouse / "runs.parquet", "runs")


def read_trends(warehouse: Path) -> pa.Table:
    """All kinds of runs, one row each (``history.tables.schemas.TRENDS``).  Raises as :func:`read_runs` does."""
    return read_rows(warehouse / "trends.parquet", "trends")


def stamp(name: str) -> pa.Schema:
    """The schema of ``runs`` or ``trends`` with its name and version in the metadata, as it is written."""
    schema, version = _KNOWN[name]
    return stamped(schema, name, version)


def read_rows(path: Path, name: str) -> pa.Table:
    """Read one file of ``runs`` or ``trends``.  Raises FileNotFoundError, FormatError."""
    schema, version = _KNOWN[name]
    return read_stamped(path, name, {version: schema}, "`harness ingest` makes it anew")[0]
