"""Our own ``tables/operations.parquet`` back as operations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from history.errors import FormatError
from history.operations import Operation

_NEEDED = ("invoke_index", "process", "f", "value", "outcome", "invoked")
_TEXTS = ("key", "value", "result")


def read_parquet(path: Path) -> list[Operation]:
    """Operations in the order of their invocations.  Raises FormatError for missing columns and empty cells."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise FormatError(str(path), "byte 0", f"expected Parquet: {error}") from None
    for name in _NEEDED:
        if name not in table.column_names:
            raise FormatError(str(path), "the schema", f"the column {name!r} is missing")
    operations = [_operation(number, record, path) for number, record in enumerate(table.to_pylist())]
    return sorted(operations, key=lambda operation: operation.invoke_index)


def _operation(number: int, record: dict[str, Any], path: Path) -> Operation:
    for name in ("invoke_index", "invoked", "process"):
        if type(record[name]) is not int:
            raise FormatError(str(path), f"row {number}", f"{name!r} must be an integer, found {record[name]!r}")
    if record["outcome"] not in ("ok", "fail", "info"):
        raise FormatError(str(path), f"row {number}", f"outcome must be ok, fail or info, found {record['outcome']!r}")
    try:
        texts = {name: None if record.get(name) is None else json.loads(record[name]) for name in _TEXTS}
    except (TypeError, ValueError) as error:
        raise FormatError(str(path), f"row {number}", f"expected JSON: {error}") from None
    return Operation.from_json({**record, **texts})
