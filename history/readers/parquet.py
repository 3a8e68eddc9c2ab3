"""Read our own ``tables/operations.parquet``: by columns where the operations are a register's, else one by one.

A table is checked as strictly as a line of JSON is: types, outcomes, and that no process has two operations at a time.
"""

from __future__ import annotations

from functools import reduce
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
from history.records.events import load_json
from history.records.operations import ECHOED, Operation, contradiction

_NEEDED: Final = ("invoke_index", "process", "f", "value", "outcome", "invoked")
_TEXTS: Final = ("key", "value", "result")
_INTEGERS: Final = ("invoke_index", "return_index", "process", "invoked", "returned", "intended")
_NAMES: Final = ("f", "outcome", *_TEXTS, "node", "error", "phase")
_OUTCOMES: Final = {name: code for code, name in enumerate(OUTCOMES)}
_KINDS: Final = {"read": READ, "write": WRITE, "cas": CAS}
_INTEGER: Final = r"^(0|-?[1-9][0-9]{0,17})$"
_INTEGER_OR_NULL: Final = r"^(0|-?[1-9][0-9]{0,17}|null)$"
_ITEM: Final = "(?:0|-?[1-9][0-9]{0,17}|null)"
_PAIR: Final = rf"^\[\s*(?P<old>{_ITEM})\s*,\s*(?P<new>{_ITEM})\s*\]$"
_TRIPLE: Final = rf"^\[\s*{_ITEM}\s*,\s*{_ITEM}\s*,\s*(?P<seen>{_ITEM})\s*\]$"
#: What a completion repeats of the invocation in the spelling of our own writer.
_REPEATED: Final = (r"^(\[[^,\[\]]*,[^,\[\]]*),[^,\[\]]*\]$", r"\1]")
_Ints = NDArray[np.int64]


def read_parquet(path: Path) -> OperationColumns | list[Operation]:
    """Operations in the order of their invocations.  Raises FormatError that names the row, and OSError."""
    try:
        table = pq.read_table(path)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FormatError(str(path), "byte 0", f"expected Parquet: {error}") from None
    source = _Source(_ordered(table, str(path)), str(path))
    source.check()
    return source.columns() or [source.operation(row) for row in range(source.size)]


def columns_of(table: pa.Table, source: str) -> OperationColumns | None:
    """The rows of an operations table of our own making by columns; None if they are no register's.

    Raises FormatError for a table of other columns.
    """
    return _Source(_ordered(table, source), source).columns()


def _ordered(table: pa.Table, path: str) -> pa.Table:
    """The table with the types that it must have, by invocations.  Raises FormatError."""
    for name in _NEEDED:
        if name not in table.column_names:
            raise FormatError(path, "the schema", f"the column {name!r} is missing")
    columns = {}
    for name in (*_INTEGERS, *_NAMES):
        column = table[name] if name in table.column_names else pa.nulls(table.num_rows)
        integer = name in _INTEGERS
        fits = pa.types.is_integer if integer else _is_text
        if not (fits(column.type) or pa.types.is_null(column.type)):
            what = "integers" if integer else "texts"
            raise FormatError(path, "the schema", f"the column {name!r} must hold {what}, found {column.type}")
        try:
            columns[name] = pc.cast(column, pa.int64() if integer else pa.string())
        except pa.ArrowException as error:
            raise FormatError(path, "the schema", f"the column {name!r}: {error}") from None
        if name in _NEEDED and name != "value" and columns[name].null_count:
            row = pc.index(pc.is_null(columns[name]), value=True).as_py()
            raise FormatError(
                path, f"row {row}", f"{name!r} must be {'an integer' if integer else 'a text'}, found None"
            )
    ordered = pa.table(columns).sort_by("invoke_index")
    return ordered.combine_chunks()


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


class _Source:
    """A table of operations with its integers as numpy columns (-1 for null)."""

    def __init__(self, table: pa.Table, path: str) -> None:
        self.table, self.path, self.size = table, path, table.num_rows
        self.invoke, self.ret, self.process, self.invoked, self.returned = map(self._ints, _INTEGERS[:5])
        self.outcome = self._coded("outcome", _OUTCOMES)

    def _ints(self, name: str) -> _Ints:
        return np.asarray(pc.fill_null(self.table[name], -1).to_numpy(), np.int64)

    def _coded(self, name: str, codes: dict[str, int]) -> NDArray[np.int8]:
        """The codes of a column of texts; -1 for those that have none."""
        encoded = _whole(_whole(self.table[name]).dictionary_encode())
        of = np.array([codes.get(text, -1) for text in encoded.dictionary.to_pylist()] or [-1], np.int8)
        coded: NDArray[np.int8] = of[np.asarray(pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False))]
        return coded

    def wrong(self, row: int, message: str) -> FormatError:
        return FormatError(self.path, f"the operation invoked at {self.invoke[row]}", message)

    def check(self) -> None:
        """Raises FormatError for what no recorder of events could have written."""
        for bad, message in self._complaints():
            rows = np.flatnonzero(bad)
            if rows.size:
                raise self.wrong(int(rows[0]), message(int(rows[0])))

    def _complaints(self) -> Any:
        ok, done = self.outcome == OK, self.ret >= 0
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
        order = np.lexsort((self.invoke, self.process))
        ends = np.where(done, self.ret, np.iinfo(np.int64).max)[order]
        two = np.zeros(self.size, np.bool_)
        two[order[1:]] = (np.diff(self.process[order]) == 0) & (ends[:-1] > self.invoke[order[1:]])
        yield two, lambda row: f"process {self.process[row]} has an open operation"
        wrong = self._contradicting()
        yield np.isin(np.arange(self.size), list(wrong)), lambda row: wrong[row]

    def _contradicting(self) -> dict[int, str]:
        """The first row whose answer is not that of what was asked, and why."""
        of, asked, answered = (_whole(self.table[name]) for name in ("f", "value", "result"))
        differs = pc.and_(may_differ(pc.equal(of, "cas"), asked, answered), pc.is_in(of, pa.array(ECHOED)))
        for row in np.flatnonzero(np.asarray(differs) & (self.outcome == OK)).tolist():
            operation = self.operation(row)
            if (why := contradiction(operation.f, operation.value, operation.result)) is not None:
                return {row: why}
        return {}

    def operation(self, row: int) -> Operation:
        """One row as an operation.  Raises FormatError for what is no JSON."""
        record = {name: self.table[name][row].as_py() for name in self.table.column_names}
        try:
            texts = {name: None if record[name] is None else load_json(record[name]) for name in _TEXTS}
        except (ValueError, RecursionError) as error:
            raise self.wrong(row, f"expected JSON: {error}") from None
        if type(texts["key"]) not in (str, int, type(None)):
            raise self.wrong(row, f"the key must be a text or an integer, found {texts['key']!r}")
        return Operation.from_json({**record, **texts})

    def columns(self) -> OperationColumns | None:
        """The same as columns of a register; None if it is something else."""
        kind = self._coded("f", _KINDS)
        keys = self._keys()
        if keys is None or (kind < 0).any() or not all(map(self._plain, ("value", "result"))):
            return None
        asked = _integers(self._where("value", kind == WRITE))
        answered = _integers(self._where("result", (kind == READ) & (self.outcome == OK)))
        swapped = self._pairs(kind == CAS)
        refused = self._refused(kind == CAS)
        if asked is None or answered is None or swapped is None or refused is None:
            return None
        old, new = np.array(swapped[0]), swapped[1]
        value = np.where(kind == READ, answered, np.where(kind == WRITE, asked, new))
        rows, seen = refused
        if (seen == old[rows]).any():
            return None
        kind[rows], old[rows], value[rows] = READ, value[rows], seen
        return OperationColumns(kind, self.outcome, value, old, keys[0], *self._places(), keys[1], self.operation)

    def _places(self) -> tuple[_Ints, _Ints]:
        """Invocations and returns; counted anew if the table leaves so many out that arrays by place would be huge."""
        done = self.ret >= 0
        places, dense = np.unique(np.concatenate([self.invoke, self.ret[done]]), return_inverse=True)
        if not places.size or places[-1] < 4 * places.size + 1024:
            return self.invoke, self.ret
        ret = np.full(self.size, -1, np.int64)
        ret[done] = dense[self.size :]
        return dense[: self.size].astype(np.int64), ret

    def _plain(self, name: str) -> bool:
        """Is there nothing in a column but nulls, integers, and two or three of them?"""
        column = _whole(self.table[name])
        plain = (pc.match_substring_regex(column, shape) for shape in (_INTEGER_OR_NULL, _PAIR, _TRIPLE))
        return bool(pc.all(reduce(pc.or_, plain), min_count=0).as_py())

    def _refused(self, cas: NDArray[np.bool_]) -> tuple[_Ints, _Ints] | None:
        """The rows of refused cas, and what each of them saw; None if columns cannot hold it."""
        found = _whole(pc.extract_regex(self._where("result", cas & (self.outcome == OK)), _TRIPLE))
        seen = _integers(pc.struct_field(found, ["seen"]))
        rows = np.flatnonzero(np.asarray(pc.is_valid(found)))
        return None if seen is None else (rows, seen[rows])

    def _where(self, name: str, rows: NDArray[np.bool_]) -> pa.Array:
        """A column of texts, null in the rows that are not needed."""
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

    def _pairs(self, cas: NDArray[np.bool_]) -> tuple[_Ints, _Ints] | None:
        """The old and new value of each cas; ``ABSENT`` for other operations."""
        found = _whole(pc.extract_regex(self._where("value", cas), _PAIR))
        if found.null_count > self.size - int(cas.sum()):
            return None
        old, new = (_integers(pc.struct_field(found, [name])) for name in ("old", "new"))
        return None if old is None or new is None else (old, new)


def may_differ(cas: pa.Array, asked: pa.Array, answered: pa.Array) -> pa.Array:
    """Mark the answers that may not belong to what was asked, both as JSON text: ``contradiction`` decides.

    A refused ``cas`` answers with one item more than was asked; of nested items the expression cannot say which.
    """
    repeated = pc.if_else(cas, pc.replace_substring_regex(answered, *_REPEATED), answered)
    nested = pc.and_(cas, pc.greater_equal(pc.count_substring(repeated, ","), 2))
    return pc.fill_null(pc.or_(pc.not_equal(asked, repeated), nested), fill_value=False)


def _integers(column: pa.Array) -> _Ints | None:
    """A column of JSON integers, nulls as ``ABSENT``; None if there is anything else in it."""
    column = _whole(column)
    column = pc.if_else(pc.equal(column, "null"), None, column)
    if not pc.all(pc.match_substring_regex(column, _INTEGER), min_count=0).as_py():
        return None
    return np.asarray(pc.fill_null(pc.cast(column, pa.int64()), ABSENT).to_numpy(zero_copy_only=False), np.int64)


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
