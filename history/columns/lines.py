"""Read lines from any part of ``history.jsonl`` as event columns.

The compiled scanner reads lines that are formatted like those of our own writer.  The strict reader reads all other
lines, and all lines of a small block.  So both accept the same files and report the same errors.

``history.readers.jsonl_columns`` uses the same scanner and strict reader, but turns a whole file into operations on
registers.  This module turns a block into events with any function and their JSON strings, because an event's partner
may be in another block.  So the two share no code after the scanner.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from history.codes import ABSENT
from history.columns.events import EVENTS, events_table, misfit
from history.errors import FormatError
from history.readers.scanned import read_only
from history.records.events import NEMESIS, PHASES, TYPES, Event, read_event
from history.tables.operations import json_text

#: Smaller blocks, in bytes, go to the strict reader, because loading the scanner would take longer.
SMALL: Final = 4 << 20

CODED: Final = ("type", "f", "key", "node", "error", "phase")
_CODES: Final = pa.dictionary(pa.int32(), pa.string())
#: The columns of client events: those of EVENTS, with repeated texts dictionary-encoded.
COLUMNS: Final = pa.schema([(field.name, _CODES if field.name in CODED else field.type) for field in EVENTS])

_UNNAMED: Final = Path("-")
Bytes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.int64]


@dataclass(slots=True)
class Block:
    """Summary of a piece of a file: its number of lines, first and last event, and first problem.

    ``start`` is the offset of its first byte.  ``first`` and ``last`` are (index, time).  ``wrong`` is (line in the
    block, counted from 0; what is wrong with it).
    """

    start: int
    lines: int = 0
    first: tuple[int, int] | None = None
    last: tuple[int, int] | None = None
    wrong: tuple[int, str] | None = None


def read_block(data: Bytes, block: Block, small: int = SMALL) -> tuple[pa.Table, list[Event]]:
    """Read whole lines and return the client events, as a table of :data:`COLUMNS`, and the nemesis events.

    Skips the header in the file's first line and fills in ``block``.  If something is ``wrong``, the table is empty.
    """
    start = 0
    if block.start == 0:
        start = int(np.argmax(data == 10)) + 1
        block.lines = 1
    lines = _Lines(data, start) if data.size < small else _Scan(data, start)
    if lines.wrong is not None:
        block.wrong = (block.lines + lines.wrong[0], lines.wrong[1])
    _check_order(block, lines.index, lines.time)
    block.lines += lines.count
    return lines.table() if block.wrong is None else COLUMNS.empty_table(), lines.nemesis


def _check_order(block: Block, index: Ints, time: Ints) -> None:
    if not index.size:
        return
    block.first, block.last = (int(index[0]), int(time[0])), (int(index[-1]), int(time[-1]))
    bad = (index[1:] != index[:-1] + 1) | (time[1:] < time[:-1])
    if bad.any():
        place = int(bad.argmax())
        block.wrong = (
            block.lines + place + 1,
            not_next(int(index[place]), int(index[place + 1]), int(time[place + 1])),
        )


def not_next(before: int, index: int, time: int) -> str:
    """Say why an event cannot follow the one with the index ``before``."""
    if index != before + 1:
        return f"expected index {before + 1}, found {index}"
    return f"time {time} is before that of the line above"


class _Lines:
    """Lines read by the strict reader: ``index`` and ``time`` of all events before the first ``wrong`` one."""

    def __init__(self, data: Bytes, start: int) -> None:
        self.data = read_only(data)
        self.wrong: tuple[int, str] | None = None
        self.nemesis: list[Event] = []
        self.count, self.index, self.time = self._read(start)

    def _read(self, start: int) -> tuple[int, Ints, Ints]:
        """Read all lines strictly; return the number of lines and the indexes and times of their events."""
        ends = np.flatnonzero(self.data[start:] == 10) + start
        starts = np.append(start, ends[:-1] + 1)[: ends.size]
        self._events = [event for _, event in self.strictly(starts, ends, np.arange(ends.size))]
        index, time = ([getattr(event, name) for event in self._events] for name in ("index", "time"))
        return ends.size, np.array(index, np.int64), np.array(time, np.int64)

    def table(self) -> pa.Table:
        """Return the client events as a table of :data:`COLUMNS`."""
        return _coded([event for event in self._events if event.process != NEMESIS])

    def strictly(self, starts: Ints, ends: Ints, rows: Ints) -> list[tuple[int, Event]]:
        """Read some lines strictly, up to the first wrong one; return (line number, event) pairs."""
        events = []
        for start, end, row in zip(starts.tolist(), ends.tolist(), rows.tolist(), strict=True):
            try:
                events.append((row, self.event(start, end)))
            except FormatError as error:
                self.wrong = (row, error.message)
                break
        self.nemesis = [event for _, event in events if event.process == NEMESIS]
        return events

    def event(self, start: int, end: int) -> Event:
        """Read the event in a line. Raises FormatError that does not name the line."""
        event = read_event(self.data[start:end].tobytes(), _UNNAMED, 0)
        if (complaint := misfit(event)) is not None:
            raise FormatError(str(_UNNAMED), "line 0", complaint)
        return event


class _Scan(_Lines):
    """Lines read by the compiled scanner, or strictly if the scanner does not know them."""

    def _read(self, start: int) -> tuple[int, Ints, Ints]:
        from history.readers import jsonl_kernel as kernel

        self.kernel = k = kernel
        count = kernel.count_lines(self.data, start)
        # Store column by column, because every later step reads whole columns.
        rows = np.empty((k.WHOLE, count), np.int64).T
        names = [k.hash_name(np.frombuffer(name.encode(), np.uint8)) for name in (*k.NAMES, *PHASES, *TYPES)]
        kernel.scan(self.data, start, rows.T, np.array(names, np.int64))
        self._types = names[-len(TYPES) :]
        other = np.flatnonzero((rows[:, k.SHAPE] == k.STRANGE) | (rows[:, k.TEXT] == -1))
        parsed = self.strictly(rows[other, k.START], rows[other, k.END], other)
        if self.wrong is not None:
            rows = rows.T[:, : self.wrong[0]].T
        for row, event in parsed:
            rows[row, [k.INDEX, k.TIME]] = event.index, event.time
        self.rows = rows
        self._strange = {row: event for row, event in parsed if event.process != NEMESIS}
        self._plain = np.ones(len(rows), np.bool_)
        self._plain[[row for row, _ in parsed]] = False
        return count, rows[:, k.INDEX], rows[:, k.TIME]

    def table(self) -> pa.Table:
        k, places = self.kernel, np.flatnonzero(self._plain)
        rows = self.rows
        if places.size < len(rows):
            # Copy the stretches between other rows: choosing each row by its number would take eight times as long.
            others = np.flatnonzero(~self._plain)
            stretches = zip(np.append(0, others + 1).tolist(), np.append(others, len(rows)).tolist(), strict=True)
            rows = np.concatenate([rows.T[:, start:end] for start, end in stretches], axis=1).T
        types = np.zeros(len(rows), np.int32)
        for code, number in enumerate(self._types):
            types[rows[:, k.TYPE] == number] = code
        offsets, texts = k.gather(self.data, rows[:, k.TEXT], rows[:, k.TEXT_END])
        columns: dict[str, Any] = {
            "index": rows[:, k.INDEX], "time": rows[:, k.TIME], "type": _dictionary(types, TYPES),
            "process": rows[:, k.PROCESS],
            "value": pa.StringArray.from_buffers(len(rows), pa.py_buffer(offsets), pa.py_buffer(texts)),
            "phase": _dictionary(rows[:, k.PHASE].astype(np.int32), PHASES),
            "intended": pa.array(rows[:, k.INTENDED], mask=rows[:, k.INTENDED] == ABSENT),
        }  # fmt: skip
        for name, column in (("f", k.F), ("key", k.KEY), ("node", k.NODE), ("error", k.ERROR)):
            codes, first = k.number(rows[:, column])
            events = [self.event(*rows[row, [k.START, k.END]].tolist()) for row in first.tolist()]
            named = [getattr(event, name) for event in events]
            columns[name] = _dictionary(codes, [json_text(key) for key in named] if name == "key" else named)
        plain = pa.table(columns, schema=COLUMNS)
        if not self._strange:
            return plain
        both = pa.concat_tables([plain, _coded(list(self._strange.values()))]).unify_dictionaries().combine_chunks()
        return both.take(np.argsort(np.append(places, list(self._strange)), kind="stable"))


def _dictionary(codes: NDArray[np.int32], names: Any) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(names, pa.string()))


def _coded(events: list[Event]) -> pa.Table:
    table = events_table(events)
    columns = [
        pc.dictionary_encode(table[name]) if name in CODED else table[name] for name in EVENTS.names
    ]  # fmt: skip
    return pa.table(columns, schema=COLUMNS).combine_chunks()
