"""Verdicts by key without a shuffle: each block leaves its operations in the order of their keys, a task reads some.

``calls.arrow`` holds operations sorted by key and, within a key, by invocation; ``keys.arrow`` the keys in ascending
order, which row is the first of each, and how many it has.  A task reads the rows of its own keys alone: those of many
small keys at once, those of a large one block after block.
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
#: For each core, if there are as many keys.
_TASKS: Final = 3


def write_table(path: Path, table: pa.Table) -> None:
    """Write an Arrow file, a batch after so many rows.  Raises OSError that names the file."""
    with named(path), pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=_BATCH)


def write_numbers(path: Path, *parts: NDArray[np.int64]) -> None:
    """Write numbers one after the other.  Raises OSError that names the file."""
    with named(path), path.open("wb") as file:
        for part in parts:
            file.write(np.ascontiguousarray(part).data)


def read_table(path: Path) -> pa.Table:
    """An Arrow file, mapped into memory."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def read_rows(path: Path, begin: int, count: int) -> pa.Table:
    """Some rows of an Arrow file, in memory: mapped files count as memory of the process where Spark limits it."""
    with pa.OSFile(str(path)) as file:
        reader = pa.ipc.open_file(file)
        batches = map(reader.get_batch, range(begin // _BATCH, -(-(begin + count) // _BATCH)))
        return pa.Table.from_batches(batches, reader.schema).slice(begin % _BATCH, count)


def write_by_key(place: Path, operations: pa.Table) -> None:
    """Leave operations (``pairing.CODED_OPERATIONS``) by key in a directory."""
    for name, table in zip(("calls", "keys"), by_key(operations), strict=True):
        write_table(place / f"{name}.arrow", table)


def count_keys(places: Sequence[Path]) -> pa.Table:
    """All keys in ascending order, with the number of their operations; an unkeyed object has the key ''."""
    counts = pa.concat_tables([read_table(place / "keys.arrow").select(["key", "count"]) for place in places])
    return counts.group_by("key").aggregate([("count", "sum")]).rename_columns(["key", "count"]).sort_by("key")


def judge_keys(
    spark: SparkSession, places: Sequence[Path], keys: pa.Table, model: str, budget: Budget, most: int, rows: int
) -> tuple[pa.Table, list[str]]:
    """Verdicts on ``keys`` (rows of :func:`count_keys`), and the keys that are too large for a task.

    ``most`` is how many operations on a key one task holds, ``rows`` how many that are no columns.  Raises JobError.
    """
    groups = groups_of(keys, _TASKS * spark.sparkContext.defaultParallelism, most)
    large = [key for group in groups for key, count in group.items() if count > most]
    groups = [group for group in groups if not group.keys() & large]
    if not groups:
        return VERDICTS.empty_table(), large
    work = partial(_judge, list(places), model, budget, rows)
    found = run_action(spark.sparkContext.parallelize(groups, len(groups)).map(work).collect)
    return pa.concat_tables([verdicts for verdicts, _ in found]), large + [key for _, more in found for key in more]


def groups_of(keys: pa.Table, tasks: int, most: int) -> list[dict[str, int]]:
    """Keys that one task judges, in ascending order, with the numbers of their operations; a large key is alone."""
    names, counts = keys["key"].to_pylist(), keys["count"].to_numpy()
    size = max(1, min(_AT_ONCE, -(-int(counts.sum()) // tasks)))
    alone = counts > min(size // 2, most)
    ends = np.flatnonzero((np.diff((np.cumsum(counts) - 1) // size) > 0) | alone[1:] | alone[:-1]) + 1
    spans = pairwise([0, *ends.tolist(), len(names)])
    return [dict(zip(names[i:j], counts[i:j].tolist(), strict=True)) for i, j in spans if i < j]


def _judge(
    places: list[Path], model: str, budget: Budget, rows: int, keys: dict[str, int]
) -> tuple[pa.Table, list[str]]:
    require_visible(places[0])
    require_model(model)
    judged = [(one.key, judge(one, model, budget, rows=rows)) for one in found_in(places, keys)]
    verdicts = [table for _, table in judged if table is not None]
    return pa.concat_tables([VERDICTS.empty_table(), *verdicts]), [key for key, table in judged if table is None]


def found_in(places: list[Path], keys: dict[str, int]) -> list[OneKey]:
    """The operations on some keys that follow each other: of a single key block by block, of more all at once."""
    names = list(keys)
    parts = [partial(_between, place, names[0], names[-1]) for place in places]
    if len(names) == 1:
        return [OneKey(names[0], keys[names[0]], parts)]
    return each_key(pa.concat_tables([part().cast(PLAIN_OPERATIONS) for part in parts]))


def _between(place: Path, first: str, last: str) -> pa.Table:
    """The operations of a block on the keys from the ``first`` to the ``last``."""
    there = read_table(place / "keys.arrow")
    texts, counts = there["key"], there["count"].to_numpy()
    begin = bisect_left(range(counts.size), first, key=lambda row: texts[row].as_py())
    end = bisect_right(range(counts.size), last, key=lambda row: texts[row].as_py())
    return read_rows(place / "calls.arrow", int(counts[:begin].sum()), int(counts[begin:end].sum()))
