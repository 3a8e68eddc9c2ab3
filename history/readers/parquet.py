"""Read our own ``tables/operations.parquet``: as columns if all operations are on registers, else one by one.

A table is checked as strictly as lines of JSON: types, outcomes, and that no process has two operations at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from history.codes import ABSENT, CAS, OK, OUTCOMES, READ, WRITE
from history.errors import FormatError
from history.readers.columns import OperationColumns
from history.readers.scanned import KINDS
from history.records.events import load_json
from history.records.operations import ECHOED, Operation, contradiction

_NEEDED: Final = ("invoke_index", "process", "f", "value", "outcome", "invoked")
_TEXTS: Final = ("key", "value", "result")
_INTEGERS: Final = ("invoke_index", "return_index", "process", "invoked", "returned", "intended")
_NAMES: Final = ("f", "outcome", *_TEXTS, "node", "error", "phase")
_OF_REGISTERS: Final = ("invoke_index", "return_index", "f", "outcome", *_TEXTS)
_OUTCOMES: Final = {name: code for code, name in enumerate(OUTCOMES)}
_INTEGER_OR_NULL: Final = r"^(0|-?[1-9][0-9]{0,17}|null)$"
_ITEM: Final = "(?:0|-?[1-9][0-9]{0,17}|null)"
_PAIR: Final = rf"^\[\s*(?P<old>{_ITEM})\s*,\s*(?P<new>{_ITEM})\s*\]$"
_TRIPLE: Final = rf"^\[\s*{_ITEM}\s*,\s*{_ITEM}\s*,\s*(?P<seen>{_ITEM})\s*\]$"
#: Pattern and replacement that reduce the answer of a refused cas to the pair that it repeats, as our writer spells it.
_REPEATED: Final = (r"^(\[[^,\[\]]*,[^,\[\]]*),[^,\[\]]*\]$", r"\1]")
_Ints = NDArray[np.int64]


def read_parquet(path: Path) -> OperationColumns | list[Operation]:
    """Read the operations in invocation order.  Raises FormatError that names the row, and OSError."""
    try:
        table = pq.read_table(path)
        table.validate(full=True)
    except MemoryError:  # of Arrow, too; it says nothing about the file
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FormatError(str(path), "byte 0", f"expected Parquet: {error}") from None
    table = _typed(table, str(path)).sort_by("invoke_index").combine_chunks()
    source = _Source(table, str(path))
    source.check()
    columns = columns_of([lambda: table], source.size, str(path))
    return columns or [operation_at(table, row, str(path)) for row in range(source.size)]


def columns_of(parts: Sequence[Callable[[], pa.Table]], rows: int, source: str) -> OperationColumns | None:
    """Convert tables that we wrote ourselves to columns; None if the operations are not on registers.

    Each of the ``parts`` returns a table; together the tables have ``rows`` rows, in any order.  Each table is
    converted before the next one is read, so that only one is in memory.  Its part is read again when a single
    operation is needed later. Raises FormatError for a table with other columns or another number of rows.
    """
    columns: list[NDArray[Any]] = [np.empty(rows, kind) for kind in (np.int8, np.int8, *[np.int64] * 5)]
    names: dict[str | int | None, int] = {}
    starts = [0]
    for part in parts:
        registers = _Source(_typed(part(), source, _OF_REGISTERS).combine_chunks(), source).registers()
        if registers is None:
            return None
        arrays, keys = registers
        # The dtype is needed because a part without rows has no names.
        arrays[4] = np.array([names.setdefault(key, len(names)) for key in keys], np.int64)[arrays[4]]
        starts.append(starts[-1] + arrays[4].size)
        for column, values in zip(columns, arrays, strict=True):
            column[starts[-2] : starts[-1]] = values
    if starts[-1] != rows:
        raise FormatError(source, "the tables", f"expected {rows} operations, found {starts[-1]}")
    order = np.argsort(columns[5], kind="stable")
    # Reorder one column at a time, so that only one is in memory twice.
    for place, column in enumerate(columns):
        columns[place] = column[order]

    def operation(row: int) -> Operation:
        part = int(np.searchsorted(starts, order[row], "right")) - 1
        return operation_at(parts[part](), int(order[row]) - starts[part], source)

    kind, outcome, value, old, key = columns[:5]
    return OperationColumns(kind, outcome, value, old, key, *_places(*columns[5:]), tuple(names), operation)


def _places(invoke: _Ints, ret: _Ints) -> tuple[_Ints, _Ints]:
    """Return the positions of invocations and returns, renumbered without gaps if they are sparse.

    Otherwise, arrays indexed by position would be huge for a table that lacks most of the operations.
    """
    done = ret >= 0
    moments = np.concatenate([invoke, ret[done]])
    if not moments.size or moments.max() < 4 * moments.size + 1024:
        return invoke, ret
    # Both halves are nearly sorted, which makes a stable sort fast.
    order = np.argsort(moments, kind="stable")
    moments[order] = np.arange(moments.size)
    dense = np.full(ret.size, -1, np.int64)
    dense[done] = moments[ret.size :]
    return moments[: ret.size], dense


def _typed(table: pa.Table, path: str, names: Sequence[str] = (*_INTEGERS, *_NAMES)) -> pa.Table:
    """Return the named columns of a table, cast to the types they must have.  Raises FormatError."""
    for name in _NEEDED:
        if name not in table.column_names:
            raise FormatError(path, "the schema", f"the column {name!r} is missing")
    columns = {}
    for name in names:
        column = table[name] if name in table.column_names else pa.nulls(table.num_rows)
        integer = name in _INTEGERS
        fits = pa.types.is_integer if integer else _is_text
        if not (fits(column.type) or pa.types.is_null(column.type)):
            kind = "integers" if integer else "strings"
            raise FormatError(path, "the schema", f"the column {name!r} must hold {kind}, found {column.type}")
        try:
            columns[name] = pc.cast(column, pa.int64() if integer else pa.string())
        except pa.ArrowException as error:
            raise FormatError(path, "the schema", f"the column {name!r}: {error}") from None
        if name in _NEEDED and name != "value" and columns[name].null_count:
            row = pc.index(pc.is_null(columns[name]), value=True).as_py()
            raise FormatError(
                path, f"row {row}", f"{name!r} must be {'an integer' if integer else 'a string'}, found None"
            )
    return pa.table(columns)


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def operation_at(table: pa.Table, row: int, path: str) -> Operation:
    """Convert one row of a table to an operation.  Raises FormatError for a malformed key, value or result."""
    record = {name: table[name][row].as_py() for name in table.column_names}
    try:
        texts = {name: None if record[name] is None else load_json(record[name]) for name in _TEXTS}
    except (ValueError, RecursionError) as error:
        raise _wrong(path, record["invoke_index"], f"expected JSON: {error}") from None
    if type(texts["key"]) not in (str, int, type(None)):
        message = f"the key must be a string or an integer, found {texts['key']!r}"
        raise _wrong(path, record["invoke_index"], message)
    return Operation.from_json({**record, **texts})


def _wrong(path: str, invoked: int, message: str) -> FormatError:
    return FormatError(path, f"the operation invoked at {invoked}", message)


class _Source:
    """A table of operations, with some columns as numpy arrays (-1 for null)."""

    def __init__(self, table: pa.Table, path: str) -> None:
        self.table, self.path, self.size = table, path, table.num_rows
        self.invoke, self.ret = map(self._ints, ("invoke_index", "return_index"))
        self.outcome = self._coded("outcome", _OUTCOMES)

    def _ints(self, name: str) -> _Ints:
        return np.asarray(pc.fill_null(self.table[name], -1).to_numpy(), np.int64)

    def _coded(self, name: str, codes: dict[str, int]) -> NDArray[np.int8]:
        """Return the codes of a string column; -1 for strings without a code."""
        encoded = _whole(_whole(self.table[name]).dictionary_encode())
        of = np.array([codes.get(text, -1) for text in encoded.dictionary.to_pylist()] or [-1], np.int8)
        coded: NDArray[np.int8] = of[np.asarray(pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False))]
        return coded

    def check(self) -> None:
        """Check that a recorder of events could have written the rows.  Raises FormatError."""
        for bad, message in self._complaints():
            rows = np.flatnonzero(bad)
            if rows.size:
                raise _wrong(self.path, int(self.invoke[rows[0]]), message(int(rows[0])))

    def _complaints(self) -> Any:
        ok, done, process = self.outcome == OK, self.ret >= 0, self._ints("process")
        yield self.outcome < 0, lambda row: f"outcome must be ok, fail or info, found {self.table['outcome'][row]}"
        yield self.invoke < 0, lambda row: f"'invoke_index' must not be negative, found {self.invoke[row]}"
        yield ok & ~done, lambda _: "it is answered, but 'return_index' is missing"
        yield done & (self.ret <= self.invoke), lambda row: f"it returns at {self.ret[row]}, before its invocation"
        moments = np.concatenate([self.invoke, self.ret[done]])
        rows = np.concatenate([np.arange(self.size), np.flatnonzero(done)])
        order = np.argsort(moments, kind="stable")
        same = np.zeros(self.size, np.bool_)
        same[rows[order[1:][np.diff(moments[order]) == 0]]] = True
        yield same, lambda _: "it shares a place in the history with another operation"
        order = np.lexsort((self.invoke, process))
        ends = np.where(done, self.ret, np.iinfo(np.int64).max)[order]
        two = np.zeros(self.size, np.bool_)
        two[order[1:]] = (np.diff(process[order]) == 0) & (ends[:-1] > self.invoke[order[1:]])
        yield two, lambda row: f"process {process[row]} has an open operation"
        wrong = self._contradicting()
        yield np.isin(np.arange(self.size), list(wrong)), lambda row: wrong[row]

    def _contradicting(self) -> dict[int, str]:
        """Return the first row whose answer contradicts its request, with the reason; empty if there is none."""
        of, requested, answered = (_whole(self.table[name]) for name in ("f", "value", "result"))
        differs = pc.and_(may_differ(pc.equal(of, "cas"), requested, answered), pc.is_in(of, pa.array(ECHOED)))
        for row in np.flatnonzero(np.asarray(differs) & (self.outcome == OK)).tolist():
            operation = operation_at(self.table, row, self.path)
            if (why := contradiction(operation.f, operation.value, operation.result)) is not None:
                return {row: why}
        return {}

    def registers(self) -> tuple[list[NDArray[Any]], tuple[str | int | None, ...]] | None:
        """Return the columns in the order of ``OperationColumns`` and the keys; None if these are not registers."""
        kind = self._coded("f", KINDS)
        keys = self._keys()
        if keys is None or (kind < 0).any() or not all(map(self._plain, ("value", "result"))):
            return None
        requested = _integers(self._where("value", kind == WRITE))
        answered = _integers(self._where("result", (kind == READ) & (self.outcome == OK)))
        if requested is None or answered is None:
            return None
        value, old = np.where(kind == READ, answered, requested), np.full(self.size, ABSENT, np.int64)
        if not self._fill_in_cas(kind, value, old):
            return None
        return [kind, self.outcome, value, old, keys[0], self.invoke, self.ret], keys[1]

    def _plain(self, name: str) -> bool:
        """Return whether a column holds only nulls, integers, and lists of two or three of these."""
        column = _whole(self.table[name])
        others = column.filter(pc.invert(pc.match_substring_regex(column, _INTEGER_OR_NULL)))
        listed = pc.or_(*(pc.match_substring_regex(others, shape) for shape in (_PAIR, _TRIPLE)))
        return bool(pc.all(listed, min_count=0).as_py())

    def _fill_in_cas(self, kind: NDArray[np.int8], value: _Ints, old: _Ints) -> bool:
        """Fill in the old and new value of each cas, and turn a refused cas into a read of what it saw.

        Returns False if columns cannot hold some cas.
        """
        rows = np.flatnonzero(kind == CAS)
        if not rows.size:
            return True
        requested = pc.extract_regex(_whole(self.table["value"]).take(pa.array(rows)), _PAIR)
        answered = self._where("result", (kind == CAS) & (self.outcome == OK)).take(pa.array(rows))
        shown = pc.extract_regex(answered, _TRIPLE)
        swapped, new, held = (
            _integers(pc.struct_field(extracted, [name]))
            for extracted, name in ((requested, "old"), (requested, "new"), (shown, "seen"))
        )
        refused = np.asarray(pc.is_valid(shown))
        if requested.null_count or swapped is None or new is None or held is None or (held == swapped)[refused].any():
            return False
        old[rows], value[rows] = np.where(refused, new, swapped), np.where(refused, held, new)
        kind[rows[refused]] = READ
        return True

    def _where(self, name: str, rows: NDArray[np.bool_]) -> pa.Array:
        """Return a string column with null in all rows outside the mask."""
        return pc.if_else(pa.array(rows), _whole(self.table[name]), None)

    def _keys(self) -> tuple[_Ints, tuple[str | int | None, ...]] | None:
        encoded = _whole(_whole(self.table["key"]).dictionary_encode("encode"))
        try:
            names = [None if text is None else load_json(text) for text in encoded.dictionary.to_pylist()]
        except (ValueError, RecursionError):
            return None
        if not all(name is None or type(name) in (str, int) for name in names) or len(set(names)) < len(names):
            return None
        return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64), tuple(names)


def may_differ(cas: pa.Array, requested: pa.Array, answered: pa.Array) -> pa.Array:
    """Return a mask of answers that may contradict their requests; both are JSON text.

    ``contradiction`` must decide about these.  A refused ``cas`` answers with one more item than its request.  If items
    are nested, the regular expression cannot tell them apart, so the mask includes such answers.
    """
    repeated = pc.if_else(cas, pc.replace_substring_regex(answered, *_REPEATED), answered)
    nested = pc.and_(cas, pc.greater_equal(pc.count_substring(repeated, ","), 2))
    return pc.fill_null(pc.or_(pc.not_equal(requested, repeated), nested), fill_value=False)


def _integers(column: pa.Array) -> _Ints | None:
    """Return a column of JSON integers as numbers, with ``ABSENT`` for null; None if it contains lists."""
    try:
        numbers = pc.cast(pc.if_else(pc.equal(column, "null"), None, column), pa.int64())
    except pa.ArrowInvalid:
        return None
    return np.asarray(pc.fill_null(numbers, ABSENT).to_numpy(zero_copy_only=False), np.int64)


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
