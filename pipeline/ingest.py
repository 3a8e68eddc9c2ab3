"""Many runs into the warehouse: each for itself, so that a bad one is named and all others are done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa

from history import RunFiles, read_history
from pipeline.jobs import run_action
from pipeline.local import local_tables
from pipeline.warehouse import append_run, run_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

State: TypeAlias = Literal["added", "unchanged", "failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one run; ``error`` is the kind and text of what was wrong with a failed one."""

    run: str
    state: State
    error: str | None = None


def ingest(
    runs: Sequence[RunFiles], warehouse: Path, *, deadline_s: float, spark: SparkSession | None = None
) -> list[Outcome]:
    """Bring runs into the warehouse, computing the tables of those that have none; outcomes in the order of ``runs``.

    With ``spark`` the runs are spread over its tasks, which must see the same files.  ``deadline_s`` is each run's.
    Whatever is wrong with a run (bad lines, another version, gone meanwhile) is its outcome; raises only OSError when
    the warehouse itself cannot be made, and JobError when Spark fails.
    """
    warehouse.mkdir(parents=True, exist_ok=True)
    if spark is None:
        return [_one(run, warehouse, deadline_s) for run in runs]
    rows = [(place, str(run.root)) for place, run in enumerate(runs)]
    frame = spark.createDataFrame(rows, "place long, root string").repartition(_tasks(spark, len(rows)), "place")
    reports = run_action(frame.mapInArrow(_task(warehouse, deadline_s), "place long, report string").collect)
    return [Outcome(**json.loads(row.report)) for row in sorted(reports, key=lambda row: int(row.place))]


def _tasks(spark: SparkSession, runs: int) -> int:
    return max(1, min(runs, 4 * spark.sparkContext.defaultParallelism))


def _task(warehouse: Path, deadline_s: float) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place, root in zip(batch["place"].to_pylist(), batch["root"].to_pylist(), strict=True):
                report = asdict(_one(RunFiles(Path(root)), warehouse, deadline_s))
                yield pa.record_batch({"place": [place], "report": [json.dumps(report)]})

    return work


def _one(run: RunFiles, warehouse: Path, deadline_s: float) -> Outcome:
    name = run_name(run)
    try:
        if not run.tables.is_dir():
            local_tables(run, model=_model(run), deadline_s=deadline_s)
        return Outcome(name, "added" if append_run(warehouse, run) else "unchanged")
    except Exception as error:  # noqa: BLE001 (one run must not end the others, whatever it holds)
        return Outcome(name, "failed", f"{type(error).__name__}: {error}")


def _model(run: RunFiles) -> str:
    header: Any = read_history(run.history).header
    return str(header.model)
