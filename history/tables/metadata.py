"""The name and version of a table in its Parquet files' metadata: written into each, checked at each reading."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from history.errors import FormatError

TABLE: Final = b"harness.table"
VERSION: Final = b"harness.version"

Readable: TypeAlias = Mapping[int, pa.Schema]
"""The versions of a table that this release reads, with their columns."""


def add_metadata(schema: pa.Schema, name: str, version: int) -> pa.Schema:
    """The schema with the table's name and version in the metadata, as it is written."""
    return schema.with_metadata({TABLE: name.encode(), VERSION: str(version).encode()})


def version_of(path: Path, name: str, readable: Readable, mend: str) -> int:
    """The version of the table ``name`` in a file.

    Raises FileNotFoundError, and FormatError for what is no Parquet, another table, a version that is not ``readable``
    (``mend`` names the command that writes it again), or has other columns than its version says.
    """
    try:
        schema = pq.read_schema(path)
    except pa.ArrowInvalid as error:
        raise _no_parquet(path, error) from None
    metadata = schema.metadata or {}
    found, text = metadata.get(TABLE, b"no table").decode(), metadata.get(VERSION, b"none").decode()
    if found != name:
        raise FormatError(str(path), "the schema", f"expected the table {name}, found {found}")
    version = next((version for version in readable if str(version) == text), None)
    if version is None:
        complaint = f"version {text} of {name} is not one that this release reads; {mend}"
        raise FormatError(str(path), "the schema", complaint)
    if not schema.equals(readable[version], check_metadata=False):
        raise FormatError(str(path), "the schema", f"the columns are not those of {name} version {version}")
    return version


def read_checked(path: Path, name: str, readable: Readable, mend: str) -> tuple[pa.Table, int]:
    """A whole file and its version.  Raises as :func:`version_of` does."""
    version = version_of(path, name, readable, mend)
    try:
        return pq.ParquetFile(path).read(), version
    except pa.ArrowInvalid as error:
        raise _no_parquet(path, error) from None


def _no_parquet(path: Path, error: pa.ArrowInvalid) -> FormatError:
    return FormatError(str(path), "byte 0", f"expected Parquet: {error}")
