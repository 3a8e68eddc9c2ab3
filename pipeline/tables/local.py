"""The tables of one run without Spark, computed by the same functions in this process.

This is for one small file, and for machines on which Spark does not start.  The tables equal those of
``pipeline.spark.large.run_tables``, apart from the seconds spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from history import KeyVerdict, RunFiles
from history.recording import Recording
from history.tables.operations import table_of
from history.tables.schemas import PROBES, VERDICTS
from pipeline.tables.conclusions import source_of
from pipeline.tables.judging import Budget, each_key, judge, verdicts_of
from pipeline.tables.recovery import Slice, fault_table, ok_times
from pipeline.tables.storage import replacing, write_tables
from pipeline.tables.windows import window_table


@dataclass(frozen=True, slots=True)
class Tables:
    """The verdicts of one run and the rows of its table of faults."""

    key_verdicts: list[KeyVerdict]
    faults: list[dict[str, Any]]

    @classmethod
    def of(cls, verdicts: pa.Table, faults: pa.Table) -> Tables:
        """Return the finished tables as values."""
        return cls(verdicts_of(verdicts), faults.to_pylist())


def local_tables(run: RunFiles | Recording, *, model: str | None, deadline_s: float) -> Tables:
    """Compute and write the five tables of a run, in this process.

    Raises the errors of :func:`computed_tables`, and OSError if the disk fails.
    """
    recording = Recording.of(run)
    source = source_of(recording)  # taken before reading, because the tables may lack what is appended after this
    tables = computed_tables(recording, model=model, deadline_s=deadline_s)
    store_tables(recording.files, tables, source)
    return Tables.of(tables["verdicts"], tables["faults"])


def computed_tables(run: Recording, *, model: str | None, deadline_s: float) -> dict[str, pa.Table]:
    """Compute the five tables of a run, by name.

    Without a ``model`` there are no verdicts, because something else judges the keys.  ``deadline_s`` bounds the
    checking of all keys together (see ``pipeline.tables.judging.Budget``).  Raises history.FormatError for bad recorded
    data, or FileNotFoundError without a history.
    """
    operations, receipts = run.history.operations, run.receipts
    load = Slice.load([Slice.of(operations)], receipts)
    return {
        "operations": operations,
        "verdicts": _verdicts(operations, model, deadline_s),
        "windows": window_table(operations),
        "faults": fault_table(receipts, ok_times(operations), load, run.clock),
        "probes": probe_table(run),
    }


def probe_table(run: Recording) -> pa.Table:
    """Return the probes of a run as a table.  Raises FormatError or OSError."""
    return table_of({name: [getattr(probe, name) for probe in run.probes] for name in PROBES.names}, PROBES)


def store_tables(run: RunFiles, tables: Mapping[str, pa.Table], source: Mapping[str, int]) -> None:
    """Write the tables of a run, all or nothing.

    ``source`` is what :func:`source_of` returned before they were made.  Raises OSError if the disk fails, or
    FormatError if the files that were written are damaged.
    """
    with replacing(run.tables, source) as (fresh, rows):
        rows.update(write_tables(fresh, tables))


def _verdicts(operations: pa.Table, model: str | None, deadline_s: float) -> pa.Table:
    if model is None:
        return VERDICTS.empty_table()
    keys = each_key(operations)
    return judge(keys, model, Budget.of(deadline_s, len(keys)))[0]
