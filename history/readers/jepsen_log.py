"""Jepsen's console log: ``INFO  jepsen.util - 3  :invoke  :write  2``, one event a line among other lines."""

from __future__ import annotations

import re
from typing import Any, Final

from history.errors import FormatError
from history.readers.edn import EdnReader
from history.readers.jepsen_events import Record, TextHistory, events_of
from history.records.events import NEMESIS

_EVENT: Final = re.compile(
    r"(?:.*jepsen\.util\s+-?\s*)?(?P<process>\d{1,18}|:nemesis)\s+:(?P<type>invoke|ok|fail|info)\s+:(?P<f>\S+)"
    r"(?:\s+(?P<value>.*))?",
    re.ASCII,
)
_LIKE_ONE: Final = re.compile(r"jepsen\.util\s+-?\s*((\d+|:nemesis)\s+:|\S+\s+:(invoke|ok|fail|info)\b)")
_INTEGER: Final = re.compile(r"-?(0|[1-9]\d{0,17})", re.ASCII)


def parse_jepsen_log(text: str, source: str) -> TextHistory:
    """The events of a console log, with their lines; lines that are no events are passed over.  Raises FormatError.

    A log has no times that can be trusted, so the time is the event's index.  ``:info`` and ``:fail`` lines may carry
    an error such as ``:timed-out`` after the value or instead of it.
    """
    lines = ((number, record_of(line, number, source)) for number, line in enumerate(text.split("\n"), start=1))
    records: list[Record] = [(number, record) for number, record in lines if record is not None]
    if not records:
        raise FormatError(source, "line 1", "expected lines such as 'jepsen.util - 3 :invoke :write 2', found none")
    return events_of(records, lambda place, message: FormatError(source, f"line {place}", message))


def record_of(line: str, number: int, source: str) -> dict[str, Any] | None:
    """One line as a map of its fields; None for a line that is no event.  Raises FormatError."""
    match = _EVENT.fullmatch(line.rstrip())
    if match is None:
        if _LIKE_ONE.search(line):
            raise FormatError(source, f"line {number}", f"expected process, :type, :f and value, found {line[-60:]!r}")
        return None
    process, type_, f, rest = match.groups()
    if process == ":nemesis":
        return {"process": NEMESIS, "type": type_, "f": f, "value": _describe(rest or "nil", source)}
    value, error = _value(type_, rest or "nil", source, number)
    return {"process": int(process), "type": type_, "f": f, "value": value, "error": error}


def _describe(text: str, source: str) -> Any:
    """The value of a nemesis event: EDN, or else the text as it is."""
    try:
        forms = [form.value for form in EdnReader(text, source).forms()]
    except FormatError:
        return text
    return forms[0] if len(forms) == 1 else text


def _value(type_: str, text: str, source: str, number: int) -> tuple[Any, Any]:
    """(value, error) from what stands behind the function's name."""
    if text == "nil":
        return None, None
    if _INTEGER.fullmatch(text):
        return int(text), None
    try:
        forms = [form.value for form in EdnReader(text, source).forms()]
    except FormatError as bad:
        raise FormatError(source, f"line {number}", bad.message) from None
    most = 2 if type_ in ("info", "fail") else 1
    if len(forms) > most:
        raise FormatError(source, f"line {number}", f"expected a value, found {len(forms)} of them in {text[:60]!r}")
    value, error = (*forms, None, None)[:2]
    # Of an operation that was answered ``:timed-out`` the value is not known.
    return (None, value) if most == 2 and isinstance(value, str) and error is None else (value, error)
