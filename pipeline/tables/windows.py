"""Windows: how many operations completed in each second, and how long they took.

Quantiles are by nearest rank: the smallest latency that at least this percentage of the operations did not exceed.
Every figure is therefore a measured value, and does not depend on which machine sorted the numbers.

The quantiles of parts do not combine into the quantile of the whole.  So every operation is counted in four rows: with
all operations of its second, function and outcome (split ``all``), with those of its key, with those of its node, and
with those of both.  Sums must be taken over one split: ``sum(count) where split = 'all'`` is the number of operations;
without the condition, it is four times as many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from history import SECOND
from history.tables.schemas import SPLITS, WINDOWS

COLUMNS: Final = ("f", "outcome", "key", "node", "invoked", "returned")
#: The columns that identify a row and by which rows are sorted, null first.
ORDER: Final = ("second", "split", "key", "node", "f", "outcome")

_PER_CENT: Final = {"p50_ms": 50, "p95_ms": 95, "p99_ms": 99, "max_ms": 100}
_Codes = npt.NDArray[np.int64]


def window_table(operations: pa.Table) -> pa.Table:
    """Return rows of ``windows.parquet`` in the order :data:`ORDER`, from the columns :data:`COLUMNS`.

    Operations that never completed are in no window.  Seconds are independent of each other, so splitting the
    operations by whole seconds in any way gives the same rows.
    """
    done = operations.select(list(COLUMNS)).filter(pc.is_valid(operations["returned"]))
    returned = done["returned"].to_numpy()
    seconds, second = np.unique(returned // SECOND, return_inverse=True)
    coded = {"second": (second, pa.array(seconds)), **{name: _coded(done[name]) for name in ORDER[2:]}}
    latency = returned - done["invoked"].to_numpy()
    whole = pa.concat_tables([_one_split(split, coded, latency) for split in SPLITS])
    places = [_coded(whole[name])[0] for name in ORDER[1:]]
    return whole.take(np.lexsort([*reversed(places), whole["second"].to_numpy()]))


def _one_split(split: str, coded: Mapping[str, tuple[_Codes, pa.Array]], latency: _Codes) -> pa.Table:
    """Return the rows of one split; the columns by which it does not split are null."""
    within = {name for name in ("key", "node") if name not in split.split("+")}
    used = [name for name in coded if name not in within]
    widths = [len(coded[name][1]) or 1 for name in used]
    # One number for each combination of values, so that one sort puts equal rows together.
    group, waits = _sorted(np.ravel_multi_index([coded[name][0] for name in used], widths), latency)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    counts = np.diff(starts, append=len(group))
    columns: dict[str, Any] = {name: pa.nulls(len(starts), pa.string()) for name in within}
    for name, code in zip(used, np.unravel_index(group[starts], widths), strict=True):
        columns[name] = coded[name][1].take(pa.array(code))
    columns |= {"split": pa.repeat(split, len(starts)), "count": counts}
    for name, per_cent in _PER_CENT.items():
        columns[name] = waits[starts + -(-per_cent * counts // 100) - 1] / 1e6
    return pa.table(columns, schema=WINDOWS)


def _coded(column: pa.ChunkedArray) -> tuple[_Codes, pa.Array]:
    """Return each row's place among the distinct strings, sorted, with null first, and these strings."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    whole = pa.chunked_array(encoded).unify_dictionaries().combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    order = pc.sort_indices(whole.dictionary)
    place = np.zeros(len(order) + 1, np.int64)
    place[order.to_numpy()] = np.arange(1, len(order) + 1)
    codes: _Codes = place[pc.fill_null(whole.indices, -1).to_numpy(zero_copy_only=False)]
    return codes, pa.concat_arrays([pa.nulls(1, pa.string()), whole.dictionary.take(order)])


def _sorted(group: _Codes, latency: _Codes) -> tuple[_Codes, _Codes]:
    """Return both arrays sorted by group and, within a group, by latency."""
    low = int(latency.min(initial=0))
    width = int(latency.max(initial=0)) - low + 1
    if width * (1 + int(group.max(initial=0))) < 1 << 62:
        # Sorting one combined number takes a fraction of the time of sorting by two.
        both = np.sort(group * width + (latency - low))
        return both // width, both % width + low
    order = np.lexsort((latency, group))
    return group[order], latency[order]
