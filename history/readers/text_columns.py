"""Read Jepsen's EDN and console log and porcupine's kv line by line: a million operations in seconds.

The operations equal those of ``events_of`` and ``pair``.  A file without one plain event per line raises
NotColumnarError; then those functions must read the file, and they word the errors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from history.codes import ABSENT
from history.errors import FormatError
from history.readers.columns import OperationColumns
from history.readers.edn import EdnReader
from history.readers.jepsen_events import check_record, event_of
from history.readers.jepsen_log import DOUBTED, record_of
from history.readers.porcupine_kv import FUNCTIONS
from history.readers.scanned import LARGEST, Ints, NotColumnarError, Scanned, read_only
from history.records.events import NEMESIS, Event
from history.records.operations import Operation, Outcome, contradiction

_BOM: Final = (0xEF, 0xBB, 0xBF)
#: Outcomes, indexed by the position of the completion's type in TYPES.
_OUTCOMES: Final[tuple[Outcome, ...]] = ("info", "ok", "fail", "info")


def read_lines(path: Path, kind: str) -> tuple[OperationColumns | list[Operation], Callable[[int], str]]:
    """Read the operations in a file of the format ``edn``, ``jepsen-log`` or ``porcupine-kv``, as columns if they fit.

    Also returns the function that maps an event's index to its place.

    Raises OSError, and NotColumnarError if the file must be read row by row.
    """
    data = np.fromfile(path, np.uint8)
    start = 3 if tuple(data[:3].tolist()) == _BOM else 0
    try:
        scanned = _Lines(data, start, str(path), is_log=kind == "jepsen-log")
        if kind == "porcupine-kv":
            scanned.require_kv()
            return scanned.operations(), scanned.place
        try:
            return scanned.columns(), scanned.place
        except NotColumnarError:
            return scanned.operations(), scanned.place
    except FormatError as error:
        raise NotColumnarError(str(error)) from None


class TextScan(Scanned):
    """The lines of a file as rows of the compiled scanner; some are unknown to it, and some are not events."""

    def __init__(self, data: NDArray[np.uint8], start: int, source: str, *, is_log: bool) -> None:
        from history.readers import jsonl_kernel, text_kernel

        self.texts, self.is_log, self.later = text_kernel, is_log, text_kernel.TEXT
        data = read_only(data)
        lines = jsonl_kernel.count_lines(data, start) + bool(data.size > start and data[-1] != 10)
        super().__init__(data, np.empty((text_kernel.WIDTH, lines), np.int64).T, source)
        names = np.array([self.hash(name) for name in text_kernel.NAMES], np.int64)
        text_kernel.scan_texts(data, start, self.rows.T, names, is_log)

    def record(self, row: int, number: int = 0) -> dict[str, Any] | None:
        """Parse the fields in one line; None if the line is not an event.

        Raises NotColumnarError if the line is not exactly one map, and FormatError, which gives a log's line this
        ``number``.
        """
        start, end = self.rows[row, self.kernel.START], self.rows[row, self.kernel.END]
        try:
            line = self.data[start:end].tobytes().decode()
        except UnicodeDecodeError as error:
            raise NotColumnarError(str(error)) from None
        if self.is_log:
            return record_of(line, number, self.source)
        forms = [form.value for form in EdnReader(line, self.source).forms()]
        if len(forms) != 1 or not isinstance(forms[0], dict):
            raise NotColumnarError(f"{len(forms)} forms in a line")
        return forms[0]


class _Lines(TextScan):
    """The events of one file, one on each line."""

    def __init__(self, data: NDArray[np.uint8], start: int, source: str, *, is_log: bool) -> None:
        super().__init__(data, start, source, is_log=is_log)
        self.keyed = False
        for row in np.flatnonzero(self.rows[:, self.kernel.SHAPE] == self.kernel.STRANGE).tolist():
            self._mend(row)
        blank = self.rows[:, self.kernel.SHAPE] == self.texts.BLANK
        numbers = np.flatnonzero(~blank) + 1
        self.place: Callable[[int], str] = lambda row: f"line {numbers[row]}"
        if blank.any():
            self.rows = self.rows.T[:, ~blank].T
        if not len(self.rows):
            raise NotColumnarError("there is no event")
        self._check_order()
        self._take_keys()

    def event(self, row: int) -> Event:
        record = self.record(row)
        assert record is not None
        return event_of(row, 0, record, self.keyed, self._wrong)

    def _wrong(self, place: int, message: str) -> FormatError:  # noqa: ARG002 (the row-wise reader words it)
        return FormatError(self.source, "some line", message)

    def _mend(self, number: int) -> None:
        """Read a line that the scanner does not know: a nemesis event, an unusual value, or a mistake."""
        k, row = self.kernel, self.rows[number]
        if (record := self.record(number)) is None:
            row[k.SHAPE] = self.texts.BLANK
            return
        check_record(0, record, self._wrong)
        event = event_of(number, 0, record, False, self._wrong)  # noqa: FBT003
        index, moment = record.get("index"), event.time if "time" in record else self.texts.MISSING
        if index is not None and (type(index) is not int or abs(index) >= LARGEST):
            raise NotColumnarError(f"the index {index!r}")
        process = k.NEMESIS if event.process == NEMESIS else event.process
        if abs(moment) > LARGEST or (event.process != NEMESIS and abs(process) >= LARGEST):
            raise NotColumnarError("a number that is too large")
        if "key" in record and event.key is None and event.process != NEMESIS:
            raise NotColumnarError("a key that is nil")
        row[k.INDEX], row[k.TIME] = self.texts.MISSING if index is None else index, moment
        row[k.PROCESS], row[self.texts.EXTRA] = process, 1
        row[k.TYPE], row[k.F], row[k.KEY] = self.hash(event.type), self.hash(event.f), self.key_number(event.key)
        if not self.keep_value(row, None if event.process == NEMESIS else event.value):
            row[k.SHAPE], row[k.OLD], row[k.VALUE] = self.texts.ODD, ABSENT, ABSENT

    def _check_order(self) -> None:
        given = self.rows[:, self.kernel.INDEX]
        given = given[given != self.texts.MISSING]
        if given.size and (given[0] < 0 or (np.diff(given) <= 0).any()):
            raise NotColumnarError("the events are out of order")

    def _take_keys(self) -> None:
        """Split values into keys and values if all of them are jepsen.independent's ``[k v]``."""
        k, rows = self.kernel, self.rows
        clients = rows[:, k.PROCESS] != k.NEMESIS
        shape, of_pairs = rows[:, k.SHAPE], np.isin(rows[:, k.F], [self.hash("cas"), self.hash("txn")])
        lists = (shape == k.PAIR) | (shape == self.texts.ODD)
        unkeyed = ~lists | (rows[:, k.KEY] != -1) | (of_pairs & (shape == k.PAIR) & (rows[:, k.VALUE] != ABSENT))
        if self.is_log:
            # Completions without a value repeat that of their invocation, which may be a pair.
            unsaid = clients & (shape == k.NULL) & np.isin(rows[:, k.TYPE], [self.hash(name) for name in DOUBTED])
            if unsaid.any() and not unkeyed[clients & ~unsaid].any():
                raise NotColumnarError("answers without their keys")
        if not clients.any() or unkeyed[clients].any():
            reads = (rows[:, k.TYPE] == self.hash("invoke")) & (rows[:, k.F] == self.hash("read"))
            if (reads & lists & clients).any():
                raise NotColumnarError("reads that may be of keys")
            return
        plain = (shape == k.PAIR) & ~of_pairs & (rows[:, k.OLD] != ABSENT)
        if not plain[clients].all():
            raise NotColumnarError("values that may be keys and values")
        self.keyed = True
        # Double the keys, because -1 means that there is no key.
        rows[clients, k.KEY] = 2 * rows[clients, k.OLD]
        rows[clients, k.SHAPE] = np.where(rows[clients, k.VALUE] == ABSENT, k.NULL, k.INTEGER)
        rows[clients, k.OLD] = ABSENT

    def _check_shapes(self, invoke: Ints, kind: NDArray[np.int8], valued: Ints, outcome: NDArray[np.int8]) -> None:
        if (self.rows[valued, self.kernel.SHAPE] > self.kernel.PAIR).any():
            raise NotColumnarError("values that are not integers")
        super()._check_shapes(invoke, kind, valued, outcome)

    def require_kv(self) -> None:
        """Check that ``check_kv`` would accept all rows.  Raises NotColumnarError."""
        k, rows = self.kernel, self.rows
        shape, f = rows[:, k.SHAPE], rows[:, k.F]
        unread = (shape == k.NULL) & (f == self.hash("get")) & (rows[:, k.TYPE] != self.hash("ok"))
        known = np.isin(f, [self.hash(name) for name in FUNCTIONS]) & (rows[:, k.KEY] != -1)
        read = unread | (shape == self.texts.TEXT)
        if not (known & read & (rows[:, k.PROCESS] != k.NEMESIS)).all():
            raise NotColumnarError("no key-value history")

    # -- operations as such ---------------------------------------------------------------------------------------

    def operations(self) -> list[Operation]:
        """Return the operations one by one, for values that do not fit into columns.

        Raises FormatError and NotColumnarError.
        """
        clients = np.flatnonzero(self.rows[:, self.kernel.PROCESS] != self.kernel.NEMESIS)
        invoke, ret = self.pairs(clients, self.types())
        return [self.operation(*places) for places in zip(invoke.tolist(), ret.tolist(), strict=True)]

    def operation(self, invoke: int, ret: int) -> Operation:
        rows = self._describe
        if rows.extra[invoke] or (ret >= 0 and rows.extra[ret]):
            return super().operation(invoke, ret)
        outcome: Outcome = _OUTCOMES[rows.type[ret]] if ret >= 0 else "info"
        f, requested, answered = rows.f[invoke], rows.value(invoke), rows.value(ret) if outcome == "ok" else None
        if (why := contradiction(f, requested, answered)) is not None:
            raise NotColumnarError(why)
        return Operation(
            rows.process[invoke], f, rows.key[invoke], requested, answered, outcome, rows.time[invoke],
            rows.time[ret] if ret >= 0 else None, invoke, ret if ret >= 0 else None,
        )  # fmt: skip

    @cached_property
    def _describe(self) -> _Events:
        return _Events(self)


class _Events:
    """The decoded rows as lists, because reading single numbers from arrays is slower."""

    def __init__(self, lines: _Lines) -> None:
        k, rows = lines.kernel, lines.rows
        self.extra, self.type = rows[:, lines.texts.EXTRA].tolist(), lines.types().tolist()
        self.process: list[int] = rows[:, k.PROCESS].tolist()
        self.time: list[int] = np.where(
            rows[:, k.TIME] == lines.texts.MISSING, np.arange(len(rows)), rows[:, k.TIME]
        ).tolist()
        self.f: list[str] = _named(rows[:, k.F], lambda _, row: lines.event(row).f)
        self.key: list[str | int | None] = _named(rows[:, k.KEY], lines.name)
        self._data = lines.data.tobytes()
        self._shape, self._value, self._old = (rows[:, column].tolist() for column in (k.SHAPE, k.VALUE, k.OLD))
        self._null, self._integer, self._text = k.NULL, k.INTEGER, lines.texts.TEXT

    def value(self, row: int) -> Any:
        shape, value = self._shape[row], self._value[row]
        if shape == self._integer:
            return value
        if shape == self._null:
            return None
        if shape == self._text:
            return self._data[self._old[row] : value].decode()
        return [None if item == ABSENT else item for item in (self._old[row], value)]


def _named(column: Ints, name: Callable[[int, int], Any]) -> list[Any]:
    """Return the values that the numbers in a column stand for, looking up each number once."""
    numbers, first, place = np.unique(column, return_index=True, return_inverse=True)
    names = [name(int(number), int(row)) for number, row in zip(numbers, first, strict=True)]
    return [names[number] for number in place.tolist()]
