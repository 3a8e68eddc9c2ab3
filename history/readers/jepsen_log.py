"""Read Jepsen's ``jepsen.log``, ``history.txt`` and console output: one event per line, among other lines.

An event such as ``3  :invoke  :write  2`` stands alone (``history.txt``) or after the logger's name: ``jepsen.util -``
in 2014, ``jepsen.util:`` since 2016, ``jepsen.print:`` since 2026.  A date, a level and a thread may precede the name.
"""

from __future__ import annotations

import re
from typing import Any, Final

from history.errors import FormatError
from history.readers.edn import EdnReader
from history.readers.records import Record, Records
from history.records.events import NEMESIS

_LOGGER: Final = r"jepsen\.(?:util|print)(?::|\s+-|(?=\s))\s*"
_EVENT: Final = re.compile(
    rf"(?:.*{_LOGGER})?(?P<process>\d{{1,18}}|:nemesis)\s+:(?P<type>invoke|ok|fail|info)\s+:(?P<f>\S+)"
    r"(?:\s+(?P<value>.*))?",
    re.ASCII,
)
_LIKE_ONE: Final = re.compile(rf"{_LOGGER}((\d+|:nemesis)\s+:|\S+\s+:(invoke|ok|fail|info)\b)")
_INTEGER: Final = re.compile(r"-?(0|[1-9]\d{0,17})", re.ASCII)
#: Types of completions that repeat the invocation's value and may carry an error.
DOUBTED: Final = ("info", "fail")
_EXAMPLES: Final = "'jepsen.util: 3 :invoke :write 2' or '3 :invoke :write 2'"


def parse_jepsen_log(text: str, source: str) -> Records:
    """Parse the events in a log into records, skipping other lines.  Raises FormatError.

    A log has no reliable times, so records have none and an event's index serves as its time.  ``:info`` and ``:fail``
    lines may carry an error after the value or instead of it, possibly as free text that continues on further lines.
    """
    records: list[Record] = []
    requests: dict[Any, Any] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if (record := record_of(line, number, source)) is None:
            continue
        process = record["process"]
        if record["type"] == "invoke":
            requests[process] = record["value"]
        elif record["type"] in DOUBTED and record["value"] is None and process != NEMESIS:
            record["value"] = requests.get(process)
        records.append((number, record))
    if not records:
        raise FormatError(source, "line 1", f"expected lines such as {_EXAMPLES}, found none")
    return Records(records, lambda place, message: FormatError(source, f"line {place}", message))


def record_of(line: str, number: int, source: str) -> dict[str, Any] | None:
    """Parse the fields in one line; None if the line is not an event.  Raises FormatError."""
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
    """Parse a string as EDN, or return it unchanged if it is not a single form."""
    try:
        forms = [form.value for form in EdnReader(text, source).forms()]
    except FormatError:
        return text
    return forms[0] if len(forms) == 1 else text


def _value(type_: str, text: str, source: str, number: int) -> tuple[Any, Any]:
    """Parse the text after the function's name, EDN followed by an optional error, into (value, error)."""
    if text == "nil":
        return None, None
    if _INTEGER.fullmatch(text):
        return int(text), None
    reader = EdnReader(text, source)
    try:
        value = next(reader.forms()).value
    except (FormatError, StopIteration) as bad:
        if type_ in DOUBTED:
            return None, text
        message = bad.message if isinstance(bad, FormatError) else "expected a value, found a comment"
        raise FormatError(source, f"line {number}", message) from None
    rest = text[reader.place :].strip()
    if rest and type_ not in DOUBTED:
        raise FormatError(source, f"line {number}", f"expected one value, found more in {text[:60]!r}")
    error = _describe(rest, source) if rest else None
    # An answer such as ``:timed-out`` or plain words is an error, and then the value is unknown.
    if type_ in DOUBTED and isinstance(value, str) and not text.startswith('"'):
        return None, text.lstrip(":") if rest else value
    return value, error
