"""Convert whole operations, with the times at which they started and ended, to events.

Events are ordered by time.  If two have the same time, the invocation comes first: then the operations overlap, so the
history claims no order that the times do not show.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from history.readers.records import Record, Wrong
from history.records.events import TYPES

_ENDS: Final = tuple(type_ for type_ in TYPES if type_ != "invoke")


def events_of_operations(operations: Sequence[Record], wrong: Wrong) -> list[Record]:
    """Convert each operation to an invocation and, if it has an ``end``, a completion; return the records in order.

    An operation has the fields ``start``, ``end``, ``type``, ``value`` and ``result``.  Without a ``type``, it is ok if
    it has an ``end`` and no ``error``, and in doubt otherwise.  An operation without a ``process``, or whose process
    has another operation open, gets a new process.  Raises FormatError.
    """
    moments: list[tuple[int, int, int, Record]] = []
    # All times come from one clock and have one unit: if one of them is 1.5, then 2 means two seconds.
    seconds = any(isinstance(operation.get(name), float) for _, operation in operations for name in ("start", "end"))
    for number, (place, operation) in enumerate(operations):
        start, end = (_moment(place, name, operation.get(name), seconds, wrong) for name in ("start", "end"))
        if start is None:
            raise wrong(place, "the field 'start' is missing")
        type_ = operation.get("type")
        if type_ is None:
            type_ = "info" if end is None or operation.get("error") is not None else "ok"
        if type_ not in _ENDS:
            raise wrong(place, f"expected an operation to end as one of {', '.join(_ENDS)}; found {type_!r}")
        if type_ == "ok" and end is None:
            raise wrong(place, "an operation that is ok must have an end, which is missing")
        if end is not None and end < start:
            raise wrong(place, f"the operation ends at {end}, before it starts at {start}")
        shared: dict[str, Any] = {
            name: operation[name] for name in ("process", "f", "key", "node") if name in operation
        }
        request = operation.get("value")
        began, ended = operation.get("began", start), operation.get("ended", end)
        moments.append((start, 0, number, (place, {**shared, "type": "invoke", "time": began, "value": request})))
        if end is None:
            continue
        answer = {**shared, "type": type_, "time": ended, "value": request, "error": operation.get("error")}
        if type_ == "ok" and "result" in operation and operation["result"] is not None:
            answer["value"] = operation["result"]
        elif type_ == "ok" and "result" in operation and operation.get("f") not in _ECHOING:
            answer["value"] = None
        moments.append((end, 1, number, (place, answer)))
    moments.sort(key=lambda moment: moment[:3])
    return _with_processes(moments)


#: Functions whose answer repeats the request, so a null result has no meaning.
_ECHOING: Final = ("write", "cas", "add", "put", "enqueue", "transfer", "txn")


def _with_processes(moments: Sequence[tuple[int, int, int, Record]]) -> list[Record]:
    """Give an operation a new process if it has none or its process has another operation open."""
    given = [record.get("process") for *_, (_, record) in moments]
    free = max([0, *(process for process in given if type(process) is int)]) + 1
    open_now: dict[Any, int] = {}
    process_of: dict[int, Any] = {}
    records: list[Record] = []
    for _, is_end, number, (place, record) in moments:
        if not is_end:
            process = record.get("process")
            if process is None or process in open_now:
                process, free = free, free + 1
            open_now[process] = number
            process_of[number] = process
        process = process_of[number]
        if is_end:
            open_now.pop(process, None)
        records.append((place, {**record, "process": process}))
    return records


def _moment(place: int, name: str, value: Any, seconds: bool, wrong: Wrong) -> int | None:
    """Return a time in nanoseconds.

    Numbers are nanoseconds, or seconds with ``seconds``. Strings are whole nanoseconds or ISO 8601 dates.  None for
    null and for an empty string.
    """
    if isinstance(value, str):
        moment = int(value) if _INTEGER.fullmatch(value) else moment_of(value)
        if moment is None and value:
            raise wrong(place, f"{name!r} must be a number or an ISO 8601 date, found {value[:60]!r}")
        return moment
    if value is None:
        return None
    if (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and math.isfinite(value)
        and abs(value) < _LARGEST
    ):
        return round(value * 1e9) if seconds else int(value)
    raise wrong(place, f"{name!r} must be a number or an ISO 8601 date, found {value!r}")


_INTEGER: Final = re.compile(r"-?\d{1,18}", re.ASCII)
_LARGEST: Final = 1 << 62
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def moment_of(text: str) -> int | None:
    """Return an ISO 8601 date as nanoseconds since 1970; None for any other text.  The default time zone is UTC."""
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    # Compute in whole microseconds, because a float of that many nanoseconds would be rounded.
    since = (date if date.tzinfo else date.replace(tzinfo=UTC)) - _EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000
