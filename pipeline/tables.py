"""What a job hands back, and the steps that both ways of computing it share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from history import KeyVerdict
from pipeline.counting import Counts, summary
from pipeline.judging import verdicts_of
from pipeline.recovery import fault_table
from pipeline.sources import Recording, load_of, ok_times, probes_table


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one run as values.

    ``windows`` and ``faults`` are the rows of the tables of these names.  ``counts`` is plain JSON (see
    ``pipeline.counting``) with ``events``, ``keys`` and ``torn`` added.  ``seconds`` tells how long each step took.
    """

    key_verdicts: list[KeyVerdict]
    windows: list[dict[str, Any]]
    faults: list[dict[str, Any]]
    counts: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)


def small_tables(recording: Recording) -> dict[str, pa.Table]:
    """The tables that are small however long the run was: faults and probes."""
    load = load_of(recording.events)
    return {
        "faults": fault_table(recording.receipts, ok_times(recording.events), load),
        "probes": probes_table(recording.probes),
    }


def as_values(recording: Recording, tables: dict[str, pa.Table], counts: Counts, seconds: dict[str, float]) -> Tables:
    """The finished tables as values; ``tables`` holds at least verdicts, windows and faults."""
    verdicts = verdicts_of(tables["verdicts"])
    more = {"events": len(recording.events), "keys": len(verdicts), "torn": recording.torn}
    return Tables(
        verdicts,
        tables["windows"].to_pylist(),
        tables["faults"].to_pylist(),
        {**more, **summary(counts)},
        seconds,
    )
