"""The tables of one run on Spark: events -> operations -> verdicts, windows, faults, probes.

Everything that decides something is a pure function on Arrow columns, shared with ``pipeline.tables.local``;
``pipeline.spark.large`` says how the work is cut into pieces.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from history import RunFiles
from pipeline.spark.blocks import Source
from pipeline.spark.hadoop_fs import file_size, uri_of
from pipeline.spark.large import Sizes, large_tables
from pipeline.tables.run_tables import Tables, values_of
from pipeline.tables.sources import probe_batches
from pipeline.tables.storage import replacing, write_part
from pipeline.tables.timing import Stopwatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_tables(
    spark: SparkSession,
    run: RunFiles,
    *,
    model: str | None,
    deadline_s: float,
    clock: Callable[[], float] = time.time,
    sizes: Sizes | None = None,
    history: str | None = None,
) -> Tables:
    """Compute and write the five tables of a run on Spark.

    Without a ``model`` there are no verdicts: the keys are judged by something else.  ``deadline_s`` bounds the
    checking of all keys together (see ``pipeline.tables.judging.Budget``); keys of more than
    ``sizes.key`` operations are not bound by it.  ``history`` is its URI if it is not in the run's directory.
    Raises history.FormatError for bad recorded data, FileNotFoundError without a history, OSError when the disk
    refuses, PackageMissingError for a URI that no file system here reads, JobError when Spark or the checker fails,
    or a worker does not see the run's directory.
    """
    watch = Stopwatch(clock)
    source = _source(spark, run, history)
    with replacing(run.tables) as fresh:
        verdicts, faults = large_tables(spark, source, fresh, model, (deadline_s, clock), sizes or Sizes(), watch)
        write_part(fresh, "probes", probe_batches(run.probes))
        watch.lap("write")
    return values_of(verdicts, faults, watch.laps)


def _source(spark: SparkSession, run: RunFiles, history: str | None) -> Source:
    if history is None:
        return Source(uri_of(run.history), run.history.stat().st_size, str(run.history))
    return Source(history, file_size(spark, history), history)
