"""Operations as Arrow columns.

``key``, ``value`` and ``result`` can be any JSON, so their columns hold JSON text.  This gives every workload the same
column types, and keys that group the same way in Spark and Python.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from history.errors import FormatError
from history.records.operations import Operation
from history.tables.schemas import OPERATIONS


def json_text(value: Any) -> str:
    """Return the canonical JSON text of a value.  Escapes lone surrogates, because columns are UTF-8."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() else clean(text)


def clean(text: str) -> str:
    """Escape lone surrogates as ``\\udXXX``, because recorded strings can contain them."""
    return text.encode("utf-8", "backslashreplace").decode()


def operations_table(operations: Sequence[Operation]) -> pa.Table:
    """Return operations as rows of ``operations.parquet``.

    Raises FormatError for a number that does not fit into 64 bits.
    """
    text = memo()
    columns: dict[str, list[Any]] = {name: [getattr(item, name) for item in operations] for name in OPERATIONS.names}
    columns["key"] = [None if key is None else text(key) for key in columns["key"]]
    columns["value"] = [text(value) for value in columns["value"]]
    columns["result"] = [text(item.result) if item.outcome == "ok" else None for item in operations]
    try:
        return table_of(columns, OPERATIONS)
    except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise FormatError("history", "some event", f"does not fit the table: {error}") from None


def table_of(columns: dict[str, list[Any]], schema: pa.Schema) -> pa.Table:
    """Make a table from columns, escaping lone surrogates in strings."""
    try:
        return pa.table(columns, schema=schema)
    except UnicodeEncodeError:
        return pa.table(_cleaned(columns), schema=schema)


def table_of_rows(rows: Iterable[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Make a table from rows, escaping lone surrogates in strings.

    Raises pa.ArrowException for a value of the wrong type, and ValueError for a missing one.
    """
    held = list(rows)
    try:
        table = pa.Table.from_pylist(held, schema)
    except UnicodeEncodeError:
        table = pa.Table.from_pylist(_cleaned(held), schema)
    for field, column in zip(schema, table.columns, strict=True):
        if not field.nullable and column.null_count:  # which Arrow accepts, and refuses to write
            raise ValueError(f"{field.name} is missing")
    return table


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {clean(name): _cleaned(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    return clean(value) if isinstance(value, str) else value


def memo() -> Callable[[Any], str]:
    """Return a :func:`json_text` that caches short strings, because a history repeats its keys thousands of times."""
    known: dict[tuple[type, Any], str] = {}

    def text(value: Any) -> str:
        if value is None:
            return "null"
        if type(value) is int:
            return str(value)
        if type(value) is not str or len(value) > 64:
            return json_text(value)
        if (cached := known.get((str, value))) is None:
            cached = known[str, value] = json_text(value)
        return cached

    return text
