"""The tables of one run without Spark: the same functions, in this process.

For one small file, and for machines on which Spark does not start.  The tables are the same as those of
``pipeline.spark.large.run_tables``, apart from the seconds spent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from history import RunFiles
from history.tables.schemas import PROBES, VERDICTS
from pipeline.errors import JobError
from pipeline.tables.judging import Budget, judge
from pipeline.tables.recovery import Slice, fault_table, ok_times
from pipeline.tables.run_tables import Stopwatch, Tables
from pipeline.tables.sources import probe_batches, read_run
from pipeline.tables.storage import replacing, write_tables
from pipeline.tables.windows import window_table


def local_tables(
    run: RunFiles, *, model: str | None, deadline_s: float, clock: Callable[[], float] = time.time
) -> Tables:
    """Compute and write the five tables of a run, in this process.

    Without a ``model`` there are no verdicts: the keys are judged by something else.  ``deadline_s`` bounds the
    checking of all keys together (see ``pipeline.tables.judging.Budget``).  Raises
    history.FormatError for bad recorded data, FileNotFoundError without a history, OSError when the disk refuses,
    JobError when the checker fails.
    """
    tables, watch = _made(run, model, deadline_s, clock)
    return Tables.of(tables["verdicts"], tables["faults"], watch.laps)


def written_tables(
    run: RunFiles, *, model: str | None, deadline_s: float, clock: Callable[[], float] = time.time
) -> dict[str, pa.Table]:
    """Compute and write the same tables, and return them as they are on disk."""
    return _made(run, model, deadline_s, clock)[0]


def _made(
    run: RunFiles, model: str | None, deadline_s: float, clock: Callable[[], float]
) -> tuple[dict[str, pa.Table], Stopwatch]:
    watch = Stopwatch(clock)
    operations, receipts = read_run(run)
    probes = pa.concat_tables([PROBES.empty_table(), *probe_batches(run.probes)])
    watch.lap("read")
    load = Slice.load([Slice.of(operations)], receipts)
    tables = {
        "operations": operations,
        "verdicts": _verdicts(operations, model, deadline_s, clock),
        "windows": window_table(operations),
        "faults": fault_table(receipts, ok_times(operations), load),
        "probes": probes,
    }
    watch.lap("compute")
    with replacing(run.tables) as fresh:
        write_tables(fresh, tables)
    watch.lap("write")
    return tables, watch


def _verdicts(operations: pa.Table, model: str | None, deadline_s: float, clock: Callable[[], float]) -> pa.Table:
    if model is None:
        return VERDICTS.empty_table()
    groups = list(_by_key(operations))
    budget = Budget.of(deadline_s, len(groups), clock)
    try:
        judged = [judge(group, model, budget) for group in groups]
    except Exception as error:
        raise JobError(f"{type(error).__module__}.{type(error).__qualname__}: {error}") from error
    return pa.concat_tables([VERDICTS.empty_table(), *judged])


def _by_key(operations: pa.Table) -> Iterator[pa.Table]:
    ordered = operations.sort_by("key")
    runs = pc.run_end_encode(ordered["key"].combine_chunks())
    begin = 0
    for end in runs.run_ends.to_pylist():
        yield ordered.slice(begin, end - begin)
        begin = end
