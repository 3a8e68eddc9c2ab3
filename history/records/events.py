"""``history.jsonl``: every invocation and completion, in the order in which the control node saw them.

The first line is a header; every other line is one event.  A file that was cut off at any byte (``kill -9``, a full
disk) can be read up to its last whole line.  Any other mistake is an error that names its line.

An ``ok`` completion repeats the request and adds the answer.  A ``cas`` that swapped ends with ``[old, new]``.  A
``cas`` that was refused because the register held something else also ends ``ok``, with ``[old, new, seen]``, where
``seen`` is the value it held (null: absent).  Such a refusal has no effect and is judged as a read of ``seen``.  A
refusal without ``seen`` is a ``fail``.

Version 2 added ``intended``, the time at which an invocation was due.
"""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, TypeAlias, get_args

import msgspec

from history.errors import FormatError
from history.json_object import MOST_LEVELS, load_object, nests_deeper

HISTORY_FORMAT: Final = "harness-history"
HISTORY_VERSION: Final = 1

Type: TypeAlias = Literal["invoke", "ok", "fail", "info"]
Phase: TypeAlias = Literal["warm-up", "main", "final"]
Process: TypeAlias = int | Literal["nemesis"]

#: One second in nanoseconds, the unit of all recorded times.
SECOND: Final = 1_000_000_000

TYPES: Final = get_args(Type)
PHASES: Final = get_args(Phase)
NEMESIS: Final = "nemesis"


class Event(msgspec.Struct, frozen=True, gc=False):
    """One invocation or completion.

    ``time`` is in nanoseconds since the run's start, on the control node's monotonic clock.  ``intended`` is when an
    invocation was due, in the same unit: at or before its ``time``, or None if unknown.  ``value`` and ``key`` are
    plain JSON.  ``error`` is the code and text of a ``fail`` or ``info``, and None otherwise.
    """

    index: int
    time: int
    type: Type
    process: Process
    f: str
    value: Any
    key: str | int | None = None
    node: str | None = None
    error: str | None = None
    phase: Phase | None = None
    intended: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the event as a JSON object.  Omits optional fields that are None, but never ``value``."""
        record: dict[str, Any] = {
            "index": self.index,
            "time": self.time,
            "type": self.type,
            "process": self.process,
            "f": self.f,
        }
        if self.key is not None:
            record["key"] = self.key
        record["value"] = self.value
        for name in ("node", "error", "phase", "intended"):
            if (known := getattr(self, name)) is not None:
                record[name] = known
        return record


#: The header field with the initial value of each register; absent if registers start empty.
INITIAL: Final = "initial"


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a history: what a reader without ``plan.json`` must know.

    ``model`` is None (``null`` in the file) if the system's own check judges the history instead of a checker model.
    """

    test: str = ""
    model: str | None = "register"
    seed: int | None = None
    started: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "format": HISTORY_FORMAT,
            "version": HISTORY_VERSION,
            "test": self.test,
            "model": self.model,
            "seed": self.seed,
            "started": self.started,
            **self.extra,
        }


@dataclass(frozen=True, slots=True)
class HistoryFile:
    """A history read from a file.  ``torn`` means that the last line was incomplete and left out."""

    header: Header
    events: list[Event]
    torn: bool


def line_of_event(index: int) -> str:
    """Name the line of the history file that holds the event with this index, as in ``line 7``."""
    return f"line {index + 2}"


def read_history(path: Path) -> HistoryFile:
    """Read a whole ``history.jsonl``.

    Raises OSError, and FormatError with the line number for any mistake other than a torn last line.
    """
    data = path.read_bytes()
    start, end = data.find(b"\n") + 1, data.rfind(b"\n") + 1
    header = header_of(data[:start], path)
    body = data[start:end]
    # The fast path accepts only what the strict reader also accepts. It leaves every doubtful line to the strict
    # reader, which names the mistake.
    events = plain_events(body)
    if events is None:
        events = [read_event(line, path, number) for number, line in enumerate(body.split(b"\n")[:-1], start=2)]
    # A gap or a step back in time means that the file was edited.  Its order can then no longer be trusted.
    times = [event.time for event in events]
    if [event.index for event in events] != list(range(len(events))) or times != sorted(times):
        _refuse_order(events, path)
    return HistoryFile(header, events, torn=end < len(data))


def _refuse_order(events: list[Event], path: Path) -> None:
    """Raise FormatError for the first event that does not follow the one before it."""
    time = events[0].time
    for position, event in enumerate(events):
        if event.index != position:
            raise FormatError(str(path), f"line {position + 2}", f"expected index {position}, found {event.index}")
        if event.time < time:
            raise FormatError(str(path), f"line {position + 2}", f"time {event.time} is before that of the line above")
        time = event.time


def torn_end(path: Path) -> str | None:
    """Describe the bytes after the last whole line, which readers ignore; None if there are none.  Raises OSError."""
    with path.open("rb") as file:
        return torn_note(file)


def torn_note(file: BinaryIO) -> str | None:
    """Describe the torn end of an open file, like :func:`torn_end`."""
    # A torn line may be long, so the window grows until it contains the last newline.
    size, window = file.seek(0, os.SEEK_END), 1 << 16
    while True:
        file.seek(max(0, size - window))
        end = file.read()
        if b"\n" in end or window >= size:
            break
        window *= 8
    if not (rest := end.rpartition(b"\n")[2]):
        return None
    nuls = len(rest) - len(rest.rstrip(b"\0"))
    if nuls == len(rest):
        return f"{nuls} NUL bytes at the end were left out: what had been written there was lost"
    more = f", {nuls} of them NUL" if nuls else ""
    return f"the last line was torn and is left out ({len(rest)} bytes{more})"


def load_json(text: str | bytes) -> Any:
    """Parse JSON strictly: reject NaN, infinite numbers and duplicate fields, which parsers read differently.

    Raises ValueError and RecursionError."""
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    return JSON_DECODER.decode(text)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"{text} is too large")
    return number


def _once(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(fields)
    if len(record) < len(fields):
        names = [name for name, _ in fields]
        raise ValueError(f"the field {next(name for name in names if names.count(name) > 1)!r} is given twice")
    return record


#: A shared strict decoder, because ``json.loads`` would make a new one on every call with these hooks.
JSON_DECODER: Final = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_once)


def parse_object(line: bytes, path: Path, number: int) -> dict[str, Any]:
    """Parse the JSON object in a line, with or without its newline.  Raises FormatError."""
    try:
        return load_object(line.removesuffix(b"\n"), load_json)
    except ValueError as error:
        raise FormatError(str(path), f"line {number}", str(error)) from None


def read_header(path: Path) -> Header:
    """Read only the header of a history.  Raises FormatError and OSError."""
    with path.open("rb") as file:
        return header_of(file.readline(), path)


def header_of(line: bytes, path: Path) -> Header:
    """Parse the header in a history's first line, which must end with a newline.  Raises FormatError."""
    if not line.endswith(b"\n"):
        raise FormatError(str(path), "line 1", "expected a history header, found no whole line")
    return parse_header(parse_object(line, path, 1), path)


def parse_header(record: dict[str, Any], path: Path) -> Header:
    """Convert the JSON object in line 1 to a header.  Raises FormatError for another format or version."""
    if record.get("format") != HISTORY_FORMAT:
        raise FormatError(str(path), "line 1", f'expected {{"format":"{HISTORY_FORMAT}",…}}, found {str(record)[:80]}')
    if record.get("version") != HISTORY_VERSION:
        wrong = f"version {record.get('version')!r} is not one that this release reads, which is {HISTORY_VERSION}"
        raise FormatError(str(path), "line 1", wrong)
    for name in ("nodes", "members"):
        names = record.get(name, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise FormatError(str(path), "line 1", f"{name!r} must be a list of strings, found {str(names)[:80]}")
    known = {"format", "version", "test", "model", "seed", "started"}
    model = record.get("model", "register")
    return Header(
        test=str(record.get("test", "")),
        model=None if model is None else str(model),
        seed=record.get("seed"),
        started=str(record.get("started", "")),
        extra={name: value for name, value in record.items() if name not in known},
    )


#: Reads the lines that our own writer writes, and most others, ten times as fast as the strict reader.
_EVENTS: Final = msgspec.json.Decoder(Event)
_OPTIONAL: Final = attrgetter("key", "node", "error", "phase", "intended")
_DOUBTFUL: Final = (b"\\", b'" ', b'"\t', b'"\r', b'"\n')
#: Two objects in one line, which ``decode_lines`` reads as two lines.
_TWO_OBJECTS: Final = re.compile(rb"\}[ \t\r]*\{")


def read_event(line: bytes, path: Path, number: int) -> Event:
    """Parse the event in a line, with or without its newline.  Raises FormatError that names the field."""
    try:
        event = _EVENTS.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass  # the strict reader reports the mistake, or accepts what msgspec does not, such as half a surrogate pair
    else:
        if _is_plain(line, event):
            return event
    return parse_event(parse_object(line, path, number), path, number)


def _is_plain(line: bytes, event: Event) -> bool:
    """Return whether msgspec overlooked nothing in the line that the strict reader rejects.

    This concerns duplicate fields and values that nest too deeply.  If a line has no backslash and no white space
    after a quote, ``":`` occurs only after field names.  So a plain line has as many ``":`` as the event has fields.
    """
    return (
        line.count(b'":') == 11 - _OPTIONAL(event).count(None)
        and not any(mark in line for mark in _DOUBTFUL)
        and not (len(line) > MOST_LEVELS and nests_deeper(line, event.value, MOST_LEVELS - 1))
    )


def plain_events(body: bytes) -> list[Event] | None:
    """Parse all lines of ``body`` at once, six times as fast; None if one of them may not be plain.

    Makes the same checks as ``_is_plain``, but on the totals.  No line has fewer names than its event has fields, so if
    the totals match, every line matches.  No line holds the start of two events, so if there are as many events as
    lines, each line holds one.
    """
    if any(mark in body for mark in _DOUBTFUL) or _TWO_OBJECTS.search(body) is not None:
        return None
    try:
        events = _EVENTS.decode_lines(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    absent = sum(_OPTIONAL(event).count(None) for event in events)
    if len(events) != body.count(b"\n") or body.count(b'":') != 11 * len(events) - absent:
        return None
    nested = [(at, event.value) for at, event in enumerate(events) if isinstance(event.value, (list, dict))]
    if nested:
        lines = body.split(b"\n")
        if any(
            len(lines[at]) > MOST_LEVELS and nests_deeper(lines[at], value, MOST_LEVELS - 1) for at, value in nested
        ):
            return None
    return events


def parse_event(record: dict[str, Any], path: Path, number: int) -> Event:
    """Convert the JSON object in a line to an event.  Raises FormatError that names the field."""

    def wrong(message: str) -> FormatError:
        return FormatError(str(path), f"line {number}", message)

    for name, kind in (("index", int), ("time", int), ("type", str), ("f", str)):
        if name not in record:
            raise wrong(f"the field {name!r} is missing")
        if not isinstance(record[name], kind) or isinstance(record[name], bool):
            raise wrong(f"{name!r} must be {kind.__name__}, found {record[name]!r}")
    if record["type"] not in TYPES:
        raise wrong(f"type must be one of {', '.join(TYPES)}; found {record['type']!r}")
    process = record.get("process")
    if process != NEMESIS and (not isinstance(process, int) or isinstance(process, bool)):
        raise wrong(f"process must be an integer or {NEMESIS!r}, found {process!r}")
    if answers_nothing(record):
        raise wrong(UNANSWERED.format("'value'"))
    if (complaint := _optional_fields(record)) is not None:
        raise wrong(complaint)
    return Event(
        record["index"],
        record["time"],
        record["type"],
        process,
        record["f"],
        record.get("value"),
        record.get("key"),
        record.get("node"),
        record.get("error"),
        record.get("phase"),
        record.get("intended"),
    )


#: The error for an ok read without a value.  Reading it as null would mean that the read found nothing.
UNANSWERED: Final = "the field {} is missing: an ok read states what was read, or null if nothing was"


def answers_nothing(record: dict[str, Any]) -> bool:
    """Return whether the record is an ok read that does not say what was read."""
    return record["type"] == "ok" and record["f"] == "read" and "value" not in record and record["process"] != NEMESIS


def _optional_fields(record: dict[str, Any]) -> str | None:
    """Describe the first mistake in the optional fields; None if there is none."""
    if (phase := record.get("phase")) is not None and phase not in PHASES:
        return f"phase must be one of {', '.join(PHASES)}; found {phase!r}"
    if (key := record.get("key")) is not None and (not isinstance(key, str | int) or isinstance(key, bool)):
        return f"key must be a string or an integer, found {key!r}"
    for name in ("node", "error"):
        if (text := record.get(name)) is not None and not isinstance(text, str):
            return f"{name!r} must be a string, found {text!r}"
    if (intended := record.get("intended")) is not None and type(intended) is not int:
        return f"'intended' must be an integer, found {intended!r}"
    return None
