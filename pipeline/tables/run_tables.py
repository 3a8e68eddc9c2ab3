"""What a job hands back, and the steps that both ways of computing it share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from history import KeyVerdict
from pipeline.tables.counting import Counts, summary
from pipeline.tables.judging import verdicts_of
from pipeline.tables.recovery import fault_table
from pipeline.tables.sources import Recording, load_in, ok_times, probes_table


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one run as values.

    ``faults`` are the rows of the table of this name.  ``counts`` is plain JSON (see ``pipeline.tables.counting``) with
    ``events``, ``keys`` and ``torn`` added.  ``seconds`` tells how long each step took.
    """

    key_verdicts: list[KeyVerdict]
    faults: list[dict[str, Any]]
    counts: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)


def small_tables(recording: Recording) -> dict[str, pa.Table]:
    """The tables that are small however long the run was: faults and probes."""
    load = load_in(recording.events, recording.receipts)
    return {
        "faults": fault_table(recording.receipts, ok_times(recording.events), load),
        "probes": probes_table(recording.probes),
    }


def as_values(recording: Recording, tables: dict[str, pa.Table], counts: Counts, seconds: dict[str, float]) -> Tables:
    """The finished tables as values; ``tables`` holds at least verdicts and faults."""
    more = {"events": len(recording.events), "torn": recording.torn}
    return values_of(tables["verdicts"], tables["faults"], counts, more, seconds)


def values_of(
    verdict_rows: pa.Table, faults: pa.Table, counts: Counts, more: dict[str, Any], seconds: dict[str, float]
) -> Tables:
    """What a job hands back; ``more`` is what else is to be counted."""
    verdicts = verdicts_of(verdict_rows)
    more = {**more, "keys": len(verdicts)}
    return Tables(verdicts, faults.to_pylist(), {**more, **summary(counts)}, seconds)
