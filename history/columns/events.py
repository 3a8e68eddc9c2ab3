"""Convert events to Arrow columns and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, cast

import pyarrow as pa

from history.records.events import NEMESIS, Event
from history.tables.operations import memo, table_of

#: One row for each event, as in ``history.jsonl``; ``process`` is null for the nemesis.
EVENTS: Final = pa.schema(
    [
        pa.field("index", pa.int64(), nullable=False),
        pa.field("time", pa.int64(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("process", pa.int64()),
        pa.field("f", pa.string(), nullable=False),
        pa.field("key", pa.string()),
        pa.field("value", pa.string(), nullable=False),
        pa.field("node", pa.string()),
        pa.field("error", pa.string()),
        pa.field("phase", pa.string()),
        pa.field("intended", pa.int64()),
    ]
)

_INT64_MAX: Final = 2**63 - 1


def events_table(events: Sequence[Event]) -> pa.Table:
    """Convert events to a table with the schema :data:`EVENTS`. Numbers must fit (see :func:`misfit`)."""
    text = memo()
    columns: dict[str, list[Any]] = {
        "index": [event.index for event in events],
        "time": [event.time for event in events],
        "type": [event.type for event in events],
        "process": [None if event.process == NEMESIS else event.process for event in events],
        "f": [event.f for event in events],
        "key": [None if event.key is None else text(event.key) for event in events],
        "value": [text(event.value) for event in events],
        "node": [event.node for event in events],
        "error": [event.error for event in events],
        "phase": [event.phase for event in events],
        "intended": [event.intended for event in events],
    }
    return table_of(columns, EVENTS)


def misfit(event: Event) -> str | None:
    """Describe the first number of an event that does not fit into 64 bits; None if all fit."""
    for name in ("index", "time", "process", "intended"):
        number = getattr(event, name)
        if isinstance(number, int) and not -_INT64_MAX <= number <= _INT64_MAX:
            return f"{name!r} does not fit in 64 bits: {number}"
    return None


def events_of(table: pa.Table) -> list[Event]:
    """Convert the rows of an events table to events."""
    rows = table.to_pylist()
    for row in rows:
        row["process"] = NEMESIS if row["process"] is None else row["process"]
        row["key"], row["value"] = key_of(row["key"]), json.loads(row["value"])
    return [Event(**row) for row in rows]


def key_of(text: str | None) -> str | int | None:
    """Return the key that a column stores as ``text``."""
    return cast("str | int | None", _value_of(text))


def _value_of(text: str | None) -> Any:
    return None if text is None else json.loads(text)
