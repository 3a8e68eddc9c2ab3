"""The tables of one run on Spark: events -> operations -> verdicts, windows, faults, probes.

The history is read once.  Operations are paired by a window function, kept in memory, and written by one task; the
verdicts (grouped by key) and the windows (grouped by slices of time) are then computed from them at the same time.
Everything that decides something is a pure function on Arrow columns, shared with ``pipeline.local``.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from history import FormatError, RunFiles, pair
from history.tables import OPERATIONS, VERDICTS, WINDOWS
from pipeline.columns import events_table
from pipeline.counting import Counts, count
from pipeline.errors import JobError
from pipeline.judging import Budget, judge
from pipeline.recovery import installed_spans
from pipeline.sources import Recording, load_of, read_run
from pipeline.storage import replacing, write_part, write_tables
from pipeline.tables import Tables, as_values, small_tables
from pipeline.timing import Stopwatch
from pipeline.windows import COLUMNS, SECOND, window_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SLICE_S: Final = 32
"""Windows are computed in slices of so many seconds: fewer have too much overhead, more leave cores idle."""

PAIRING: Final = """
WITH neighbours AS (
  SELECT *,
    lag(struct(index, type, f, key)) OVER process_order AS before,
    lead(struct(index, time, type, value, node, error)) OVER process_order AS after
  FROM {events} WHERE process IS NOT NULL
  WINDOW process_order AS (PARTITION BY process ORDER BY index)
), checked AS (
  SELECT *,
    CASE
      WHEN type = 'invoke' AND before.type = 'invoke'
        THEN concat('process ', process, ' has an open operation, invoked at ', before.index)
      WHEN type <> 'invoke' AND (before IS NULL OR before.type <> 'invoke')
        THEN concat('process ', process, ' completes what it never invoked')
      WHEN type <> 'invoke' AND NOT (before.f <=> f AND before.key <=> key)
        THEN concat('completes ', f, ' of ', coalesce(key, 'nothing'), ', but ',
                    before.f, ' of ', coalesce(before.key, 'nothing'), ' was invoked')
    END AS problem,
    coalesce(after.type, 'info') AS outcome
  FROM neighbours
)
SELECT index AS invoke_index, after.index AS return_index, process, f, key, value,
  CASE WHEN outcome = 'ok' THEN after.value END AS result, outcome,
  time AS invoked, after.time AS returned, coalesce(nullif(after.node, ''), node) AS node,
  after.error AS error, phase, problem
FROM checked WHERE type = 'invoke' OR problem IS NOT NULL
"""
"""Events to operations.  A row with a ``problem`` tells what ``history.pair`` would refuse at its ``invoke_index``."""


def run_tables(
    spark: SparkSession, run: RunFiles, *, model: str, deadline_s: float, clock: Callable[[], float] = time.time
) -> Tables:
    """Compute and write the five tables of a run on Spark.

    ``deadline_s`` bounds the checking of all keys together (see ``pipeline.judging.Budget``).  Raises
    history.FormatError for bad recorded data, FileNotFoundError without a history, OSError when the disk refuses,
    JobError when Spark or the checker fails.
    """
    watch = Stopwatch(clock)
    recording = read_run(run)
    events = events_table(recording.events, recording.source)
    watch.lap("read")
    operations = spark.sql(PAIRING, events=spark.createDataFrame(events)).repartition(4, "key").persist()
    try:
        with replacing(run.tables) as fresh:
            counts, tables = _compute(operations, recording, fresh, model, _budget(events, deadline_s, clock))
            watch.lap("compute")
            write_tables(fresh, tables)
            watch.lap("write")
    finally:
        operations.unpersist()
    return as_values(recording, tables, counts, watch.laps)


def _budget(events: pa.Table, deadline_s: float, clock: Callable[[], float]) -> Budget:
    clients = events.filter(pc.is_valid(events["process"]))
    return Budget.of(deadline_s, len(pc.unique(clients["key"])), clock)


def _compute(
    operations: DataFrame, recording: Recording, root: Path, model: str, budget: Budget
) -> tuple[Counts, dict[str, pa.Table]]:
    """Write the operations, and compute all other tables from them, in jobs that run at the same time."""
    paired = operations.where("problem IS NULL")
    verdicts = paired.groupBy("key").applyInArrow(lambda group: judge(group, model, budget), _ddl(VERDICTS))
    slices = paired.selectExpr(*COLUMNS, f"returned div {SLICE_S * SECOND} AS slice").where("slice IS NOT NULL")
    windows = slices.groupBy("slice").applyInArrow(window_table, _ddl(WINDOWS))
    with ThreadPoolExecutor(3, "spark-job") as pool:
        written = pool.submit(_write_operations, operations, root, recording)
        judged, counted = (pool.submit(run_action, frame.toArrow) for frame in (verdicts, windows))
        tables = small_tables(recording)
        counts = written.result()
        tables["verdicts"] = judged.result().cast(VERDICTS)
        by = [(name, "ascending") for name in ("second", "f", "outcome")]
        tables["windows"] = counted.result().cast(WINDOWS).sort_by(by)
    return counts, tables


def _write_operations(operations: DataFrame, root: Path, recording: Recording) -> Counts:
    """Write the operations as one file.  Raises FormatError for the first event that does not pair."""
    spans = installed_spans(recording.receipts, load_of(recording.events))
    ordered = operations.coalesce(1).sortWithinPartitions("invoke_index")
    reports = ordered.mapInArrow(_writer(root, spans), "report string")
    counts: Counts = Counter()
    for row in run_action(reports.collect):
        report = json.loads(row.report)
        if report["problem"] is not None:
            _refuse(recording, report)
        counts.update({tuple(key): number for key, number in report["counts"]})
    return counts


def _writer(root: Path, spans: list[tuple[int, int]]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A task that writes its sorted operations as one file and reports what it saw."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts: Counts = Counter()
        problems: list[tuple[int, str]] = []

        def clean() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                wrong = batch.filter(pc.is_valid(batch["problem"]))
                problems.extend(zip(wrong["invoke_index"].to_pylist(), wrong["problem"].to_pylist(), strict=True))
                if not problems:
                    counts.update(count(batch, spans))
                    yield batch.select(OPERATIONS.names)

        write_part(root, "operations", clean())
        index, problem = min(problems, default=(None, None))
        report = {"counts": list(counts.items()), "index": index, "problem": problem}
        yield pa.record_batch({"report": [json.dumps(report)]})

    return write


def _refuse(recording: Recording, report: dict[str, Any]) -> None:
    """Raise the pairing's complaint, in the words of the format's own reader where it is at hand."""
    pair(recording.events, recording.source)
    raise FormatError(recording.source, f"index {report['index']}", report["problem"])


def _ddl(schema: pa.Schema) -> str:
    """The schema as Spark's text form, all columns nullable."""
    names = {pa.int64(): "bigint", pa.float64(): "double", pa.string(): "string"}
    return ", ".join(f"`{field.name}` {names[field.type]}" for field in schema)


def run_action(action: Callable[[], Any]) -> Any:
    """Run a Spark action.  Raises JobError with the first cause instead of Spark's own exceptions."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        return action()
    except (PySparkException, Py4JError) as error:
        raise JobError(_cause(str(error))) from error


def _cause(text: str) -> str:
    """The exception that ends the first Python traceback in Spark's report, else the innermost of Spark's own."""
    lines = [line for line in text.splitlines() if line.strip()]
    for place, line in enumerate(lines):
        if line.startswith("Traceback"):
            return next((later for later in lines[place + 1 :] if not later.startswith(" ")), line)
    return next((line.rpartition("SparkException: ")[2] for line in lines if "SparkException: " in line), lines[0])
