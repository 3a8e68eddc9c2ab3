"""What nodes log again and again: at the end of the record, and when a replica stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from history.records.violations import OUTAGE_S
from reports.analysis.findings import RECOVERY_S, Drawn
from reports.load import logs
from reports.style.format import number, one_line, undated

#: A warning that a node logs this often within :data:`OUTAGE_S`, or soon after it stopped, is what it is stuck at.
REPEATED: Final = 100
#: Seconds before a replica was seen to have stopped from which its lines count: probes are that late.
_BEFORE_S: Final = 1.0


def repeated_at_the_end(drawn: Drawn, nodes: Sequence[str]) -> logs.LogLine | None:
    """Find the warning that a node, one of these if possible, logs most often in the last :data:`OUTAGE_S`."""
    end = drawn.run.end / 1e9
    found = _repeated(drawn, end - OUTAGE_S, end)
    return max([line for line in found if line.node in nodes] or found, key=lambda line: line.times, default=None)


def stuck_text(drawn: Drawn, nodes: Sequence[str], onset: float) -> str:
    """Quote the gravest warning that one of the nodes logged again and again when it stopped; empty where none did.

    Of equally grave ones it is the most frequent.
    """
    until = onset + RECOVERY_S
    found = [line for line in _repeated(drawn, onset - _BEFORE_S, until) if line.node in nodes]
    line = max(found, key=lambda line: (line.weight, line.times), default=None)
    if line is None:
        return ""
    often = f"{line.node} logged this {number(line.times)} times from {line.seconds:.1f} s to {until:.1f} s"
    return f"{often}: {one_line(undated(line.text), 200)}."


def _repeated(drawn: Drawn, start: float, end: float) -> list[logs.LogLine]:
    lines = logs.excerpt(drawn.run.files, drawn.run.started, start, end, limit=200)
    return [line for line in lines if line.weight and line.times >= REPEATED]
