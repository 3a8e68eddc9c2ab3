"""Plot numbers that only this system's nodes report, over time, without knowing what they mean."""

from __future__ import annotations

from math import nan
from typing import Final

from matplotlib.figure import Figure

from reports.analysis.findings import Drawn
from reports.analysis.marks import Marks
from reports.plots.frame import LINE_STYLES, Frame
from reports.style.format import one_line
from reports.style.palette import node_colour

#: How many panels fit on a picture; further numbers, in order of name, are not drawn.
MAX_PANELS: Final = 12


def own_figures(drawn: Drawn, marks: Marks) -> Figure | None:
    """Draw a panel for each of the system's own numbers, a line per node, with gaps where a node reported none."""
    probes = drawn.run.probes
    names = sorted({name for probe in probes for name, value in probe.own.items() if not isinstance(value, str)})
    if not names:
        return None
    frame = Frame(drawn, marks, "The system's own figures", [1.4] * len(names[:MAX_PANELS]))
    for axes, name in zip(frame.panels, names, strict=False):
        lines = []
        for row, timeline in enumerate(drawn.timelines):
            mine = [(probe.time / 1e9, probe.own.get(name)) for probe in probes if probe.node == timeline.node]
            lines += axes.plot(
                [time for time, _ in mine],
                [nan if value is None or isinstance(value, str) else value for _, value in mine],
                color=node_colour(row),
                ls=LINE_STYLES[row % len(LINE_STYLES)],
                lw=1.2,
                drawstyle="steps-post",
                label=one_line(timeline.node, 12),
            )
        axes.set_ylabel(one_line(name, 20))
        axes.grid(axis="y")
    frame.legend(lines)
    return frame.figure
