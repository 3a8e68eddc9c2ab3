"""The writer of ``history.jsonl``, which buffers events in time order and writes many at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from history.json_object import MOST_LEVELS, nests_deeper
from history.records.events import NEMESIS, Event, Header, Phase, Process, Type
from history.records.line_file import LineFile

#: Buffer at most this many lines before writing them: about a megabyte.
MAX_BUFFERED: Final = 4096
#: Digits of the longest integer that Python parses by default.
MOST_DIGITS: Final = 4300
_TOO_LONG: Final = 10**MOST_DIGITS


class UnwritableError(ValueError):
    """A value cannot be written as JSON, or no reader would accept it. Nothing is recorded then."""


class HistoryWriter:
    """Appends events to a new history.  One lock assigns index and time, so file order is time order.

    Events are buffered; call :meth:`sync` every 100 ms to bring them to the disk.  Nemesis events, and all events
    before them, reach the kernel before :meth:`append` returns, because the process that heals after a crash must know
    what each fault was about to do.  A process that is killed loses only the latest events, never one in the middle, so
    the file holds the complete history up to an earlier time.

    After a failed write, every later append raises the same ``OSError`` (see :class:`LineFile`).
    """

    def __init__(self, path: Path, header: Header, *, started_ns: int, clock: Callable[[], int]) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._started = started_ns
        self._index = 0
        self._closed = False
        self._file = LineFile(path)
        self._lines: list[_Line | msgspec.Raw] = [msgspec.Raw(_json(header.to_json()))]
        self._flush()

    def append(
        self,
        type: Type,  # noqa: A002 (the format's own name)
        process: Process,
        f: str,
        *,
        value: Any = None,
        key: str | int | None = None,
        node: str | None = None,
        error: str | None = None,
        phase: Phase | None = None,
        due: int | None = None,
    ) -> Event:
        """Record one event and return it.  ``due`` is when an invocation was due, in ns on this writer's clock.

        Raises UnwritableError for a bad ``value``, and OSError if this write or an earlier one failed.
        """
        written = _as_it_is_now(value)
        with self._lock:
            self._file.require_writable()
            time = self._clock() - self._started
            intended = None if due is None else min(due - self._started, time)
            event = Event(self._index, time, type, process, f, value, key, node, error, phase, intended)
            self._lines.append(_Line(self._index, time, type, process, f, key, written, node, error, phase, intended))
            self._index += 1
            if process == NEMESIS or len(self._lines) >= MAX_BUFFERED:
                self._flush()
            return event

    def sync(self) -> None:
        """Flush all appended events to the disk.  Raises OSError."""
        with self._lock:
            if self._closed:
                return
            self._flush()
        self._file.sync()

    def close(self) -> None:
        """Write the remaining events and close the file.  Raises OSError if that write fails.

        Does not raise again after an earlier failure.
        """
        with self._lock:
            if self._closed:
                return
            try:
                if self._file.failure is None:
                    self._flush()
            finally:
                self._file.close()
                self._closed = True
                self._file.failure = OSError("the history is closed")

    def _flush(self) -> None:
        lines, self._lines = self._lines, []
        self._file.write(_encoded(lines))


def _null() -> None:
    """Return None.  As a default factory, it makes msgspec write the field even if it is null."""


class _Line(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An event with its fields in written order."""

    index: int
    time: int
    type: str
    process: Process
    f: str
    key: str | int | None = None
    value: Any = msgspec.field(default_factory=_null)
    node: str | None = None
    error: str | None = None
    phase: str | None = None
    intended: int | None = None


_ENCODER: Final = msgspec.json.Encoder()
_PLAIN: Final = frozenset({int, str, bool, type(None)})
#: What msgspec's encoder raises for integers of more than 64 bits and for half a surrogate pair.
_NOT_TAKEN: Final = (OverflowError, ValueError)


def _as_it_is_now(value: Any) -> Any:
    """Return the value, encoded already if its owner could still change it.  Raises UnwritableError."""
    if type(value) is int and abs(value) >= _TOO_LONG:
        raise UnwritableError(f"a whole number of more than {MOST_DIGITS} digits")
    if type(value) in _PLAIN:
        return value
    if type(value) is list and _PLAIN.issuperset(map(type, value)):  # msgspec would write a NaN in it as null
        with suppress(*_NOT_TAKEN):
            return msgspec.Raw(_ENCODER.encode(value))
    try:
        text = _json(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise UnwritableError(str(error)) from None
    if nests_deeper(text, value, MOST_LEVELS):
        raise UnwritableError(f"lists and objects in more than {MOST_LEVELS} levels")
    return msgspec.Raw(text)


def _encoded(lines: list[_Line | msgspec.Raw]) -> bytes:
    """Return the encoded lines, each with its newline."""
    try:
        return _ENCODER.encode_lines(lines)
    except _NOT_TAKEN:
        return b"".join([_encoded_alone(line) for line in lines])


def _encoded_alone(line: _Line | msgspec.Raw) -> bytes:
    if isinstance(line, msgspec.Raw):
        return bytes(line) + b"\n"
    try:
        return _ENCODER.encode(line) + b"\n"
    except _NOT_TAKEN:
        record = msgspec.structs.asdict(line)
    if type(record["value"]) is msgspec.Raw:
        record["value"] = json.loads(bytes(record["value"]))
    written = {name: value for name, value in record.items() if value is not None or name == "value"}
    return _json(written) + b"\n"


def _json(value: Any) -> bytes:
    # UTF-8 cannot encode half a surrogate pair, so write it as a JSON escape.
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode(errors="backslashreplace")
