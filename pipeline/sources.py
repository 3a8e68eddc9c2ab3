"""What one run recorded, read once and strictly, in the shapes that the jobs take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from history import Event, Header, Probe, Receipt, RunFiles, read_history, read_probes, receipts_of
from history.events import NEMESIS
from history.tables import PROBES
from pipeline.columns import clean
from pipeline.recovery import Load, Times


@dataclass(frozen=True, slots=True)
class Recording:
    """A run's history and probes.  ``torn``: the last line of the history was incomplete and was left out."""

    source: str
    header: Header
    events: list[Event]
    torn: bool
    receipts: list[Receipt]
    probes: list[Probe]


def read_run(run: RunFiles) -> Recording:
    """Read what a run recorded, however it ended: nothing but the history has to be there.

    Raises history.FormatError (with the line) for a bad line in either file, FileNotFoundError without a history.
    """
    history = read_history(run.history)
    probes = read_probes(run.probes) if run.probes.exists() else []
    source = str(run.history)
    return Recording(source, history.header, history.events, history.torn, receipts_of(history.events), probes)


def ok_times(events: Sequence[Event]) -> Times:
    """Completion times of the clients' ok operations, ascending, in nanoseconds."""
    return np.array([e.time for e in events if e.type == "ok" and e.process != NEMESIS], dtype=np.int64)


def load_of(events: Sequence[Event]) -> Load:
    """When the clients were at work; all zero if they never were."""
    clients = [event for event in events if event.process != NEMESIS]
    phased = any(event.phase is not None for event in clients)
    main = [e.time for e in clients if e.type == "invoke" and (e.phase == "main" or not phased)]
    last = clients[-1].time if clients else 0
    return Load(main[0], main[-1], last) if main else Load(last, last, last)


def probes_table(probes: Sequence[Probe]) -> pa.Table:
    """Probes as rows of ``probes.parquet``."""
    columns = {name: [getattr(probe, name) for probe in probes] for name in PROBES.names}
    for name in ("node", "leader", "error"):
        columns[name] = [None if cell is None else clean(cell) for cell in columns[name]]
    return pa.table(columns, schema=PROBES)
