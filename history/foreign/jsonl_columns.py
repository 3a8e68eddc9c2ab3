"""``history.jsonl`` of register operations as columns: a million operations in a second or two.

As strict as ``read_history`` and ``pair``: the same mistakes raise the same errors, none passes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from history.errors import FormatError
from history.events import (
    NEMESIS,
    PHASES,
    TYPES,
    Event,
    Header,
    line_of_event,
    parse_event,
    parse_header,
    parse_object,
    read_history,
)  # fmt: skip
from history.foreign.columns import ABSENT, CAS, READ, WRITE, OperationColumns
from history.operations import Operation, pair

_LARGEST: Final = 1 << 62
_KINDS: Final = {"read": READ, "write": WRITE, "cas": CAS}


class NotColumnarError(ValueError):
    """The history holds what columns cannot: other functions than read, write, cas, or values that are no integers."""


@dataclass(frozen=True, slots=True)
class ColumnFile:
    """A history as columns, with its header; ``torn``: the last line was incomplete and was left out."""

    header: Header
    columns: OperationColumns
    torn: bool


def read_columns(path: Path) -> ColumnFile:
    """Read a history by columns.

    Raises FormatError as ``read_history`` and ``pair`` do, NotColumnarError (then use those), and OSError.
    """
    data = np.fromfile(path, np.uint8)
    newline = int(np.argmax(data == 10)) if data.size else 0
    if not data.size or data[newline] != 10:
        raise FormatError(str(path), "line 1", "expected a history header, found no whole line")
    header = parse_header(parse_object(data[: newline + 1].tobytes(), path, 1), path)
    scanned = _Scan(data, newline + 1, path)
    return ColumnFile(header, scanned.columns(), bool(data[-1] != 10))


class _Scan:
    """The events of one file: rows of integers, and the strange lines as events of their own."""

    def __init__(self, data: NDArray[np.uint8], start: int, path: Path) -> None:
        from history.foreign import jsonl_kernel as kernel

        self.kernel, self.data, self.path = kernel, data, path
        # One column after the other in memory: every later step reads whole columns.
        self.rows = np.empty((kernel.WIDTH, kernel.count_lines(data, start)), np.int64).T
        known = [self._hash(name) for name in (*kernel.NAMES, *PHASES)]
        kernel.scan(data, start, self.rows, np.array(known, np.int64))
        if ((self.rows[:, kernel.PROCESS] == kernel.NEMESIS) & (self.rows[:, kernel.SHAPE] != kernel.STRANGE)).any():
            raise NotColumnarError("a process that has the nemesis' number")
        self.names: dict[int, str | int | None] = {-1: None}
        self.hashes = {name: self._hash(name) for name in (*TYPES, *_KINDS)}
        self._mend_strange()
        self._check_order()

    def _hash(self, name: str) -> int:
        return int(self.kernel.hash_name(np.frombuffer(name.encode(), np.uint8)))

    def event(self, row: int) -> Event:
        """Read one line with the strict reader.  Raises FormatError."""
        start, end = self.rows[row, self.kernel.START], self.rows[row, self.kernel.END]
        return parse_event(parse_object(self.data[start:end].tobytes(), self.path, row + 2), self.path, row + 2)

    def _mend_strange(self) -> None:
        """Lines that the scanner does not know: nemesis events, odd values, and mistakes."""
        k = self.kernel
        for row in np.flatnonzero(self.rows[:, k.SHAPE] == k.STRANGE).tolist():
            event = self.event(row)
            if max(abs(event.index), abs(event.time), event.process != NEMESIS and abs(event.process)) >= _LARGEST:
                raise NotColumnarError(f"the numbers of event {row}")
            self.rows[row, [k.INDEX, k.TIME]] = event.index, event.time
            if event.process == NEMESIS:
                self.rows[row, k.PROCESS] = k.NEMESIS
                self.rows[row, k.SHAPE] = k.NULL
                continue
            self.rows[row, k.PROCESS] = event.process
            self.rows[row, k.TYPE], self.rows[row, k.F] = self._hash(event.type), self._hash(event.f)
            self.rows[row, k.KEY] = self._key(event.key)
            self._mend_value(row, event)

    def _key(self, key: Any) -> int:
        if key is None:
            return -1
        if isinstance(key, str) and '"' not in key and "\\" not in key:
            return self._hash(key)
        number = self._hash(json.dumps(key)) | self.kernel.NUMBERED
        self.names[number] = key
        return number

    def _mend_value(self, row: int, event: Event) -> None:
        k, value = self.kernel, event.value
        items = value if isinstance(value, list) and len(value) == 2 else [None, value]
        if not all(item is None or (type(item) is int and abs(item) < _LARGEST) for item in items):
            raise NotColumnarError(f"the value {value!r} of event {event.index}")
        self.rows[row, k.OLD], self.rows[row, k.VALUE] = (ABSENT if item is None else item for item in items)
        self.rows[row, k.SHAPE] = k.PAIR if isinstance(value, list) else k.NULL if value is None else k.INTEGER

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

    def columns(self) -> OperationColumns:
        """Pair the events and give each operation a row.  Raises FormatError, NotColumnarError."""
        k = self.kernel
        rows = self.rows
        types = self._types()
        kinds = self._coded(rows[:, k.F], {self.hashes[name]: code for name, code in _KINDS.items()})
        clients = np.flatnonzero(rows[:, k.PROCESS] != k.NEMESIS)
        strange = clients[kinds[clients] < 0]
        if strange.size:
            raise NotColumnarError(f"the function {self.event(int(strange[0])).f!r}")
        invoke, ret = self._pairs(clients, types)
        done = ret >= 0
        outcome = np.full(invoke.size, 2, np.int8)
        outcome[done] = np.array([0, 0, 1, 2], np.int8)[types[ret[done]]]
        kind = kinds[invoke].astype(np.int8)
        answered = done & (kind == READ)
        value = rows[invoke, k.VALUE]
        value[answered] = rows[ret[answered], k.VALUE]
        self._check_shapes(invoke, kind, np.where(answered, ret, invoke), outcome)
        unique, key = np.unique(rows[invoke, k.KEY], return_inverse=True)
        first = np.full(unique.size, invoke.size)
        np.minimum.at(first, key, np.arange(invoke.size))
        names = tuple(self._name(int(number), int(invoke[row])) for number, row in zip(unique, first, strict=True))
        return OperationColumns(
            kind, outcome, value, rows[invoke, k.OLD], key.astype(np.int64), invoke, ret, names,
            lambda row: self._operation(int(invoke[row]), int(ret[row])),
        )  # fmt: skip

    def _name(self, number: int, row: int) -> str | int | None:
        return self.names[number] if number in self.names else self.event(row).key

    def _types(self) -> NDArray[np.int64]:
        k = self.kernel
        types = self._coded(self.rows[:, k.TYPE], {self.hashes[name]: code for code, name in enumerate(TYPES)})
        unknown = np.flatnonzero((types < 0) & (self.rows[:, k.PROCESS] != k.NEMESIS))
        if unknown.size:
            self.event(int(unknown[0]))
        return types

    @staticmethod
    def _coded(column: NDArray[np.int64], codes: dict[int, int]) -> NDArray[np.int64]:
        coded = np.full(column.size, -1, np.int64)
        for number, code in codes.items():
            coded[column == number] = code
        return coded

    def _pairs(
        self, clients: NDArray[np.int64], types: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(event of the invocation, event of the completion or -1), by invocation."""
        k = self.kernel
        process = self.rows[clients, k.PROCESS]
        order = clients[np.argsort(process, kind="stable")]
        process = self.rows[order, k.PROCESS]
        is_invoke = types[order] == 0
        same = np.zeros(order.size, np.bool_)
        same[1:] = process[1:] == process[:-1]
        after_invoke = np.zeros(order.size, np.bool_)
        after_invoke[1:] = is_invoke[:-1]
        after_invoke &= same
        bad = np.flatnonzero(is_invoke == after_invoke)
        if bad.size:
            self._pair_slowly()
        completions = np.flatnonzero(~is_invoke)
        partner = np.full(len(self.rows), -1, np.int64)
        partner[order[completions - 1]] = order[completions]
        self._check_partners(order[completions - 1], order[completions])
        invoke = clients[types[clients] == 0]
        return invoke, partner[invoke]

    def _check_partners(self, invoke: NDArray[np.int64], ret: NDArray[np.int64]) -> None:
        k = self.kernel
        if not (
            np.array_equal(self.rows[invoke, k.F], self.rows[ret, k.F])
            and np.array_equal(self.rows[invoke, k.KEY], self.rows[ret, k.KEY])
        ):
            self._pair_slowly()

    def _pair_slowly(self) -> None:
        """The slow reader says what is wrong, at the earliest event of all.  Raises FormatError."""
        pair(read_history(self.path).events, str(self.path), line_of_event)
        raise NotColumnarError("the events do not pair by columns")

    def _check_shapes(
        self, invoke: NDArray[np.int64], kind: NDArray[np.int8], told: NDArray[np.int64], outcome: NDArray[np.int8]
    ) -> None:
        """A cas asks for a pair, everything else for one value or null."""
        k = self.kernel
        shape = self.rows[told, k.SHAPE]
        wrong = np.flatnonzero(((shape == k.PAIR) != (kind == CAS)) & ((kind != READ) | (outcome == 0)))
        if wrong.size:
            raise NotColumnarError(f"the value of event {int(invoke[wrong[0]])}")

    def _operation(self, invoke: int, ret: int) -> Operation:
        events = [self.event(invoke)] + ([self.event(ret)] if ret >= 0 else [])
        return pair(events, str(self.path))[0]
