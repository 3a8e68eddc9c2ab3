"""Operations on registers as numpy columns: a compact form for millions of operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from history.records.operations import Operation


@dataclass(frozen=True, slots=True)
class OperationColumns:
    """Operations as columns in invocation order; all arrays have the same length.

    - ``kind``, ``outcome``: codes from ``history.codes``.
    - ``value``, ``old``: the value written, read, or swapped in, and the one swapped out; ``ABSENT`` stands for null.
    - ``key``: an index into ``keys``.
    - ``invoke``, ``ret``: the positions of the events in the history; ``ret`` is -1 without a completion.
    - ``operation``: converts a row to an operation.

    A refused cas is a READ of the value it saw, and its ``old`` is the value that it did not swap in.
    """

    kind: NDArray[np.int8]
    outcome: NDArray[np.int8]
    value: NDArray[np.int64]
    old: NDArray[np.int64]
    key: NDArray[np.int64]
    invoke: NDArray[np.int64]
    ret: NDArray[np.int64]
    keys: tuple[str | int | None, ...]
    operation: Callable[[int], Operation]
