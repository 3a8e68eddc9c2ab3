"""Verdicts by key without a shuffle: each block leaves its operations in the order of their keys, a task reads some.

``calls.arrow`` holds operations sorted by key and, within a key, by invocation; ``keys.arrow`` the keys in ascending
order, which row is the first of each, and how many it has.  Both are mapped into memory: of a block a task reads the
rows of its own keys alone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from history.tables.schemas import VERDICTS
from pipeline.spark.actions import require_model, require_visible, run_action
from pipeline.tables.judging import Budget, TooManyRowsError, judge
from pipeline.tables.pairing import PLAIN_OPERATIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AT_ONCE: Final = 500_000
#: For each core, if there are as many keys.
_TASKS: Final = 3


def write_table(path: Path, table: pa.Table) -> None:
    """Write an Arrow file."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table.combine_chunks())


def read_table(path: Path) -> pa.Table:
    """An Arrow file, mapped into memory."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def write_by_key(place: Path, operations: pa.Table) -> None:
    """Leave operations (``pairing.CODED_OPERATIONS``) by key in a directory."""
    key = operations["key"].combine_chunks()
    # Sorting puts nulls at the end, and an unkeyed object comes first.
    calls = operations.take(pa.array(np.roll(pc.sort_indices(key), key.null_count)))
    runs = pc.run_end_encode(calls["key"].cast(pa.string()).combine_chunks())
    ends = np.asarray(runs.run_ends).astype(np.int64)
    counts = np.diff(ends, prepend=0)
    columns = {"key": pc.fill_null(runs.values, ""), "begin": ends - counts, "count": counts}
    write_table(place / "keys.arrow", pa.table(columns))
    write_table(place / "calls.arrow", calls)


def count_keys(places: Sequence[Path]) -> pa.Table:
    """All keys in ascending order, with the number of their operations; an unkeyed object has the key ''."""
    counts = pa.concat_tables([read_table(place / "keys.arrow").select(["key", "count"]) for place in places])
    return counts.group_by("key").aggregate([("count", "sum")]).rename_columns(["key", "count"]).sort_by("key")


def judge_keys(
    spark: SparkSession, places: Sequence[Path], keys: pa.Table, model: str, budget: Budget, rows: int
) -> tuple[pa.Table, list[str]]:
    """Verdicts on ``keys`` (rows of :func:`count_keys`), and the keys that are too large for a task.

    ``rows`` is how many operations one task holds of a key of which no integer columns can be made.  Raises JobError.
    """
    groups = groups_of(keys, _TASKS * spark.sparkContext.defaultParallelism)
    if not groups:
        return VERDICTS.empty_table(), []
    work = _judging(list(places), model, budget, rows)
    found = run_action(spark.sparkContext.parallelize(groups, len(groups)).map(work).collect)
    return pa.concat_tables([verdicts for verdicts, _ in found]), [key for _, large in found for key in large]


def groups_of(keys: pa.Table, tasks: int) -> list[list[str]]:
    """Keys that one task judges, each group in ascending order."""
    counts = keys["count"].to_numpy()
    most = min(_AT_ONCE, -(-int(counts.sum()) // tasks))
    ends = np.flatnonzero(np.diff((np.cumsum(counts) - 1) // max(most, 1))) + 1
    groups = np.split(np.array(keys["key"].to_pylist(), object), ends)
    return [group.tolist() for group in groups if group.size]


def _judging(
    places: list[Path], model: str, budget: Budget, rows: int
) -> Callable[[list[str]], tuple[pa.Table, list[str]]]:
    def work(keys: list[str]) -> tuple[pa.Table, list[str]]:
        require_visible(places[0])
        require_model(model)
        found, large = [], []
        parts = parts_of(places, keys)
        for key in keys:
            operations = pa.concat_tables([part.cast(PLAIN_OPERATIONS) for part in parts.pop(key)])
            try:
                found.append(judge(operations, model, budget, rows=rows))
            except TooManyRowsError:
                large.append(key)
        return pa.concat_tables([VERDICTS.empty_table(), *found]), large

    return work


def parts_of(places: list[Path], keys: list[str]) -> dict[str, list[pa.Table]]:
    """The operations on some keys that follow each other, in parts that are not in memory yet."""
    parts: dict[str, list[pa.Table]] = {key: [] for key in keys}
    for place in places:
        there, calls = read_table(place / "keys.arrow"), read_table(place / "calls.arrow")
        texts = there["key"]
        span = range(there.num_rows)
        first = bisect_left(span, keys[0], key=lambda row: texts[row].as_py())
        last = bisect_right(span, keys[-1], key=lambda row: texts[row].as_py())
        for row in there.slice(first, last - first).to_pylist():
            if row["key"] in parts:
                parts[row["key"]].append(calls.slice(row["begin"], row["count"]))
    return parts
