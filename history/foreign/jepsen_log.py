"""Jepsen's console log: ``INFO  jepsen.util - 3  :invoke  :write  2``, one event a line among other lines."""

from __future__ import annotations

import re
from typing import Any, Final

from history.errors import FormatError
from history.events import NEMESIS, Event
from history.foreign.edn import EdnReader

_EVENT: Final = re.compile(
    r"^(?:.*jepsen\.util\s+-?\s*)?(?P<process>\d+|:nemesis)\s+:(?P<type>invoke|ok|fail|info)\s+:(?P<f>\S+)(?:\s+(?P<value>.*))?$"
)


def read_jepsen_log(text: str, source: str) -> list[Event]:
    """The events of a console log; lines that are no events are passed over.

    A log has no times that can be trusted, so the time is the event's place.  ``:info`` lines carry ``:timed-out`` and
    the like instead of a value.
    """
    events: list[Event] = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _EVENT.match(line.rstrip())
        if match is None:
            if re.search(r"jepsen\.util\s+-?\s*\d+\s+:", line):
                raise FormatError(
                    source, f"line {number}", f"expected process, :type, :f and value, found {line[-60:]!r}"
                )
            continue
        index = len(events)
        process = NEMESIS if match["process"] == ":nemesis" else int(match["process"])
        kind: Any = match["type"]
        value, error = _value(match["value"] or "nil", f"{source}, line {number}"), None
        if kind in ("info", "fail") and isinstance(value, str):
            value, error = None, value
        events.append(Event(index, index, kind, process, match["f"], value, error=error))  # type: ignore[arg-type]
    if not events:
        raise FormatError(source, "line 1", "expected lines such as 'jepsen.util - 3 :invoke :write 2', found none")
    return events


def _value(text: str, source: str) -> Any:
    forms = list(EdnReader(text, source).forms())
    return forms[0].value if forms else None
