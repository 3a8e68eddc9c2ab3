"""Operations on registers as numpy columns: what a million of them fit into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from history.records.operations import Operation


@dataclass(frozen=True, slots=True)
class OperationColumns:
    """Operations as columns, in the order of the invocations; all arrays have the same length.

    ``kind`` and ``outcome`` are codes (``history.codes``); ``value`` the value written, answered, or swapped in,
    ``old`` the one swapped out, ``ABSENT`` for null; ``key`` a number from 0 on, named by ``keys``; ``invoke`` and
    ``ret`` the events' places in the history (``ret`` -1: none).  ``operation`` gives a row as an operation.

    A refused cas is a READ of what it saw; ``old`` is then the value that it did not swap in.
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
