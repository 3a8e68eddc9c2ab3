"""What one run recorded, read strictly, in the shapes that the jobs need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from history import Event, FormatError, Header, Probe, Receipt, RunFiles, read_history, read_probes, receipts_of
from history.metrics.recovery import Asked, Load, Times, load_of
from history.records.events import NEMESIS, parse_header, parse_object
from history.records.probes import each_probe
from history.tables.schemas import PROBES
from pipeline.tables.columns import clean


@dataclass(frozen=True, slots=True)
class Recording:
    """A run's history (without a last line that is incomplete) and probes."""

    source: str
    events: list[Event]
    receipts: list[Receipt]
    probes: list[Probe]


def read_run(run: RunFiles) -> Recording:
    """Read what a run recorded, however it ended: nothing but the history has to be there.

    Raises history.FormatError (with the line) for a bad line in either file, FileNotFoundError without a history.
    """
    history = read_history(run.history)
    probes = read_probes(run.probes) if run.probes.exists() else []
    source = str(run.history)
    return Recording(source, history.events, receipts_of(history.events), probes)


def ok_times(events: Sequence[Event]) -> Times:
    """Completion times of the clients' ok operations, ascending, in nanoseconds."""
    return np.array([e.time for e in events if e.type == "ok" and e.process != NEMESIS], dtype=np.int64)


def load_in(events: Sequence[Event], receipts: Sequence[Receipt]) -> Load:
    """When the clients were at work, as ``history.metrics.recovery`` defines it."""
    clients = [event for event in events if event.process != NEMESIS]
    phased = any(event.phase is not None for event in clients if event.type == "invoke")
    times: list[int] = []
    waiting: set[int | str] = set()
    for event in clients:
        if event.type == "invoke" and (event.phase == "main" or not phased):
            waiting.add(event.process)
            times.append(event.time)
        elif event.process in waiting:
            waiting.remove(event.process)
            times.append(event.time)
    asked = [Asked(times[0], times[-1], bool(waiting))] if times else []
    return load_of(asked, clients[-1].time if clients else 0, receipts)


def read_header(history: Path) -> Header:
    """The first line of a history alone.  Raises FormatError, OSError."""
    with history.open("rb") as file:
        return header_of(file.readline(), history)


def header_of(line: bytes, history: Path) -> Header:
    """The header in a history's first line, which ends with a line end.  Raises FormatError."""
    if not line.endswith(b"\n"):
        raise FormatError(str(history), "line 1", "expected a history header, found no whole line")
    return parse_header(parse_object(line, history, 1), history)


def probe_batches(path: Path, size: int = 100_000) -> Iterator[pa.Table]:
    """The probes in a file as tables of ``size`` rows; none if there is no file.  Raises FormatError, OSError."""
    if path.exists():
        probes = each_probe(path)
        while piece := list(islice(probes, size)):
            yield probes_table(piece)


def probes_table(probes: Sequence[Probe]) -> pa.Table:
    """Probes as rows of ``probes.parquet``."""
    columns = {name: [getattr(probe, name) for probe in probes] for name in PROBES.names}
    for name in ("node", "leader", "error"):
        columns[name] = [None if cell is None else clean(cell) for cell in columns[name]]
    return pa.table(columns, schema=PROBES)
