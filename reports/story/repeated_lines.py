"""Log lines that nodes repeated when a replica stopped, as shown in the section about recovery."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from history.node_logs import OFTEN, LogLine
from history.records.text import and_listed
from reports.analysis.faults import since_fault
from reports.analysis.findings import Drawn
from reports.analysis.lagging_nodes import REPEATED
from reports.style.format import number, one_line, undated

#: For lines logged for longer than this (s), the text gives the rate and the fault under which they began.
LASTING_S: Final = 1.0


def repeated_text(drawn: Drawn, nodes: Sequence[str]) -> tuple[str, float] | None:
    """Return node and count of the line that :func:`stuck_text` quotes, as text, and the time of its log excerpt (s).

    Without such a line, the most frequent warning is taken; None if there is none.
    """
    if (stopped := drawn.stopped) is None:
        return None
    line = stuck_at(drawn, nodes) or max(_repeated(drawn), key=lambda line: line.times, default=None)
    return None if line is None else (_often(drawn, line), stopped.at)


def stuck_text(drawn: Drawn, nodes: Sequence[str]) -> str:
    """Quote the warning that shows where these lagging nodes are stuck; empty if there is none."""
    line = stuck_at(drawn, nodes)
    if line is None:
        return ""
    lasted = line.last - line.seconds
    rate = f", {line.times / lasted:,.0f} a second" if lasted > LASTING_S else ""
    text = f"{_often(drawn, line)}{rate}: {one_line(undated(line.text), 200).rstrip('.')}"
    same = {_about(other, nodes) for other in _repeated(drawn) if _alike(other, line, nodes)} - {_about(line, nodes)}
    more = f" {line.node} logged the same about {and_listed(sorted(same))}." if same else ""
    return (text if text.endswith("…") else f"{text}.") + more


def stuck_at(drawn: Drawn, nodes: Sequence[str]) -> LogLine | None:
    """Choose the most repeated line (thousands of times) that names one of these nodes.

    A leader that cannot feed a follower repeats it endlessly, while the follower logs its answers only for a
    moment.  If no line is that frequent, choose the most severe line that one of these nodes repeated, then the
    most frequent.
    """
    lines = _repeated(drawn)
    naming = [line for line in lines if line.times >= OFTEN and _about(line, nodes)]
    own = [line for line in lines if line.node in nodes]
    most = max(naming, key=lambda line: line.times, default=None)
    return most or max(own, key=lambda line: (line.weight, line.times), default=None)


def _about(line: LogLine, nodes: Sequence[str]) -> str:
    """Return the first of these nodes that a line names as a word; empty if it names none."""
    return next((node for node in nodes if _word(node).search(line.text)), "")


def _alike(first: LogLine, other: LogLine, nodes: Sequence[str]) -> bool:
    """Return whether two very frequent lines of a node differ only in numbers and in which of these nodes they name."""

    def shape(line: LogLine) -> str:
        return re.sub(r"\d+", "#", _word(_about(line, nodes)).sub("#", line.text))

    both = first.node == other.node and min(first.times, other.times) >= OFTEN
    return both and bool(_about(first, nodes) and _about(other, nodes)) and shape(first) == shape(other)


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])")


def _often(drawn: Drawn, line: LogLine) -> str:
    first, last, lasted = f"{line.seconds:.1f}", f"{line.last:.1f}", line.last - line.seconds
    span = f"at {first} s" if first == last else f"from {first} s to {last} s"
    if lasted > LASTING_S:
        under = since_fault(line.seconds, drawn.windows)[-1].removeprefix(", ")
        span = f"from {first} s{f' ({under})' if under else ''} to {last} s"
    return f"{line.node} logged {number(line.times)} times {span}"


def _repeated(drawn: Drawn) -> list[LogLine]:
    lines = drawn.stopped.lines if drawn.stopped else ()
    return [line for line in lines if line.weight and line.times >= REPEATED]
