"""Windows: how many operations completed in each second, and how long they took.

Quantiles are by nearest rank: the smallest latency that at least so many per cent of the operations did not exceed.
So every figure is one that was measured, and the same one whichever machine sorted the numbers.
Quantiles of parts do not add up to that of the whole.  So every operation is in four rows: that of all operations of
its second, function and outcome (split ``all``), that of its key, that of its node, and that of both.  Sums are taken
over one split: ``sum(count) where split = 'all'`` is the number of operations, without it four times as many.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from history import SECOND
from history.tables.schemas import SPLITS, WINDOWS

COLUMNS: Final = ("f", "outcome", "key", "node", "invoked", "returned")
ORDER: Final = ("second", "split", "key", "node", "f", "outcome")
"""The columns that identify a row, and the order of the rows; null comes first."""

_PER_CENT: Final = {"p50_ms": 50, "p95_ms": 95, "p99_ms": 99, "max_ms": 100}
_Codes = npt.NDArray[np.int64]


def window_table(operations: pa.Table) -> pa.Table:
    """Rows of ``windows.parquet`` in the order :data:`ORDER`, from the columns :data:`COLUMNS`.

    Operations that never completed are in no window.  Seconds are independent of each other: any split of the
    operations by whole seconds gives the same rows.
    """
    done = operations.select(list(COLUMNS)).filter(pc.is_valid(operations["returned"]))
    returned = done["returned"].to_numpy()
    latency = returned - done["invoked"].to_numpy()
    names = {name: _names(done[name]) for name in ORDER[2:]}
    codes = {name: _coded(done[name], names[name]) for name in names}
    codes["second"] = returned // SECOND
    whole = pa.concat_tables([_one_split(split, codes, names, latency) for split in SPLITS])
    return in_order(whole)


def in_order(windows: pa.Table) -> pa.Table:
    """The rows in the order :data:`ORDER`."""
    places = [_coded(windows[name], _names(windows[name])) for name in ORDER[1:]]
    return windows.take(np.lexsort([*reversed(places), windows["second"].to_numpy()]))


def _one_split(split: str, codes: dict[str, _Codes], names: dict[str, pa.Array], latency: _Codes) -> pa.Table:
    """The rows of one split; a column that it does not split by is null."""
    within = {name for name in ("key", "node") if name not in split.split("+")}
    used = [name for name in ORDER if name in codes and name not in within]
    group = _joined([codes[name] for name in used])
    order = np.lexsort((latency, group))
    group, waits = group[order], latency[order]
    starts = _starts(group)
    counts = np.diff(np.append(starts, len(group)))
    rows = order[starts]
    columns: dict[str, Any] = {name: names[name].take(pa.array(codes[name][rows])) for name in used if name in names}
    columns |= {name: pa.nulls(len(rows), pa.string()) for name in within}
    columns |= {"second": codes["second"][rows], "split": pa.repeat(split, len(rows)), "count": counts}
    for name, per_cent in _PER_CENT.items():
        columns[name] = waits[starts + -(-per_cent * counts // 100) - 1] / 1e6
    return pa.table(columns, schema=WINDOWS)


def _names(column: pa.ChunkedArray) -> pa.Array:
    """The distinct strings in order, after null."""
    return pa.concat_arrays([pa.nulls(1, pa.string()), pc.drop_null(pc.unique(column)).cast(pa.string()).sort()])


def _coded(column: pa.ChunkedArray, names: pa.Array) -> _Codes:
    """Each row's place among the names."""
    found: _Codes = pc.index_in(column, names).to_numpy().astype(np.int64)
    return found


def _joined(columns: list[_Codes]) -> _Codes:
    """One number for each combination of numbers that are not negative."""
    joined = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        joined = joined * (high - low + 1) + (column - low)
    return joined


def _starts(group: _Codes) -> _Codes:
    """Where a row of a sorted column differs from the one above it."""
    if not len(group):
        return np.empty(0, np.int64)
    return np.flatnonzero(np.append(True, group[1:] != group[:-1]))
