"""The writer of ``history.jsonl``: events in the order of their times, buffered and written many at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from history.records.events import NEMESIS, Event, Header, Phase, Process, Type
from history.records.line_file import LineFile

#: At most this many lines are kept before they are written: about a megabyte.
MAX_BUFFERED: Final = 4096


class HistoryWriter:
    """Appends events; index and time are given under one lock, so file order is time order.

    Events are buffered: call :meth:`sync` every 100 ms, which brings them to the disk.  Those of the nemesis reach the
    kernel before :meth:`append` returns, with all before them, because what a fault is about to do must be known to the
    process that heals after us.  A process that is killed loses the events of the last moments, never one in the
    middle: what is left is the history up to an earlier time.

    After a failed write every later append raises the same ``OSError`` (see :class:`LineFile`).
    """

    def __init__(self, path: Path, header: Header, *, started_ns: int, clock: Callable[[], int]) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._started = started_ns
        self._index = 0
        self._closed = False
        self._file = LineFile(path)
        self._lines = [_line(header.to_json())]
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
        """Record one event and return it; ``due`` is when an invocation was due (ns, this writer's clock).

        Raises OSError when the disk refused this one or an earlier one.
        """
        with self._lock:
            self._file.require_writable()
            time = self._clock() - self._started
            intended = None if due is None else min(due - self._started, time)
            event = Event(self._index, time, type, process, f, value, key, node, error, phase, intended)
            self._lines.append(_encoded(event))
            self._index += 1
            if process == NEMESIS or len(self._lines) >= MAX_BUFFERED:
                self._flush()
            return event

    def sync(self) -> None:
        """Bring what was appended to the disk.  Raises OSError."""
        with self._lock:
            if self._closed:
                return
            self._flush()
        self._file.sync()

    def close(self) -> None:
        """Write what is left.  Raises OSError when the disk refuses it, for the first time."""
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
        lines, self._lines = b"".join(self._lines), []
        self._file.write(lines)


def _null() -> None:
    """The default of a field that is written even where it is null."""


class _Line(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An event with its fields in the order in which they are written."""

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


def _encoded(event: Event) -> bytes:
    """The event's line."""
    value = event.value
    # The quick encoder writes NaN as null, which would be another answer.
    if type(value) in _PLAIN or (type(value) is list and _PLAIN.issuperset(map(type, value))):
        try:
            e = event
            line = _Line(
                e.index, e.time, e.type, e.process, e.f, e.key, value, e.node, e.error, e.phase, e.intended
            )  # fmt: skip
            return _ENCODER.encode(line) + b"\n"
        except (OverflowError, UnicodeEncodeError):  # more than 64 bits; half a surrogate pair
            pass
    return _line(event.to_json())


def _line(record: dict[str, Any]) -> bytes:
    # Half a surrogate pair, which UTF-8 cannot encode, is written as JSON's escape of it.
    return (json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n").encode(errors="backslashreplace")
