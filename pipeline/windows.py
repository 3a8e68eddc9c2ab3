"""Windows: how many operations completed in each second, and how long they took.

Quantiles are by nearest rank: the smallest latency that at least so many per cent of the operations did not exceed.
So every figure is one that was measured, and the same one whichever machine sorted the numbers.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from history.tables import WINDOWS

SECOND: Final = 1_000_000_000
COLUMNS: Final = ("f", "outcome", "invoked", "returned")
_PER_CENT: Final = {"p50_ms": 50, "p95_ms": 95, "p99_ms": 99, "max_ms": 100}


def window_table(operations: pa.Table) -> pa.Table:
    """Rows of ``windows.parquet`` by second, function and outcome, from the columns :data:`COLUMNS`.

    Operations that never completed are in no window.  Seconds are independent of each other: any split of the
    operations by whole seconds gives the same rows.
    """
    done = operations.select(list(COLUMNS)).filter(pc.is_valid(operations["returned"]))
    returned = done["returned"].to_numpy()
    latency = returned - done["invoked"].to_numpy()
    names, f = _codes(done["f"])
    outcomes, outcome = _codes(done["outcome"])
    second = returned // SECOND
    order = np.lexsort((latency, outcome, f, second))
    second, f, outcome, latency = second[order], f[order], outcome[order], latency[order]
    starts = _starts(second, f, outcome)
    counts = np.diff(np.append(starts, len(second)))
    columns = {
        "second": second[starts],
        "f": names.take(f[starts]),
        "outcome": outcomes.take(outcome[starts]),
        "count": counts,
    }
    for name, per_cent in _PER_CENT.items():
        columns[name] = latency[starts + -(-per_cent * counts // 100) - 1] / 1e6
    return pa.table(columns, schema=WINDOWS)


def _codes(column: pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """The distinct strings in order, and each row's place among them."""
    names = pc.unique(column).sort()
    return names, pc.index_in(column, names).to_numpy()


def _starts(*columns: np.ndarray) -> np.ndarray:
    """Where a row differs from the one above it in any of the sorted columns."""
    if not len(columns[0]):
        return np.empty(0, dtype=np.int64)
    changed = np.zeros(len(columns[0]), dtype=bool)
    changed[0] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changed)
