"""Find the operations near a counterexample: those around a broken promise, and the bounds on a read of a set."""

from __future__ import annotations

from typing import Final

import numpy as np

from history import SECOND, Counterexample, Operation
from history.columns.operations import NONE, Operations

#: At most this many nearby operations are shown for each operation of the violation.
MAX_NEARBY: Final = 3
#: A nearby operation is shown only if at most this much time (ns) lies between the two.
MAX_GAP_NS: Final = SECOND


def nearby_operations(operations: Operations, example: Counterexample) -> list[Operation]:
    """Return the operations on the same key that are nearest to those of a broken promise, in history order.

    At most :data:`MAX_NEARBY` for each operation, within :data:`MAX_GAP_NS`. Empty without a key, and for other
    counterexamples, which need no others to show why nothing fits.
    """
    if not example.roles or example.key is None:
        return []
    mine, rows = [operation.invoke_index for operation in example.operations], operations.rows_of(example.key)
    rows = rows[~np.isin(operations.invoke_index[rows], mine)]
    begun = operations.invoked[rows]
    done = np.where(operations.returned[rows] == NONE, begun, operations.returned[rows])
    chosen: set[int] = set()
    for operation in example.operations:
        end = operation.invoked if operation.returned is None else operation.returned
        away = np.maximum(np.maximum(begun - end, operation.invoked - done), 0)
        nearest = np.lexsort((np.abs(begun - operation.invoked), away))[:MAX_NEARBY]
        chosen.update(rows[nearest[away[nearest] <= MAX_GAP_NS]].tolist())
    return [operations.at(row) for row in sorted(chosen)]


def set_bounds(operations: Operations, example: Counterexample, key: object) -> str:
    """Say what every legal answer to a blamed read of a set must hold and what else it may hold.

    It must hold every element that was acknowledged, or shown by a read that had ended, before the blamed read
    began.  Beyond that it may hold only elements whose adds began before the read ended.  This assumes sets that
    only grow; for anything else the text is empty.
    """
    (blamed, *others) = example.suspects or (None,)
    if blamed is None or others or blamed.f != "read" or blamed.returned is None or example.roles:
        return ""
    rows = operations.rows_of(key)
    if {operations.f.names[code] for code in np.unique(operations.f.codes[rows])} != {"add", "read"}:
        return ""
    mine = [operations.at(row) for row in rows.tolist() if operations.invoked[row] < blamed.returned]
    ended = [op for op in mine if op.outcome == "ok" and op.returned is not None and op.returned < blamed.invoked]
    held = {op.value for op in ended if op.f == "add"}
    held.update(*(op.result for op in ended if op.f == "read" and isinstance(op.result, list)))
    doubtful = {op.value for op in mine if op.f == "add" and op.outcome != "fail"} - held
    all_of = f"all of {len(held):,} elements that had been acknowledged or read before"
    return f"{all_of}, with or without some of {len(doubtful):,} whose adds were under way or in doubt"
