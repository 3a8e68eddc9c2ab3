"""Read register operations in ``history.jsonl`` as columns: a million operations in a second or two.

This reader is as strict as ``read_history`` and ``pair``: the same mistakes raise the same errors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from history.errors import FormatError
from history.readers.columns import OperationColumns
from history.readers.scanned import LARGEST, NotColumnarError, Scanned, read_bytes
from history.records.events import (
    NEMESIS,
    PHASES,
    TYPES,
    Event,
    Header,
    line_of_event,
    parse_event,
    parse_object,
    read_history,
)
from history.records.operations import pair


@dataclass(frozen=True, slots=True)
class ColumnFile:
    """A history as columns, with its header.  ``torn`` means that the last line was incomplete and left out."""

    header: Header
    columns: OperationColumns
    torn: bool


#: Matches a client's function that registers lack, in a line as our own writer formats it.
_OTHER_FUNCTION: Final = re.compile(rb'"process":\d+,"f":"(?!(?:read|write|cas)")([^"\\]*)"')
_LOOKED_AT: Final = 1 << 16


def read_columns(path: Path) -> ColumnFile:
    """Read a history of register operations as columns.

    Raises OSError, FormatError like ``read_history`` and ``pair``, and NotColumnarError if those must be used instead.
    """
    header, data, start = read_bytes(path)
    # The first lines show whether the object is not a register, before any compiled code is loaded.
    if (other := _OTHER_FUNCTION.search(data[start : start + _LOOKED_AT].tobytes())) is not None:
        raise NotColumnarError(f"the function {other[1].decode(errors='replace')!r}")
    scanned = Scan(data, start, path)
    return ColumnFile(header, scanned.columns(), bool(data[-1] != 10))


class Scan(Scanned):
    """The events of one ``history.jsonl``. Lines that the scanner does not recognize are read one by one."""

    def __init__(self, data: NDArray[np.uint8], start: int, path: Path) -> None:
        """Scan the lines of a file from the byte ``start`` on.  ``data`` is from ``read_bytes``."""
        from history.readers import jsonl_kernel as kernel

        self.path = path
        # Store column by column, because every later step reads whole columns.
        super().__init__(data, np.empty((kernel.WIDTH, kernel.count_lines(data, start)), np.int64).T, str(path))
        known = [self.hash(name) for name in (*kernel.NAMES, *PHASES, *TYPES)]
        kernel.scan(data, start, self.rows.T, np.array(known, np.int64))
        if ((self.rows[:, kernel.PROCESS] == kernel.NEMESIS) & (self.rows[:, kernel.SHAPE] != kernel.STRANGE)).any():
            raise NotColumnarError("a process that has the nemesis' number")
        self._mend_strange()
        self._check_order()

    def event(self, row: int) -> Event:
        """Read the line of a row with the strict reader.  Raises FormatError."""
        start, end = self.rows[row, self.kernel.START], self.rows[row, self.kernel.END]
        return parse_event(parse_object(self.data[start:end].tobytes(), self.path, row + 2), self.path, row + 2)

    def _mend_strange(self) -> None:
        """Read the lines that the scanner does not know: nemesis events, unusual values, and mistakes."""
        k = self.kernel
        for row in np.flatnonzero(self.rows[:, k.SHAPE] >= k.OTHER).tolist():
            event = self.event(row)
            if max(abs(event.index), abs(event.time), event.process != NEMESIS and abs(event.process)) >= LARGEST:
                raise NotColumnarError(f"the numbers of event {row}")
            self.rows[row, [k.INDEX, k.TIME]] = event.index, event.time
            if event.process == NEMESIS:
                self.rows[row, k.PROCESS] = k.NEMESIS
                self.rows[row, k.SHAPE] = k.NULL
                continue
            self.rows[row, k.PROCESS] = event.process
            self.rows[row, k.TYPE], self.rows[row, k.F] = self.hash(event.type), self.hash(event.f)
            self.rows[row, k.KEY] = self.key_number(event.key)
            if not self.keep_value(self.rows[row], event.value):
                raise NotColumnarError(f"the value {event.value!r} of event {event.index}")

    def _check_order(self) -> None:
        k = self.kernel
        wrong = np.flatnonzero(self.rows[:, k.INDEX] != np.arange(len(self.rows)))
        back = np.flatnonzero(np.diff(self.rows[:, k.TIME]) < 0) + 1
        if wrong.size and (not back.size or wrong[0] <= back[0]):
            row = int(wrong[0])
            raise self._wrong(row, f"expected index {row}, found {self.rows[row, k.INDEX]}")
        if back.size:
            row = int(back[0])
            raise self._wrong(row, f"time {self.rows[row, k.TIME]} is before that of the line above")

    def _wrong(self, row: int, message: str) -> FormatError:
        return FormatError(str(self.path), f"line {row + 2}", message)

    def refuse(self, why: str) -> None:
        """Raise the row-wise reader's FormatError for the first wrong event, or NotColumnarError if it finds none."""
        pair(read_history(self.path).events, str(self.path), line_of_event)
        raise NotColumnarError(why)
