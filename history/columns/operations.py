"""Operations as columns: one numpy array for each field, with text fields dictionary-encoded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from history.codes import OK, OUTCOMES
from history.records.operations import UNAPPLIED, Operation
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

    def name(self, row: int) -> str | None:
        code = int(self.codes[row])
        return self.names[code] if code >= 0 else None


@dataclass(frozen=True, slots=True)
class Operations:
    """Operations as columns, in invocation order.  Times are nanoseconds since the run's start.

    ``outcome`` holds indexes into ``history.codes.OUTCOMES``. ``value`` and ``result`` are Arrow arrays of JSON
    strings, null where there is none.
    """

    index: Ints
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
    #: When each operation was due, or ``invoked`` if that is unknown.
    due: Ints

    def __len__(self) -> int:
        return len(self.index)

    @property
    def end(self) -> int:
        """The last recorded time, in ns; 0 if there are no operations."""
        return int(max(self.invoked.max(), self.returned.max())) if len(self) else 0

    def rows_of(self, key: Any) -> Ints:
        """Return the rows of the operations on a key."""
        return np.flatnonzero(self.key.codes == (-1 if key is None else self.key.code(json_text(key))))

    def at(self, row: int) -> Operation:
        """Convert one row to an operation."""
        key, value, result = self.key.name(row), self.value[row].as_py(), self.result[row].as_py()
        returned, return_index = int(self.returned[row]), int(self.return_index[row])
        return Operation(
            process=int(self.process[row]),
            f=self.f.name(row) or "",
            key=json.loads(key) if key else None,
            value=json.loads(value) if value else None,
            result=json.loads(result) if result else None,
            outcome=OUTCOMES[int(self.outcome[row])],
            invoked=int(self.invoked[row]),
            returned=None if returned == NONE else returned,
            invoke_index=int(self.index[row]),
            return_index=None if return_index == NONE else return_index,
            node=self.node.name(row),
            error=self.error.name(row),
            phase=self.phase.name(row),  # type: ignore[arg-type]  # these are the phases
        )

    def which(self, outcome: int) -> Flags:
        return np.asarray(self.outcome == outcome, dtype=np.bool_)

    @property
    def in_main(self) -> Flags:
        """Mask of the operations in the main phase; all operations if no phases are recorded."""
        return self.phase.equals("main") | bool((self.phase.codes < 0).all())

    @property
    def served(self) -> Flags:
        """Mask of the operations that were answered ok by a node that had applied them."""
        return self.which(OK) & ~self.error.equals(UNAPPLIED)

    @property
    def unapplied(self) -> int:
        """Number of operations that were answered ok by a node that had not applied them."""
        return int(np.count_nonzero(self.which(OK) & ~self.served))

    def served_at(self, kind: int | None = None) -> Ints:
        """Return the sorted times (ns) at which served operations were answered.

        ``kind`` is a code in ``f``; None stands for all kinds.
        """
        chosen = self.served if kind is None else self.served & (self.f.codes == kind)
        return np.sort(self.returned[chosen])


def from_operations(operations: Iterable[Operation]) -> Operations:
    """Convert paired operations to columns."""
    return from_table(operations_table(list(operations)))


def from_table(table: Any) -> Operations:
    """Convert an Arrow table of ``history.tables.schemas.OPERATIONS``, ignoring extra columns."""
    table = table.sort_by("invoke_index")
    outcome = _coded(table["outcome"])
    places = np.array([OUTCOMES.index(name) for name in outcome.names] or [0], dtype=np.int64)
    return Operations(
        index=_ints(table["invoke_index"]),
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
        due=_ints(pc.coalesce(table["intended"], table["invoked"])),
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
