"""Operations as columns: one numpy array for each field, with text fields dictionary-encoded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, Final, TypeAlias, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from history.codes import OK, OUTCOMES
from history.records.operations import NEVER_MADE, READ_ONLY, TXN, UNAPPLIED, Operation, called, is_refusal
from history.tables.operations import json_text, operations_table

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

#: Value of ``returned`` and ``return_index`` for an operation without a completion.
NONE: Final = -1


@dataclass(frozen=True, slots=True)
class Coded:
    """A dictionary-encoded text column: row ``i`` holds ``names[codes[i]]``, or nothing if its code is -1."""

    codes: Ints
    names: tuple[str, ...]

    def code(self, name: str) -> int:
        """Return the code of a name, or -2, which no row has, if the name is unknown."""
        return self.names.index(name) if name in self.names else -2

    def equals(self, name: str) -> Flags:
        """Return a mask of the rows with this name."""
        return np.asarray(self.codes == self.code(name), dtype=np.bool_)

    def among(self, names: Collection[str]) -> Flags:
        """Return a mask of the rows with one of these names."""
        wanted = [name in names for name in self.names]
        return np.array([*wanted, False], dtype=np.bool_)[self.codes]  # code -1 is the last place

    def count(self, rows: Flags | Ints) -> Counter[str]:
        """Count the rows with each name; ``rows`` is a mask or holds row numbers."""
        codes = self.codes[rows]
        counts = np.bincount(codes[codes >= 0], minlength=len(self.names)).tolist()
        return Counter({name: number for name, number in zip(self.names, counts, strict=True) if number})

    def name(self, row: int) -> str | None:
        code = int(self.codes[row])
        return self.names[code] if code >= 0 else None

    def texts(self) -> list[str | None]:
        """Return the text of each row."""
        names = (*self.names, None)
        return [names[code] for code in self.codes.tolist()]


@dataclass(frozen=True, eq=False)
class Operations(Sequence[Operation]):
    """Operations as columns, in invocation order.  Times are nanoseconds since the run's start.

    ``outcome`` holds indexes into ``history.codes.OUTCOMES``. ``value`` and ``result`` are Arrow arrays of JSON
    strings, null where there is none.  As a sequence, this holds objects, which are made on first use and take many
    times the memory of the columns.
    """

    invoke_index: Ints
    return_index: Ints
    process: Ints
    invoked: Ints
    returned: Ints
    outcome: Ints
    f: Coded
    key: Coded
    node: Coded
    phase: Coded
    error: Coded
    value: Any
    result: Any
    #: When each operation was due; NONE if that is unknown.
    intended: Ints

    def __len__(self) -> int:
        return len(self.invoke_index)

    @overload
    def __getitem__(self, row: int) -> Operation: ...

    @overload
    def __getitem__(self, row: slice) -> Sequence[Operation]: ...

    def __getitem__(self, row: int | slice) -> Operation | Sequence[Operation]:
        return self._objects[row]

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._objects)

    @cached_property
    def _objects(self) -> list[Operation]:
        keys, parse = self.keys, cache(_value_of)

        def numbers(column: Ints) -> list[int | None]:
            return [None if number == NONE else number for number in column.tolist()]

        columns: dict[str, Sequence[Any]] = {
            "process": self.process.tolist(),
            "f": self.f.texts(),
            "key": [keys[code] for code in self.key.codes.tolist()],
            "value": [parse(text) for text in self.value.to_pylist()],
            "result": [parse(text) for text in self.result.to_pylist()],
            "outcome": [OUTCOMES[code] for code in self.outcome.tolist()],
            "invoked": self.invoked.tolist(),
            "returned": numbers(self.returned),
            "invoke_index": self.invoke_index.tolist(),
            "return_index": numbers(self.return_index),
            "node": self.node.texts(),
            "error": self.error.texts(),
            "phase": self.phase.texts(),
            "intended": numbers(self.intended),
        }
        return [Operation(*cells) for cells in zip(*(columns[name] for name in Operation.__slots__), strict=True)]

    def where(self, rows: Flags) -> Operations:
        """Return the rows of a mask; codes keep their meaning."""
        mask = pa.array(rows)

        def of(column: Any) -> Any:
            if isinstance(column, Coded):
                return Coded(column.codes[rows], column.names)
            return column[rows] if isinstance(column, np.ndarray) else column.filter(mask)

        return Operations(*(of(getattr(self, field.name)) for field in fields(self)))

    @property
    def end(self) -> int:
        """The last recorded time, in ns; 0 if there are no operations."""
        return int(max(self.invoked.max(), self.returned.max())) if len(self) else 0

    @property
    def due(self) -> Ints:
        """When each operation was due, or ``invoked`` if that is unknown."""
        return np.where(self.intended == NONE, self.invoked, self.intended)

    @cached_property
    def ended(self) -> Ints:
        """When each operation returned, or was invoked if it never returned."""
        return np.where(self.returned == NONE, self.invoked, self.returned)

    @cached_property
    def keys(self) -> list[Any]:
        """The key for each code; None for -1."""
        return [*map(json.loads, self.key.names), None]

    def keys_in(self, rows: Flags | slice) -> set[Any]:
        """Return the keys of the rows of a mask."""
        return {self.keys[code] for code in np.unique(self.key.codes[rows]).tolist()}

    def of_key(self, key: Any) -> Operations:
        """Return the operations on a key."""
        return self.where(self._on(key))

    def rows_of(self, key: Any) -> Ints:
        """Return the rows of the operations on a key."""
        return np.flatnonzero(self._on(key))

    def _on(self, key: Any) -> Flags:
        return np.asarray(self.key.codes == (-1 if key is None else self.key.code(json_text(key))), dtype=np.bool_)

    def at(self, row: int) -> Operation:
        """Convert one row to an operation."""

        def number(column: Ints) -> int | None:
            value = int(column[row])
            return None if value == NONE else value

        return Operation(
            process=int(self.process[row]),
            f=self.f.name(row) or "",
            key=self.keys[int(self.key.codes[row])],
            value=_value_of(self.value[row].as_py()),
            result=_value_of(self.result[row].as_py()),
            outcome=OUTCOMES[int(self.outcome[row])],
            invoked=int(self.invoked[row]),
            returned=number(self.returned),
            invoke_index=int(self.invoke_index[row]),
            return_index=number(self.return_index),
            node=self.node.name(row),
            error=self.error.name(row),
            phase=self.phase.name(row),  # type: ignore[arg-type]  # these are the phases
            intended=number(self.intended),
        )

    def which(self, outcome: int) -> Flags:
        return np.asarray(self.outcome == outcome, dtype=np.bool_)

    @property
    def in_main(self) -> Flags:
        """Mask of the operations in the main phase; all operations if no phases are recorded."""
        return self.phase.equals("main") | bool((self.phase.codes < 0).all())

    @cached_property
    def applied(self) -> Flags:
        """Mask of the operations that were answered ok by a node that had applied them."""
        return self.which(OK) & ~self.error.equals(UNAPPLIED)

    @cached_property
    def served(self) -> Flags:
        """Mask of the operations that the system served."""
        return self.applied & ~self.error.equals(NEVER_MADE)

    @cached_property
    def refused(self) -> Flags:
        """Mask of the cas whose ok answers show that they were refused."""
        mask = self.which(OK) & self.f.equals("cas")
        parse = cache(lambda text: is_refusal(_value_of(text)))
        mask[mask] = [parse(text) for text in self.result.filter(pa.array(mask)).to_pylist()]
        return mask

    @cached_property
    def called(self) -> Coded:
        """The name of each operation: its ``f``, or ``READ_ONLY`` for a transaction that only reads."""
        rows = self.f.equals(TXN)
        codes = self.f.codes.copy()
        reads = [called(TXN, json.loads(text)) == READ_ONLY for text in self.value.filter(pa.array(rows)).to_pylist()]
        codes[np.flatnonzero(rows)[np.array(reads, dtype=np.bool_)]] = len(self.f.names)
        return Coded(codes, (*self.f.names, READ_ONLY))

    @property
    def unapplied(self) -> int:
        """Number of operations that were answered ok by a node that had not applied them."""
        return int(np.count_nonzero(self.which(OK) & ~self.applied))

    def applied_at(self, kind: int | None = None) -> Ints:
        """Return the sorted times (ns) at which applied operations were answered.

        ``kind`` is a code in ``f``; None stands for all kinds.
        """
        chosen = self.applied if kind is None else self.applied & (self.f.codes == kind)
        return np.sort(self.returned[chosen])


def _value_of(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def from_operations(operations: Iterable[Operation]) -> Operations:
    """Convert paired operations to columns."""
    return from_table(operations_table(list(operations)))


def from_table(table: Any) -> Operations:
    """Convert an Arrow table of ``history.tables.schemas.OPERATIONS``, ignoring extra columns."""
    index = table["invoke_index"].to_numpy()
    if (index[1:] < index[:-1]).any():
        table = table.sort_by("invoke_index")
    outcome = _coded(table["outcome"])
    places = np.array([OUTCOMES.index(name) for name in outcome.names] or [0], dtype=np.int64)
    return Operations(
        invoke_index=_ints(table["invoke_index"]),
        return_index=_ints(table["return_index"]),
        process=_ints(table["process"]),
        invoked=_ints(table["invoked"]),
        returned=_ints(table["returned"]),
        outcome=places[outcome.codes] if len(table) else np.empty(0, dtype=np.int64),
        f=_coded(table["f"]),
        key=_coded(table["key"]),
        node=_coded(table["node"]),
        phase=_coded(table["phase"]),
        error=_coded(table["error"]),
        value=table["value"].combine_chunks(),
        result=table["result"].combine_chunks(),
        intended=_ints(table["intended"]),
    )


def _ints(column: Any) -> Ints:
    filled = pc.fill_null(column, NONE)
    return np.asarray(filled.to_numpy(), dtype=np.int64)


def _coded(column: Any) -> Coded:
    """Encode strings in order of first appearance, so that the same run always gives the same page."""
    chunk = column.combine_chunks()
    encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    codes = pc.fill_null(pc.cast(encoded.indices, pa.int64()), -1)
    return Coded(
        np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int64),
        tuple(map(str, encoded.dictionary.to_pylist())),
    )
