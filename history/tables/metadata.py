"""Table names and versions in the metadata of Parquet files, and reading files from other releases.

Schemas grow over time.  A column that a file lacks is read as null, and one that this release does not know is dropped.
Only a column of another type is an error.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from history.errors import FormatError

TABLE: Final = b"harness.table"
VERSION: Final = b"harness.version"
PIECE: Final = 1 << 17


def add_metadata(schema: pa.Schema, name: str, version: int) -> pa.Schema:
    """Return the schema with the table's name and version in its metadata."""
    return schema.with_metadata({TABLE: name.encode(), VERSION: str(version).encode()})


def version_in(schema: pa.Schema) -> int:
    """Return the table version in a file's schema; 0 if it has none."""
    return int((schema.metadata or {}).get(VERSION, b"0"))


def schema_of(path: Path, name: str) -> pa.Schema:
    """Read the schema of a file of the table ``name``.

    Raises FileNotFoundError, and FormatError if the file is not Parquet or holds another table.
    """
    with parquet(path):
        schema = pq.read_schema(path)
    actual = (schema.metadata or {}).get(TABLE, b"no table").decode()
    if actual != name:
        raise FormatError(str(path), "the schema", f"expected the table {name}, found {actual}")
    return schema


def read_checked(path: Path, name: str, schema: pa.Schema) -> pa.Table:
    """Read a whole file of the table ``name`` with the columns of ``schema``.

    Raises like :func:`schema_of`, and FormatError for a column of another type.
    """
    schema_of(path, name)
    with parquet(path):
        table = pq.ParquetFile(path).read()
    return fit(table, name, schema, path)


def read_pieces(path: Path, name: str, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield a file's rows as tables of up to :data:`PIECE` rows.

    Does not check the table's name.  Raises FormatError like :func:`read_checked`.
    """
    with parquet(path), pq.ParquetFile(path) as file:
        for batch in file.iter_batches(PIECE, columns=schema.names):
            yield fit(pa.Table.from_batches([batch]), name, schema, path)


def fit(table: pa.Table, name: str, schema: pa.Schema, path: Path) -> pa.Table:
    """Convert a table from any release to the columns of ``schema``.

    Raises FormatError for a column of another type.
    """
    try:
        return pa.Table.from_arrays([_column(table, name, field, path) for field in schema], schema=schema)
    except FormatError as error:
        if 0 < version_in(schema) < version_in(table.schema):
            mend = f"it is version {version_in(table.schema)}, of a later release: update the harness on this machine"
            raise FormatError(error.source, error.place, f"{error.message}; {mend}") from None
        raise


def _column(table: pa.Table, name: str, field: pa.Field, path: Path) -> pa.ChunkedArray | pa.Array:
    if field.name in table.column_names:
        column = table[field.name]
        if column.type != field.type:
            complaint = f"the column {field.name} of {name} is {column.type}, but this release needs {field.type}"
            raise FormatError(str(path), "the schema", complaint)
        return column
    return pa.nulls(table.num_rows, field.type)


@contextlib.contextmanager
def named(path: Path) -> Iterator[None]:
    """Add the file name to an OSError, because Arrow's errors lack it."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from None


@contextlib.contextmanager
def parquet(path: Path) -> Iterator[None]:
    """Raise FormatError if the file read in the block is damaged or not Parquet.

    Arrow sometimes raises OSError for that.
    """
    try:
        yield
    except (pa.ArrowInvalid, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise FormatError(str(path), "byte 0", f"expected Parquet: {error}") from None
