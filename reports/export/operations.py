"""The operations of a run as a table with the columns of ``docs/tables.md``, as CSV or Parquet."""

from __future__ import annotations

from typing import Any, BinaryIO

import pyarrow.csv as pc
import pyarrow.parquet as pq

from history import RunFiles
from history.tables.metadata import add_metadata
from history.tables.schemas import OPERATIONS, TABLES_VERSION
from reports.load.columns import arrow_of


def table_of(files: RunFiles) -> Any:
    """Return the operations in the order of their invocations.  Raises OSError, FormatError, pyarrow's errors."""
    return arrow_of(files.table("operations"), files.history).sort_by("invoke_index")


def write_csv(table: Any, out: BinaryIO) -> None:
    """Write a line of names, then one an operation; what is null is empty, and an empty text is quoted."""
    pc.write_csv(table, out)


def write_parquet(table: Any, out: BinaryIO) -> None:
    """Write one file with the table's name and version, as those in a run's ``tables``."""
    pq.write_table(table.cast(add_metadata(OPERATIONS, "operations", TABLES_VERSION)), out)
