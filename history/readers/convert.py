"""Convert Jepsen's EDN and console log and porcupine's kv to our ``history.jsonl``, a few megabytes at a time.

Memory use does not grow with the file.  The events equal those of ``read_text``, byte for byte as our own writer would
write them.  A file that does not have one event per line goes to that reader if it has up to :data:`BY_ROWS` bytes; a
larger one is an error that names the line.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from history.codes import ABSENT
from history.errors import FormatError
from history.readers.formats import BY_ROWS, FORMATS, LARGE, MODELS, format_of, read_text, too_large
from history.readers.jepsen_events import HALF_KEYED, check_record, event_of, may_be_keyed, names_key
from history.readers.jepsen_log import DOUBTED
from history.readers.porcupine_kv import FUNCTIONS, misfit
from history.readers.scanned import LARGEST, Ints, NotColumnarError
from history.readers.text_columns import TextScan
from history.records.events import NEMESIS, TYPES, Event, Header

#: Bytes to read at a time.  Their rows take about as much memory again, and the lines written three times as much.
PIECE: Final = 16 << 20

Line = Callable[[int], str]


class _UnkeyedError(Exception):
    """Some values are not ``[k v]``."""


def convert_history(
    path: Path, history: Path, *, large: int = LARGE, piece: int = PIECE, by_rows: int = BY_ROWS
) -> Line:
    """Convert a foreign file to a ``history.jsonl``.  Returns a function that maps an event's index to its line.

    Files smaller than ``large`` bytes are read row by row, because loading the compiled scanner would take longer.
    Raises OSError, and FormatError with the line or byte.
    """
    size = path.stat().st_size
    if size >= large and FORMATS[format_of(path)].by_lines:
        try:
            return _by_pieces(path, history, piece)
        except NotColumnarError as error:
            if size > by_rows:
                raise too_large(path, str(error), by_rows) from None
        except FormatError:
            # The row-wise reader finds the first mistake in the file, which may be another one.
            if size > by_rows:
                raise
    if size > by_rows:
        raise too_large(path, "this format cannot be read line by line", by_rows)
    read = read_text(path)
    with history.open("wb") as file:
        file.write(_header(path, read.model))
        file.writelines(map(_line, read.history.events))
    # Read the file again if an error needs a line, instead of keeping everything in memory.
    return lambda index: read_text(path).history.line(index)  # noqa: PLW0108


def _header(path: Path, model: str | None) -> bytes:
    return json.dumps(Header(test=path.name, model=model or "register").to_json()).encode() + b"\n"


def _line(event: Event) -> bytes:
    return (json.dumps(event.to_json(), ensure_ascii=False, separators=(",", ":")) + "\n").encode()


# -- by pieces --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a piece begins: its first byte, size in bytes, first line (from 1) and first event (from 0)."""

    byte: int
    size: int
    line: int
    event: int


def _by_pieces(path: Path, history: Path, size: int) -> Line:
    kind = format_of(path)
    for keyed in (True, False):
        try:
            with history.open("wb") as file:
                file.write(_header(path, MODELS.get(kind)))
                starts = _written(path, kind, file, size, keyed=keyed)
        except _UnkeyedError:
            continue
        break
    return lambda index: _line_of(path, kind, starts, index)


def _written(path: Path, kind: str, file: BinaryIO, size: int, *, keyed: bool) -> list[_Start]:
    """Write all events and return where each piece begins.

    With ``keyed``, treat all values as ``[k v]`` and raise _UnkeyedError at the first that is not.
    """
    starts: list[_Start] = []
    requests: dict[int, Any] = {}
    line, events, index = 1, 0, -1
    for byte, data in _pieces(path, size):
        piece = _Piece(data, str(path), kind, line)
        if kind == "jepsen-log":
            piece.repeat_values(requests)
        index = piece.check_order(index)
        if keyed and not piece.may_be_keyed():
            raise _UnkeyedError
        if not keyed:
            piece.require_no_key()
        if kind == "porcupine-kv":
            piece.require_kv(events, keyed=keyed)
        starts.append(_Start(byte, data.size, line, events))
        file.write(piece.lines(events, keyed=keyed))
        line, events = line + piece.whole, events + len(piece.rows)
    if not events:
        raise FormatError(str(path), "line 1", "expected a history, found no event")
    return starts


def _line_of(path: Path, kind: str, starts: list[_Start], index: int) -> str:
    start = max((start for start in starts if start.event <= index), key=lambda start: (start.event, start.byte))
    with path.open("rb") as file:
        file.seek(start.byte)
        data = np.frombuffer(file.read(start.size), np.uint8)
    return f"line {_Piece(data, str(path), kind, start.line).line(index - start.event)}"


def _pieces(path: Path, size: int) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Yield pieces of whole lines, each with its first byte.  Raises NotColumnarError for a line longer than a piece.

    The last piece may end without a newline.
    """
    with path.open("rb") as file:
        byte = len(BOM_UTF8) if file.read(len(BOM_UTF8)) == BOM_UTF8 else 0
        file.seek(byte)
        rest = b""
        while block := file.read(size):
            data = rest + block
            cut = data.rfind(b"\n") + 1
            if not cut and len(data) > size:
                raise NotColumnarError(f"the line at byte {byte} has more than {size} bytes")
            if cut:
                yield byte, np.frombuffer(data, np.uint8, cut)
            byte, rest = byte + cut, data[cut:]
        if rest:
            yield byte, np.frombuffer(rest, np.uint8)


class _Piece(TextScan):
    """The events in some lines: plain ones as columns, all others as maps."""

    def __init__(self, data: NDArray[np.uint8], source: str, kind: str, first: int) -> None:
        super().__init__(data, 0, source, is_log=kind == "jepsen-log")
        k = self.kernel
        self.first, self.whole = first, len(self.rows)
        self._places = np.arange(self.whole)
        shape = self.rows[:, k.SHAPE]
        plain = ((shape <= k.PAIR) | (shape == self.texts.TEXT)) & (self.rows[:, self.texts.EXTRA] == 0)
        plain &= self.rows[:, k.PROCESS] != k.NEMESIS
        there = shape != self.texts.BLANK
        others_by_row: dict[int, dict[str, Any]] = {}
        for row in np.flatnonzero(there & ~plain).tolist():
            record = self._describe(row)
            there[row] = record is not None
            if record is not None:
                others_by_row[row] = record
        self._places, self.plain = np.flatnonzero(there), plain[there]
        self.rows = self.rows.T[:, there].T
        self.irregular = dict(zip(np.flatnonzero(~self.plain).tolist(), others_by_row.values(), strict=True))

    def _describe(self, row: int) -> dict[str, Any] | None:
        try:
            record = self.record(row, self.line(row))
        except NotColumnarError as error:
            raise NotColumnarError(f"line {self.line(row)}: {error}") from None
        except FormatError as error:
            raise self.wrong(row, error.message) from None
        if record is not None:
            check_record(row, record, self.wrong)
        return record

    def line(self, row: int) -> int:
        """Return the line number of an event."""
        return self.first + int(self._places[row])

    def wrong(self, row: int, message: str) -> FormatError:
        return FormatError(self.source, f"line {self.line(row)}", message)

    def repeat_values(self, requests: dict[int, Any]) -> None:
        """Take missing values of ``:info`` and ``:fail`` events from their invocations, like ``parse_jepsen_log``.

        ``requests`` maps each process to the value of its last invocation before this piece, and is updated for the
        next piece.
        """
        k, rows = self.kernel, self.rows
        empty = self.plain & (rows[:, k.SHAPE] == k.NULL)
        for row, record in self.irregular.items():
            process = record["process"]
            rows[row, k.PROCESS] = k.NEMESIS if process == NEMESIS else process
            rows[row, k.TYPE], empty[row] = self.hash(record["type"]), record["value"] is None
        invoked = rows[:, k.TYPE] == self.hash("invoke")
        empty &= np.isin(rows[:, k.TYPE], [self.hash(name) for name in DOUBTED]) & (rows[:, k.PROCESS] != k.NEMESIS)
        begun: dict[int, int] = {}
        for row in np.flatnonzero(invoked | empty).tolist():
            process = int(rows[row, k.PROCESS])
            if invoked[row]:
                begun[process] = row
                continue
            value = self._fields(begun[process])["value"] if process in begun else requests.get(process)
            if value is not None:
                self.irregular[row], self.plain[row] = {**self._fields(row), "value": value}, False
        self.irregular = dict(sorted(self.irregular.items()))
        requests |= {process: self._fields(row)["value"] for process, row in begun.items()}

    def check_order(self, last: int) -> int:
        """Check that every ``:index`` exceeds the one before it, starting from ``last``; return the last one.

        Raises FormatError.
        """
        index = self.rows[:, self.kernel.INDEX].copy()
        for row, record in self.irregular.items():
            number = record.get("index")
            if number is not None and (type(number) is not int or abs(number) >= LARGEST):
                raise self.wrong(row, f"the events are out of order: expected a small integer, found :index {number!r}")
            index[row] = self.texts.MISSING if number is None else number
        rows = np.flatnonzero(index != self.texts.MISSING)
        grown = np.concatenate([[last], index[rows]])
        back = np.flatnonzero(np.diff(grown) <= 0)
        if back.size:
            before, number = grown[back[0]], grown[back[0] + 1]
            message = f"the events are out of order: expected :index above {before}, found {number}"
            raise self.wrong(int(rows[back[0]]), message)
        return int(grown[-1])

    def may_be_keyed(self) -> bool:
        """Return whether all values can be ``[k v]``."""
        k, rows = self.kernel, self.rows[self.plain]
        whole = np.isin(rows[:, k.F], [self.hash("cas"), self.hash("txn")]) & (rows[:, k.VALUE] != ABSENT)
        fits = (rows[:, k.SHAPE] == k.PAIR) & (rows[:, k.KEY] == -1) & ~whole
        clients = (record for record in self.irregular.values() if record["process"] != NEMESIS)
        return bool(fits.all()) and all(map(may_be_keyed, clients))

    def require_no_key(self) -> None:
        """Raise FormatError if there is a read of ``[k nil]``."""
        k, rows = self.kernel, self.rows
        reads = (rows[:, k.TYPE] == self.hash("invoke")) & (rows[:, k.F] == self.hash("read")) & (rows[:, k.KEY] == -1)
        reads &= (rows[:, k.SHAPE] == k.PAIR) & (rows[:, k.VALUE] == ABSENT) & (rows[:, k.OLD] != ABSENT) & self.plain
        named = [*np.flatnonzero(reads).tolist(), *(row for row, record in self.irregular.items() if names_key(record))]
        if named:
            raise self.wrong(min(named), HALF_KEYED)

    def require_kv(self, events: int, *, keyed: bool) -> None:
        """Check that ``check_kv`` would accept each event.  Raises FormatError for the first that it would reject."""
        k, rows = self.kernel, self.rows
        shape, f = rows[:, k.SHAPE], rows[:, k.F]
        unread = (shape == k.NULL) & (f == self.hash("get")) & (rows[:, k.TYPE] != self.hash("ok"))
        known = np.isin(f, [self.hash(name) for name in FUNCTIONS]) & (rows[:, k.KEY] != -1)
        fits = self.plain & known & (unread | (shape == self.texts.TEXT))
        for row in np.flatnonzero(~fits).tolist():
            if (complaint := misfit(self._event(row, events, keyed=keyed))) is not None:
                raise self.wrong(row, complaint)

    def _event(self, row: int, events: int, *, keyed: bool) -> Event:
        return event_of(events + row, row, self._fields(row), keyed, self.wrong)

    def _fields(self, row: int) -> dict[str, Any]:
        record = self.irregular[row] if row in self.irregular else self.record(row)
        assert record is not None
        return record

    def event(self, row: int) -> Event:
        return self._event(row, 0, keyed=False)

    # -- as lines -----------------------------------------------------------------------------------------------------

    def lines(self, events: int, *, keyed: bool) -> Any:
        """Return the events as lines of a ``history.jsonl``; ``events`` is the number of events before this piece."""
        k, rows = self.kernel, self.rows
        number = np.arange(events, events + len(rows))
        time = np.where(rows[:, k.TIME] == self.texts.MISSING, number, rows[:, k.TIME])
        text = pc.binary_join_element_wise(
            '{"index":', _text(number), ',"time":', _text(time), ',"type":"', self._types(), '","process":',
            _text(rows[:, k.PROCESS]), ',"f":', self._named(k.F, lambda row: self.event(row).f, ""),
            self._keys(keyed=keyed), ',"value":', self._values(keyed=keyed), "}\n", "",
        )  # fmt: skip
        if self.irregular:
            others = [_line(self._event(row, events, keyed=keyed)).decode() for row in self.irregular]
            text = pc.replace_with_mask(text, pa.array(~self.plain), pa.array(others))
        return b"" if not len(text) else text.buffers()[2]

    def _types(self) -> pa.Array:
        column = self.rows[:, self.kernel.TYPE]
        code = self._coded(column, {self.hashes[name]: code for code, name in enumerate(TYPES)})
        return pa.array([*TYPES, ""]).take(pa.array(code % (len(TYPES) + 1)))

    def _named(self, column: int, name: Callable[[int], Any], begin: str) -> pa.Array:
        """Return the values that the numbers in a column stand for, as JSON after ``begin``; look up each once."""
        rows = np.flatnonzero(self.plain)
        _, first, place = np.unique(self.rows[rows, column], return_index=True, return_inverse=True)
        named = [name(int(rows[row])) for row in first]
        texts = pa.array(["", *("" if it is None else begin + _json(it) for it in named)])
        where = np.zeros(len(self.rows), np.int64)
        where[rows] = place + 1
        return texts.take(pa.array(where))

    def _keys(self, *, keyed: bool) -> pa.Array:
        k = self.kernel
        if not keyed:
            return self._named(
                k.KEY, lambda row: None if self.rows[row, k.KEY] == -1 else self.event(row).key, ',"key":'
            )
        key = self.rows[:, k.OLD]
        text = pc.binary_join_element_wise(',"key":', _text(key), "")
        return pc.if_else(pa.array(key == ABSENT), "", text)

    def _values(self, *, keyed: bool) -> pa.Array:
        k, shape = self.kernel, self.rows[:, self.kernel.SHAPE]
        value = _or_null(self.rows[:, k.VALUE])
        if keyed:
            return value
        if (pairs := shape == k.PAIR).any():
            pair = pc.binary_join_element_wise("[", _or_null(self.rows[:, k.OLD]), ",", value, "]", "")
            value = pc.if_else(pa.array(pairs), pair, value)
        if (texts := self.plain & (shape == self.texts.TEXT)).any():
            whole = self.data.tobytes()
            spans = zip(self.rows[texts, k.OLD].tolist(), self.rows[texts, k.VALUE].tolist(), strict=True)
            strings = pa.array([whole[begin - 1 : end + 1] for begin, end in spans], pa.binary()).cast(pa.string())
            value = pc.replace_with_mask(value, pa.array(texts), strings)
        return value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _text(numbers: Ints) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


def _or_null(numbers: Ints) -> pa.Array:
    return pc.if_else(pa.array(numbers == ABSENT), "null", _text(numbers))
