"""What a job returns, and the steps that both ways of computing it share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from history import KeyVerdict
from pipeline.tables.judging import verdicts_of
from pipeline.tables.recovery import fault_table
from pipeline.tables.slices import Slice, ok_times
from pipeline.tables.sources import Recording, probes_table


@dataclass(frozen=True, slots=True)
class Tables:
    """The verdicts and the rows of the table of faults of one run, and how many seconds each step took."""

    key_verdicts: list[KeyVerdict]
    faults: list[dict[str, Any]]
    seconds: dict[str, float] = field(default_factory=dict)


def small_tables(recording: Recording) -> dict[str, pa.Table]:
    """The tables that are small however long the run was: faults and probes."""
    load = Slice.load([Slice.of(recording.operations)], recording.receipts)
    return {
        "faults": fault_table(recording.receipts, ok_times(recording.operations), load),
        "probes": probes_table(recording.probes),
    }


def values_of(verdicts: pa.Table, faults: pa.Table, seconds: dict[str, float]) -> Tables:
    """The finished tables as values."""
    return Tables(verdicts_of(verdicts), faults.to_pylist(), seconds)
