"""Verdicts by key without a shuffle: each block sorts its operations by key, and a task reads some keys of all blocks.

``calls.arrow`` holds operations sorted by key and, within a key, by invocation.  ``keys.arrow`` holds the keys in
ascending order, with the number of operations of each.  A task reads only the rows of its own keys: those of many small
keys at once, those of a large key block by block.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from history.columns.pairing import PLAIN_OPERATIONS
from history.tables.metadata import named
from history.tables.schemas import VERDICTS
from pipeline.spark.actions import require_model, require_visible, run_action
from pipeline.tables.judging import Budget, OneKey, by_key, each_key, judge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AT_ONCE: Final = 500_000
_BATCH: Final = 2048
#: Tasks for each core, if there are enough keys.
_TASKS: Final = 3


def write_table(path: Path, table: pa.Table) -> None:
    """Write an Arrow file in batches of a fixed number of rows.  Raises OSError that names the file."""
    with named(path), pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=_BATCH)


def write_numbers(path: Path, *parts: NDArray[np.int64]) -> None:
    """Write arrays of numbers one after the other.  Raises OSError that names the file."""
    with named(path), path.open("wb") as file:
        for part in parts:
            file.write(np.ascontiguousarray(part).data)


def read_table(path: Path) -> pa.Table:
    """Return an Arrow file, mapped into memory."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def read_rows(path: Path, begin: int, count: int) -> pa.Table:
    """Return some rows of an Arrow file as a copy.

    Mapped files would count towards the memory limit that Spark may set.
    """
    with pa.OSFile(str(path)) as file:
        reader = pa.ipc.open_file(file)
        batches = map(reader.get_batch, range(begin // _BATCH, -(-(begin + count) // _BATCH)))
        return pa.Table.from_batches(batches, reader.schema).slice(begin % _BATCH, count)


def write_by_key(place: Path, operations: pa.Table) -> None:
    """Write operations (``pairing.CODED_OPERATIONS``) into a directory, sorted by key."""
    for name, table in zip(("calls", "keys"), by_key(operations), strict=True):
        write_table(place / f"{name}.arrow", table)


def count_keys(places: Sequence[Path]) -> pa.Table:
    """Return all keys in ascending order, with the number of their operations; an unkeyed object has the key ''."""
    counts = pa.concat_tables([read_table(place / "keys.arrow").select(["key", "count"]) for place in places])
    return counts.group_by("key").aggregate([("count", "sum")]).rename_columns(["key", "count"]).sort_by("key")


def judge_keys(
    spark: SparkSession, places: Sequence[Path], keys: pa.Table, model: str, budget: Budget, most: int, rows: int
) -> tuple[pa.Table, list[str]]:
    """Return verdicts on ``keys`` (rows of :func:`count_keys`), and the keys that are too large for a task.

    A task holds at most ``most`` operations on one key, or ``rows`` if they do not fit into columns.  Raises JobError.
    """
    groups = groups_of(keys, _TASKS * spark.sparkContext.defaultParallelism, most)
    large = [key for group in groups for key, count in group.items() if count > most]
    groups = [group for group in groups if not group.keys() & large]
    if not groups:
        return VERDICTS.empty_table(), large
    work = partial(_judge, list(places), model, budget, rows)
    judged = run_action(spark.sparkContext.parallelize(groups, len(groups)).map(work).collect)
    return pa.concat_tables([verdicts for verdicts, _ in judged]), large + [key for _, more in judged for key in more]


def groups_of(keys: pa.Table, tasks: int, most: int) -> list[dict[str, int]]:
    """Return the keys of each task, in ascending order, with their numbers of operations; a large key gets a task."""
    names, counts = keys["key"].to_pylist(), keys["count"].to_numpy()
    size = max(1, min(_AT_ONCE, -(-int(counts.sum()) // tasks)))
    alone = counts > min(size // 2, most)
    # A group ends where the running total passes a multiple of ``size``, and before and after a key that is alone.
    ends = np.flatnonzero((np.diff((np.cumsum(counts) - 1) // size) > 0) | alone[1:] | alone[:-1]) + 1
    spans = pairwise([0, *ends.tolist(), len(names)])
    return [dict(zip(names[i:j], counts[i:j].tolist(), strict=True)) for i, j in spans if i < j]


def _judge(
    places: list[Path], model: str, budget: Budget, rows: int, keys: dict[str, int]
) -> tuple[pa.Table, list[str]]:
    require_visible(places[0])
    require_model(model)
    return judge(found_in(places, keys), model, budget, rows=rows)


def found_in(places: list[Path], keys: dict[str, int]) -> list[OneKey]:
    """Return the operations on some adjacent keys: block by block for a single key, all at once for several."""
    names = list(keys)
    parts = [partial(_between, place, names[0], names[-1]) for place in places]
    if len(names) == 1:
        return [OneKey(names[0], keys[names[0]], parts)]
    return each_key(pa.concat_tables([part().cast(PLAIN_OPERATIONS) for part in parts]))


def _between(place: Path, first: str, last: str) -> pa.Table:
    """Return the operations of a block on the keys from ``first`` to ``last``."""
    there = read_table(place / "keys.arrow")
    texts, counts = there["key"], there["count"].to_numpy()
    begin = bisect_left(range(counts.size), first, key=lambda row: texts[row].as_py())
    end = bisect_right(range(counts.size), last, key=lambda row: texts[row].as_py())
    return read_rows(place / "calls.arrow", int(counts[:begin].sum()), int(counts[begin:end].sum()))
