"""The operations of a run as a table with the columns of ``docs/tables.md``, as CSV or Parquet."""

from __future__ import annotations

from typing import Any, BinaryIO

import pyarrow.csv as pc
import pyarrow.parquet as pq

from history.tables.metadata import add_metadata
from history.tables.schemas import OPERATIONS, TABLES_VERSION


def write_csv(table: Any, out: BinaryIO) -> None:
    """Write a line of names, then one an operation; what is null is empty, and an empty text is quoted."""
    pc.write_csv(table, out)


def write_parquet(table: Any, out: BinaryIO) -> None:
    """Write one file with the table's name and version, as those in a run's ``tables``."""
    pq.write_table(table.cast(add_metadata(OPERATIONS, "operations", TABLES_VERSION)), out)
