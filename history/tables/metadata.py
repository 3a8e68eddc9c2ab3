"""The name and version of a table in its Parquet files' metadata: written into each, checked at each reading.

Schemas are additive: a column that an older file lacks is null, or taken from the JSON text that it was before.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from history.errors import FormatError
from history.tables.schemas import FORMERLY

TABLE: Final = b"harness.table"
VERSION: Final = b"harness.version"


def add_metadata(schema: pa.Schema, name: str, version: int) -> pa.Schema:
    """The schema with the table's name and version in the metadata, as it is written."""
    return schema.with_metadata({TABLE: name.encode(), VERSION: str(version).encode()})


def version_of(path: Path, name: str, schema: pa.Schema, versions: Sequence[int], mend: str) -> int:
    """The version of the table ``name`` in a file; ``schema`` is today's.

    Raises FileNotFoundError, and FormatError for what is no Parquet, another table, a version that is not among
    ``versions`` (``mend`` names the command that writes it again), or has columns that are not ``schema``'s.
    """
    try:
        found = pq.read_schema(path)
    except pa.ArrowInvalid as error:
        raise _no_parquet(path, error) from None
    metadata = found.metadata or {}
    table, text = metadata.get(TABLE, b"no table").decode(), metadata.get(VERSION, b"none").decode()
    if table != name:
        raise FormatError(str(path), "the schema", f"expected the table {name}, found {table}")
    version = next((version for version in versions if str(version) == text), None)
    if version is None:
        complaint = f"version {text} of {name} is not one that this release reads; {mend}"
        raise FormatError(str(path), "the schema", complaint)
    if not _fits(found, name, schema, exact=version == max(versions)):
        raise FormatError(str(path), "the schema", f"the columns are not those of {name} version {version}")
    return version


def _fits(found: pa.Schema, name: str, schema: pa.Schema, *, exact: bool) -> bool:
    """Can a file with these columns be read as today's?"""
    if exact:
        return bool(found.equals(schema, check_metadata=False))
    formerly = FORMERLY.get(name, {})
    texts = [column for column in found.names if column in formerly.values()]
    known = [column for column in found.names if column not in texts]
    return all(found.field(column).type == pa.string() for column in texts) and all(
        column in schema.names and found.field(column).type == schema.field(column).type for column in known
    )


def read_checked(path: Path, name: str, schema: pa.Schema, versions: Sequence[int], mend: str) -> tuple[pa.Table, int]:
    """A whole file with the columns of ``schema``, and its version.  Raises as :func:`version_of` does."""
    version = version_of(path, name, schema, versions, mend)
    try:
        table = pq.ParquetFile(path).read()
    except pa.ArrowInvalid as error:
        raise _no_parquet(path, error) from None
    return (table if version == max(versions) else _converted(table, name, schema)), version


def _converted(table: pa.Table, name: str, schema: pa.Schema) -> pa.Table:
    """The table with the columns of ``schema``."""
    formerly = FORMERLY.get(name, {})
    columns = []
    for field in schema:
        if field.name in table.column_names:
            columns.append(table[field.name])
        elif (text := formerly.get(field.name)) in table.column_names:
            cells = [None if cell is None else json.loads(cell) for cell in table[text].to_pylist()]
            columns.append(pa.chunked_array([pa.array(cells, field.type)]))
        else:
            columns.append(pa.nulls(len(table), field.type))
    return pa.Table.from_arrays(columns, schema=schema.with_metadata(table.schema.metadata))


def _no_parquet(path: Path, error: pa.ArrowInvalid) -> FormatError:
    return FormatError(str(path), "byte 0", f"expected Parquet: {error}")
