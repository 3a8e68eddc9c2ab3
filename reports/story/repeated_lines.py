"""What nodes logged again and again when a replica stopped: the lines that the section about recovery shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reports.analysis.findings import Drawn
from reports.analysis.lagging_nodes import Stopped
from reports.load.logs import LogLine
from reports.style.format import number, one_line, undated

#: A warning that a node logs this often soon after a replica stopped is what it is stuck at.
REPEATED: Final = 100


def repeated_text(drawn: Drawn, nodes: Sequence[str]) -> tuple[str, float] | None:
    """Name the node, one of these if possible, that logged one warning most often; with the moment of its fold (s)."""
    if (stopped := drawn.stopped) is None:
        return None
    found = _repeated(stopped)
    line = max([one for one in found if one.node in nodes] or found, key=lambda line: line.times, default=None)
    return None if line is None else (_often(line), stopped.at)


def stuck_text(drawn: Drawn, nodes: Sequence[str]) -> str:
    """Quote the gravest warning that one of the nodes logged again and again when it stopped; empty where none did.

    Of equally grave ones it is the most frequent.
    """
    if (stopped := drawn.stopped) is None:
        return ""
    found = [line for line in _repeated(stopped) if line.node in nodes]
    line = max(found, key=lambda line: (line.weight, line.times), default=None)
    if line is None:
        return ""
    text = f"{_often(line)}: {one_line(undated(line.text), 200).rstrip('.')}"
    return text if text.endswith("…") else f"{text}."


def _often(line: LogLine) -> str:
    first, last = f"{line.seconds:.1f}", f"{line.last:.1f}"
    span = f"at {first} s" if first == last else f"from {first} s to {last} s"
    return f"{line.node} logged {number(line.times)} times {span}"


def _repeated(stopped: Stopped) -> list[LogLine]:
    return [line for line in stopped.lines if line.weight and line.times >= REPEATED]
