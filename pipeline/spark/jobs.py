"""The tables of one run on Spark: events -> operations -> verdicts, windows, faults, probes.

A history of the usual size is read once, by the driver, and a larger one by all tasks (``pipeline.spark.large``).
Operations are paired by a window function, kept in memory, and written by one task; the
verdicts (grouped by key) and the windows (grouped by slices of time) are then computed from them at the same time.
Everything that decides something is a pure function on Arrow columns, shared with ``pipeline.tables.local``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from history import SECOND, FormatError, RunFiles, pair
from history.records.events import line_of_event
from history.tables.schemas import OPERATIONS, VERDICTS, WINDOWS
from pipeline.spark.actions import ddl, run_action
from pipeline.spark.hadoop_fs import file_size, uri_of
from pipeline.spark.large import Sizes, Source, large_tables
from pipeline.spark.pairing import PAIRING
from pipeline.tables.columns import events_table
from pipeline.tables.judging import Budget, judge
from pipeline.tables.run_tables import Tables, small_tables, values_of
from pipeline.tables.sources import Recording, probe_batches, read_run
from pipeline.tables.storage import replacing, write_part, write_tables
from pipeline.tables.timing import Stopwatch
from pipeline.tables.windows import COLUMNS, in_order, window_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SLICE_S: Final = 32
"""Windows are computed in slices of so many seconds: fewer have too much overhead, more leave cores idle."""


LARGE_BYTES: Final = 64 << 20
"""A history up to this size (about 250,000 operations) is read by the driver, which is much faster."""


def run_tables(
    spark: SparkSession,
    run: RunFiles,
    *,
    model: str,
    deadline_s: float,
    clock: Callable[[], float] = time.time,
    large: int = LARGE_BYTES,
    sizes: Sizes | None = None,
    history: str | None = None,
) -> Tables:
    """Compute and write the five tables of a run on Spark.

    ``deadline_s`` bounds the checking of all keys together (see ``pipeline.tables.judging.Budget``); keys of more than
    ``sizes.key`` operations are not bound by it.  A history of more than ``large`` bytes is read in pieces by all tasks
    (``pipeline.spark.large``); the tables are the same.  ``history`` is its URI if it is not in the run's directory.
    Raises history.FormatError for bad recorded data, FileNotFoundError without a history, OSError when the disk
    refuses, JobError when Spark or the checker fails.
    """
    watch = Stopwatch(clock)
    if history is None and run.history.stat().st_size <= large:
        return _small(spark, run, model, deadline_s, watch)
    uri = history or uri_of(run.history)
    source = Source(uri, file_size(spark, uri), history or str(run.history))
    deadline = (deadline_s, clock)
    with replacing(run.tables) as fresh:
        verdicts, faults = large_tables(spark, source, fresh, model, deadline, sizes or Sizes(), watch)
        write_part(fresh, "probes", probe_batches(run.probes))
        watch.lap("write")
    return values_of(verdicts, faults, watch.laps)


def _small(spark: SparkSession, run: RunFiles, model: str, deadline_s: float, watch: Stopwatch) -> Tables:
    clock = watch.clock
    recording = read_run(run)
    events = events_table(recording.events, recording.source)
    watch.lap("read")
    operations = spark.sql(PAIRING, events=spark.createDataFrame(events)).repartition(4, "key").persist()
    try:
        with replacing(run.tables) as fresh:
            tables = _compute(operations, recording, fresh, model, _budget(events, deadline_s, clock))
            watch.lap("compute")
            write_tables(fresh, tables)
            watch.lap("write")
    finally:
        operations.unpersist()
    return values_of(tables["verdicts"], tables["faults"], watch.laps)


def _budget(events: pa.Table, deadline_s: float, clock: Callable[[], float]) -> Budget:
    clients = events.filter(pc.is_valid(events["process"]))
    return Budget.of(deadline_s, len(pc.unique(clients["key"])), clock)


def _compute(
    operations: DataFrame, recording: Recording, root: Path, model: str, budget: Budget
) -> dict[str, pa.Table]:
    """Write the operations, and compute all other tables from them, in jobs that run at the same time."""
    paired = operations.where("problem IS NULL")
    verdicts = paired.groupBy("key").applyInArrow(lambda group: judge(group, model, budget), ddl(VERDICTS))
    slices = paired.selectExpr(*COLUMNS, f"returned div {SLICE_S * SECOND} AS slice").where("slice IS NOT NULL")
    windows = slices.groupBy("slice").applyInArrow(window_table, ddl(WINDOWS))
    with ThreadPoolExecutor(3, "spark-job") as pool:
        written = pool.submit(_write_operations, operations, root, recording)
        judged, counted = (pool.submit(run_action, frame.toArrow) for frame in (verdicts, windows))
        tables = small_tables(recording)
        written.result()
        tables["verdicts"] = judged.result().cast(VERDICTS)
        tables["windows"] = in_order(counted.result().cast(WINDOWS))
    return tables


def _write_operations(operations: DataFrame, root: Path, recording: Recording) -> None:
    """Write the operations as one file.  Raises FormatError for the first event that does not pair."""
    ordered = operations.coalesce(1).sortWithinPartitions("invoke_index")
    reports = ordered.mapInArrow(_writer(root), "report string")
    for row in run_action(reports.collect):
        report = json.loads(row.report)
        if report["problem"] is not None:
            _refuse(recording, report)


def _writer(root: Path) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A task that writes its sorted operations as one file and reports the first event that does not pair."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        problems: list[tuple[int, str]] = []

        def clean() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                wrong = batch.filter(pc.is_valid(batch["problem"]))
                problems.extend(zip(wrong["invoke_index"].to_pylist(), wrong["problem"].to_pylist(), strict=True))
                if not problems:
                    yield batch.select(OPERATIONS.names)

        write_part(root, "operations", clean())
        index, problem = min(problems, default=(None, None))
        report = {"index": index, "problem": problem}
        yield pa.record_batch({"report": [json.dumps(report)]})

    return write


def _refuse(recording: Recording, report: dict[str, Any]) -> None:
    """Raise the error of the pairing, worded by ``history.pair`` if that finds it too."""
    pair(recording.events, recording.source, line_of_event)
    raise FormatError(recording.source, line_of_event(report["index"]), report["problem"])
