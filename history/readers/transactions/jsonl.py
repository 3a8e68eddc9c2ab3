"""Read transactions from ``history.jsonl`` as columns: a million of them in seconds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from history.codes import FAIL, INFO, NEVER, OK
from history.readers.scanned import NotColumnarError, read_bytes
from history.readers.transactions.columns import WRITES, TransactionColumns, TransactionObject
from history.records.events import Header, line_of_event, parse_event, parse_object
from history.records.operations import Operation, pair

Columns: TypeAlias = list[NDArray[Any]]
#: The type of an ok completion in the scanner's columns.
_OK: Final = 1


def read_transactions(
    path: Path, holds: TransactionObject, pieces: int | None = None
) -> tuple[Header, TransactionColumns, bool]:
    """Read a history of transactions; return its header, its columns, and whether a torn last line was left out.

    Reads this many ``pieces`` of the file at the same time, by default one for each core.

    Raises OSError, FormatError for a malformed header, and NotColumnarError for anything but plain transactions.  In
    the last case, the row-wise reader must read the file or say what is wrong.
    """
    from history.readers import jsonl_kernel
    from history.readers.transactions import jsonl_kernel as kernel

    header, data, start = read_bytes(path)
    writes = sorted({name for names in WRITES.values() for name in names})
    hashes = [jsonl_kernel.hash_name(np.frombuffer(name.encode(), np.uint8)) for name in (*kernel.NAMES, *writes)]
    names = np.array(hashes, np.int64)
    which = np.array([name in WRITES[holds] for name in writes])
    lists = kernel.LISTS if holds == "list-append" else kernel.VALUES

    def scan_lines(place: int, first: int, count: int) -> Columns:
        columns: Columns
        *columns, plain = kernel.scan_lines(data, place, first, count, names)
        if plain < count:
            raise NotColumnarError(line_of_event(first + plain))
        return columns

    def scan_steps(lines: NDArray[np.int64]) -> Columns:
        columns: Columns
        *columns, plain = kernel.scan_steps(data, begin[lines], stop[lines], kind[lines] == _OK, names, which, lists)
        if plain < lines.size:
            raise NotColumnarError(line_of_event(int(lines[plain])))
        return columns

    pieces = pieces or len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(pieces) as pool:
        # A line belongs to the piece that has its newline.
        cuts = np.linspace(start, data.size, pieces + 1, dtype=np.int64).tolist()
        lines = list(pool.map(lambda place, end: jsonl_kernel.count_lines(data[place:end], 0), cuts, cuts[1:]))
        kind, process, begin, stop, time = _joined(pool.map(scan_lines, cuts, np.cumsum([0, *lines]).tolist(), lines))
        if (time[1:] < time[:-1]).any():
            raise NotColumnarError("a time before that of the line above")
        # Double the processes, because -1 means that there is no process.
        numbers, first = jsonl_kernel.number(2 * process)
        begun, ended, paired = kernel.pair_lines(kind, numbers, first.size)
        if not paired:
            raise NotColumnarError("the events do not pair")
        types = np.where(ended >= 0, kind[ended], 3)
        outcome = np.array([INFO, OK, FAIL, INFO], np.int8)[types]
        sources = np.where(outcome == OK, ended, begun)
        count, step, key, value, length, elements = _joined(pool.map(scan_steps, np.array_split(sources, pieces)))
    first = np.append(0, np.cumsum(count))
    keys, places = jsonl_kernel.number(key)
    file = _File(data, path, start, begin, begun, ended)
    return header, TransactionColumns(
        holds, process[begun], begun, np.where(outcome == INFO, NEVER, ended), outcome, first, step, keys, value,
        np.cumsum(length, dtype=np.int64) - length, length, elements, _Keys(file, first, places), (), file.operation,
        lambda row: line_of_event(int(begun[row])),
    ), bool(data[-1] != 10)  # fmt: skip


def _joined(pieces: Iterable[Columns]) -> Columns:
    return [np.concatenate(columns) for columns in zip(*pieces, strict=True)]


class _File:
    """Finds the lines of a file by the rows of its transactions."""

    def __init__(
        self, data: NDArray[np.uint8], path: Path, start: int, value: NDArray[np.int64], begun: NDArray[np.int64],
        ended: NDArray[np.int64],
    ) -> None:  # fmt: skip
        self.data, self.path, self.start, self.value = data, path, start, value
        self.begun, self.ended = begun, ended

    def operation(self, row: int) -> Operation:
        """Return the transaction in a row."""
        events = [self._event(int(line)) for line in (self.begun[row], self.ended[row]) if line >= 0]
        return pair(events, str(self.path))[0]

    def _event(self, line: int) -> Any:
        """Return the event in a line, which is found by the start of its value."""
        inside = int(self.value[line])
        start, end = inside, inside
        while start > self.start and self.data[start - 1] != 10:
            start -= 1
        while self.data[end] != 10:
            end += 1
        return parse_event(parse_object(self.data[start:end].tobytes(), self.path, line + 2), self.path, line + 2)


class _Keys(Sequence[Any]):
    """The names of keys by number, each read from the file at its first occurrence."""

    def __init__(self, file: _File, first: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        self._file, self._first, self._places = file, first, places

    def __len__(self) -> int:
        return int(self._places.size)

    def __getitem__(self, number: Any) -> Any:
        if not 0 <= number < len(self):
            raise IndexError(number)
        step = int(self._places[number])
        row = int(np.searchsorted(self._first, step, side="right")) - 1
        operation = self._file.operation(row)
        steps = operation.result if operation.outcome == "ok" else operation.value
        return steps[step - int(self._first[row])][1]

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))
