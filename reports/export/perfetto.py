"""A run as a trace for Perfetto (ui.perfetto.dev): tracks of violations, faults, leaders, nodes and clients."""

from __future__ import annotations

from datetime import datetime
from typing import Any, BinaryIO, Final, Literal

import numpy as np

from history.codes import OUTCOMES
from history.columns.operations import NONE
from reports.analysis import figures
from reports.analysis.elections import leaderships_of
from reports.analysis.faults import FaultWindow
from reports.analysis.findings import Drawn
from reports.analysis.marks import Marks, marks_of
from reports.analysis.node_timeline import SILENT, stretches
from reports.export.packets import Packets

_INDEXES: Final[tuple[tuple[Literal["log_end", "committed", "applied"], str], ...]] = (
    ("log_end", "end of the log"),
    ("committed", "committed"),
    ("applied", "applied"),
)


def write(drawn: Drawn, out: BinaryIO) -> None:
    """Write the trace; times are nanoseconds since the run's start.  Raises OSError."""
    packets = Packets(out, _started(drawn.run.started))
    for rank, (name, fill) in enumerate(_GROUPS):
        fill(drawn, packets, packets.track(name, rank=rank))


def _started(text: str) -> int | None:
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1e6) * 1000
    except ValueError:
        return None


def _violations(drawn: Drawn, packets: Packets, track: int) -> None:
    marks = drawn.run.notes.attempt("marks of violations", lambda: marks_of(drawn), Marks((), (), 0))
    for violation in marks.violations:
        key = None if violation.key is None else str(violation.key)
        packets.instant(track, _ns(violation.at), violation.kind, "violation", key=key, operation=violation.culprit)
    for finding in marks.findings:
        packets.instant(track, _ns(finding.at), finding.check, "finding", node=finding.node, seen=finding.text)


def _faults(drawn: Drawn, packets: Packets, group: int) -> None:
    """Write a slice for each fault, from its first command to its healing; overlapping faults get separate tracks."""
    busy: list[tuple[int, int]] = []  # (end, track)
    for window in sorted(drawn.windows, key=lambda fault: fault.started):
        start, end = _ns(window.started), _fault_end(window, drawn.run.end)
        place = next((number for number, (until, _) in enumerate(busy) if until <= start), len(busy))
        if place == len(busy):
            busy.append((0, packets.track(f"faults {place + 1}", group, place)))
        track = busy[place][1]
        about = {"state": window.state, "nodes": " ".join(window.nodes), "leader": window.leader}
        more = {"summary": window.summary or None, "reason": window.reason, "sides": window.sides or None}
        packets.begin(track, start, window.fault, window.family, id=window.id, **about, **more)
        packets.end(track, end)
        busy[place] = (max(end, start + 1), track)


def _fault_end(window: FaultWindow, end: int) -> int:
    if window.state == "skipped":
        return _ns(window.started)
    return end if window.healed is None else max(_ns(window.healed), _ns(window.started))


def _leaders(drawn: Drawn, packets: Packets, track: int) -> None:
    """Write who led when."""
    for leadership in leaderships_of(drawn.timelines):
        title = f"{leadership.node} in term {leadership.term}" if leadership.term >= 0 else leadership.node
        packets.begin(track, _ns(leadership.start), title, node=leadership.node, term=leadership.term)
        packets.end(track, _ns(leadership.end))


def _nodes(drawn: Drawn, packets: Packets, group: int) -> None:
    """Write each node's roles with their terms, and its indexes as counters."""
    for rank, timeline in enumerate(drawn.timelines):
        track = packets.track(timeline.node, group, rank)
        for span in stretches(timeline):
            packets.begin(track, _ns(span.start), "no answer" if span.role == "silent" else span.role, term=span.term)
            packets.end(track, _ns(span.end))
        answered = timeline.role != SILENT
        for place, (column, name) in enumerate(_INDEXES):
            times, values = timeline.time[answered], getattr(timeline, column)[answered]
            if values.max(initial=-1) < 0:
                continue
            changed = np.flatnonzero(np.diff(values, prepend=values[:1] - 1))
            counter = packets.track(f"{timeline.node} {name}", track, place, counter=True)
            for row in changed:
                packets.count(counter, _ns(float(times[row])), int(values[row]))


def _clients(drawn: Drawn, packets: Packets, group: int) -> None:
    """Write the operations, one track per client.

    A process that ended as info is replaced by another, which continues on the same track.
    """
    operations, end = drawn.run.operations, drawn.run.end
    lanes, count = figures.lanes_of(operations, end)
    tracks = [packets.track(f"client {lane}", group, lane) for lane in range(count)]
    until = np.where(operations.returned == NONE, end, operations.returned)
    values, results = operations.value.to_pylist(), operations.result.to_pylist()
    order = np.lexsort((operations.invoke_index, lanes))
    following = np.append(np.where(np.diff(lanes[order]) == 0, operations.invoked[order][1:], end), end)[: len(order)]
    for row, after in zip(order.tolist(), following.tolist(), strict=True):
        outcome, f = OUTCOMES[operations.outcome[row]], operations.f.name(row) or "?"
        packets.begin(
            tracks[lanes[row]], int(operations.invoked[row]), f if outcome == "ok" else f"{f} {outcome}", outcome,
            key=operations.key.name(row), value=values[row], result=results[row], node=operations.node.name(row),
            error=operations.error.name(row), phase=operations.phase.name(row), process=int(operations.process[row]),
            index=int(operations.invoke_index[row]),
        )  # fmt: skip
        packets.end(tracks[lanes[row]], min(int(until[row]), after))


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


_GROUPS: Final[tuple[tuple[str, Any], ...]] = (
    ("violations", _violations),
    ("faults", _faults),
    ("leader", _leaders),
    ("nodes", _nodes),
    ("clients", _clients),
)
