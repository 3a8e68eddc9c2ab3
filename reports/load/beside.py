"""Operations on the same object around those of a broken promise."""

from __future__ import annotations

import json
from typing import Final

import numpy as np

from history import SECOND, Counterexample, Operation
from reports.load.columns import NONE, Operations

NEAREST: Final = 3
"""So many operations are shown around each one of the violation,"""
NEAR: Final = SECOND
"""if no more than this (ns) lies between the two."""


def operations_beside(operations: Operations, example: Counterexample) -> list[Operation]:
    """List the nearest operations on the object around each one of a broken promise, in the order of the history.

    Of other counterexamples there are none: they say by themselves why nothing fits.
    """
    key = json.dumps(example.key, ensure_ascii=False, separators=(",", ":"))
    if not example.roles or example.key is None:
        return []
    mine = [one.invoke_index for one in example.operations]
    rows = np.flatnonzero((operations.key.codes == operations.key.code(key)) & ~np.isin(operations.index, mine))
    begun = operations.invoked[rows]
    done = np.where(operations.returned[rows] == NONE, begun, operations.returned[rows])
    chosen: set[int] = set()
    for one in example.operations:
        end = one.invoked if one.returned is None else one.returned
        away = np.maximum(np.maximum(begun - end, one.invoked - done), 0)
        nearest = np.lexsort((np.abs(begun - one.invoked), away))[:NEAREST]
        chosen.update(rows[nearest[away[nearest] <= NEAR]].tolist())
    return [operations.at(row) for row in sorted(chosen)]
