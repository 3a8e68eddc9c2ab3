"""Intervals of operations as columns, and whether an order respects them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from history import Operation
from history.codes import NEVER

IntArray: TypeAlias = NDArray[np.int64]


def intervals_of(operations: Sequence[Operation]) -> tuple[IntArray, IntArray] | None:
    """Return the ranks of the operations' invocations and returns as columns (``NEVER`` for a pending operation).

    None if an answer has no place, comes before its invocation, or has a place that is not a 64-bit integer.
    """
    try:
        begun = np.array([operation.invoke_index for operation in operations], np.int64)
        ended = np.array([op.return_index if op.outcome == "ok" else NEVER for op in operations], np.int64)
    except (TypeError, OverflowError):
        return None
    return (begun, ended) if (begun < ended).all() else None


def keeps_time(order: IntArray, begun: IntArray, ended: IntArray) -> bool:
    """Return whether this order of rows is complete, free of repetitions, and in real-time order."""
    times = np.bincount(order, minlength=begun.size)
    if times.max(initial=0) > 1 or (ended[times == 0] != NEVER).any():
        return False
    return not (ended[order][1:] <= np.maximum.accumulate(begun[order])[:-1]).any()
