"""Nodes that do not start again and stay silent until the end, as the run's record or the ends of their logs show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from history import Receipt, node_logs
from reports.analysis.node_timeline import NodeTimeline, silent_since
from reports.load.run import LoadedRun

#: How many lines at the end of a log are searched for a reason if the harness recorded that the server died.
TAIL_LINES: Final = 200
#: The same if only the log shows that it died; an error further up would not be what it died of.
LAST: Final = 40
MAX_LINES: Final = 60
_CAUSE: Final = re.compile(r"^Caused by: ")
_FAILED: Final = re.compile(
    r"\b(?:ERROR|FATAL)\b.*(?:[Ff]ail(?:ed|s)? to |[Uu]nable to |[Cc]annot |[Cc]ould not |corrupt)"
)
_EXCEPTION: Final = re.compile(r"^(?:Exception in thread \S+ )?[\w.$]+(?:Exception|Error)\b")
_ERROR: Final = re.compile(r"\b(?:ERROR|FATAL)\b")


@dataclass(frozen=True, slots=True)
class FailedStart:
    """A node that does not start again.  Times are in seconds.

    ``last`` is its last answer (None: it never gave one). ``started`` is when the healing of a fault last started
    its server (None: not recorded). ``line`` is the last line of its logs that gives a reason, and ``lines`` are
    the last lines of that file.  ``logged`` is when that line was logged; None if neither it nor a line above it
    has a date.  ``at`` is that moment, or else the last one known for the node.
    """

    node: str
    last: float | None
    started: float | None
    file: str
    line: str
    lines: tuple[str, ...]
    at: float
    logged: float | None = None


def failed_starts(run: LoadedRun, timelines: Sequence[NodeTimeline]) -> list[FailedStart]:
    """Return the nodes that are silent at the end because their servers die while starting, in the nodes' order.

    Either the harness recorded that a server died while starting, or the healing of the node's last fault started a
    server that never answered and whose log ends with an error.
    """
    recorded = run.state.get("died_starting") or ()
    starts = []
    for timeline in timelines:
        node, last = timeline.node, silent_since(timeline, run.end / 1e9)
        started = _started_at(run.receipts, node)
        if last is None or (node not in recorded and (started is None or started < last)):
            continue
        reason = _reason(run, node, TAIL_LINES if node in recorded else LAST)
        if reason is None and node not in recorded:
            continue
        file, line, lines, logged = reason or ("", "", (), None)
        at = next((moment for moment in (logged, started) if moment is not None), last)
        starts.append(FailedStart(node, last or None, started, file, line, lines, at, logged))
    return starts


def _started_at(receipts: Sequence[Receipt], node: str) -> float | None:
    """Return when the healing of a node's last fault had started its server (s); None if unknown."""
    mine = [receipt for receipt in receipts if node in receipt.nodes and receipt.state != "skipped"]
    last = max(mine, key=lambda receipt: receipt.started, default=None)
    if last is None or last.healed is None or not isinstance(last.witness, dict):
        return None
    now = last.witness.get("pids_now")
    return last.healed / 1e9 if isinstance(now, Mapping) and now.get(node) else None


def _reason(run: LoadedRun, node: str, reach: int) -> tuple[str, str, tuple[str, ...], float | None] | None:
    """Return why a server died, from the last lines of a node's logs: (file, line, last lines, time in s).

    The root cause of an exception is preferred to an error about something that failed, and that to any other
    exception or error.
    """
    files = [path for name, path in node_logs.log_files(run.files, rotated=False) if name == node]
    tails = [(path.name, node_logs.tail(run.recording, path, reach)) for path in files]
    for pattern in (_CAUSE, _FAILED, _EXCEPTION, _ERROR):
        for name, lines in tails:
            place = next((at for at in range(len(lines) - 1, -1, -1) if pattern.search(lines[at])), None)
            if place is not None:
                first = max(min(place - 10, len(lines) - MAX_LINES), 0)
                return name, lines[place].strip(), tuple(lines[first:]), _logged(lines[: place + 1], run.started)
    return None


def _logged(lines: Sequence[str], started: str) -> float | None:
    """Return when the last of some lines was logged (s): its own date, or that of the last dated line above it."""
    moments = (node_logs.seconds_of(line, started) for line in reversed(lines))
    return next((moment for moment in moments if moment is not None), None)
