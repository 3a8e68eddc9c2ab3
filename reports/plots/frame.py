"""The frame of plots over a run's time: style, fault bands with a named bar for each fault, marks, legends.

Outcomes differ by marker, lines by their dashes, and faults by their names, so that plots stay readable in grey print
and for colour-blind readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from history.records.caveats import violations_text
from reports.analysis.faults import FaultWindow, shares_of
from reports.analysis.findings import Drawn
from reports.analysis.marks import Marks
from reports.style.format import one_line
from reports.style.palette import FAULT_COLOURS

STYLE: Final[dict[Any, Any]] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#5b6470",
    "axes.linewidth": 0.7,
    "axes.axisbelow": True,
    "grid.color": "#e3e6ea",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "savefig.dpi": 300,
    "svg.hashsalt": "harness",
    "svg.fonttype": "none",
    "text.parse_math": False,
}
#: Label of artists behind or above a panel's data; matplotlib leaves labels that begin with it out of legends.
FRAME: Final = "_frame"
MARK: Final = "#c00018"
GREY: Final = "#b4b9bf"
LINE_STYLES: Final = ("-", (0, (6, 2)), (0, (3, 1.5)), (0, (1, 1.5)), (0, (6, 1.5, 1, 1.5)))
#: Inches, legends included.
WIDTH: Final = 9.0
#: Width of a letter of a fault's name, as a share of the run's time; a panel is about 7.2 inches wide.
LETTER: Final = 1 / 110
#: Height of a row of faults, in inches.
ROW: Final = 0.17
MAX_ROWS: Final = 10
#: Limit of names listed in the legend because their bars are too short.
MAX_NAMED: Final = 16


def figure_of(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


@dataclass(frozen=True, slots=True)
class Bar:
    """One fault from ``start`` to ``stop`` (seconds) in a row; ``text`` is the part of its ``name`` that fits."""

    start: float
    stop: float
    row: int
    family: str
    text: str
    name: str


def bars_of(windows: Sequence[FaultWindow], end: float) -> list[Bar]:
    """Return a bar for each fault that was started, in as few rows as possible, at most :data:`MAX_ROWS`.

    Depending on the space, a bar shows the fault's number and name, only its number, or nothing.
    """
    free: list[float] = []
    bars = []
    for window in sorted((fault for fault in windows if fault.state != "skipped"), key=lambda fault: fault.started):
        stop = max(end_of(window, end), window.started + end / 400)
        row = next((row for row, until in enumerate(free) if until <= window.started), len(free))
        if row >= MAX_ROWS:
            continue
        free[row:] = [stop, *free[row + 1 :]]
        name = f"#{window.id} {one_line(window.fault, 40)}{'' if window.installed else ', ' + window.state}"
        room = (stop - window.started) / (end * LETTER) - 1
        text = next((text for text in (name, f"#{window.id}") if len(text) <= room), "")
        bars.append(Bar(window.started, stop, row, window.family, text, name))
    return bars


def end_of(window: FaultWindow, end: float) -> float:
    return window.healed if window.healed is not None else end


class Frame:
    """A figure with ``panels`` over the run's time, from top to bottom, below a strip of faults.

    The bands behind the panels have the colours of the fault families; they are ``grey`` if points carry colours.
    """

    def __init__(self, drawn: Drawn, marks: Marks, title: str, heights: Sequence[float], *, grey: bool = False) -> None:
        self.drawn, self.marks, self._grey = drawn, marks, grey
        self.end = drawn.run.end / 1e9
        bars = bars_of(drawn.windows, self.end)
        self.unnamed = [bar for bar in bars if bar.text != bar.name]
        rows = max((bar.row for bar in bars), default=-1) + 1
        strip = [rows * ROW + 0.08] if rows else []
        self.figure = figure_of(WIDTH, sum(heights) + sum(strip))
        layout = self.figure.get_layout_engine()
        if layout is not None:
            layout.set(hspace=0.0, h_pad=0.06)  # type: ignore[call-arg]  # (constrained layout's own)
        all_axes = self.figure.subplots(
            len(strip) + len(heights), 1, sharex=True, squeeze=False, height_ratios=[*strip, *heights]
        )[:, 0]
        self.panels: list[Axes] = list(all_axes[len(strip) :])
        if strip:
            _draw_bars(all_axes[0], bars, rows)
        for axes in self.panels:
            _bands(axes, drawn.windows, self.end, grey=grey)
            _marks(axes, marks)
        self.panels[-1].set_xlim(0, self.end)
        self.panels[-1].set_xlabel("seconds")
        run = drawn.run
        test = fill(f"{one_line(run.test, 200)}  {one_line(run.name, 40)}", 64)
        all_axes[0].set_title(f"{title}\n{test}", fontsize=9)

    def legend(self, handles: Sequence[Any]) -> None:
        """Draw the legend right of the panels: lines, marks, fault families, and names that did not fit into bars."""
        families = _family_keys(self.drawn.windows, grey=self._grey)
        keys = [*handles, *_mark_keys(self.marks), *families, *_name_keys(self.unnamed)]
        self.figure.legend(handles=keys, loc="outside right upper")


def _draw_bars(axes: Axes, bars: Sequence[Bar], rows: int) -> None:
    axes.set_ylim(rows, 0)
    axes.set_yticks([])
    axes.tick_params(length=0, labelbottom=False)
    axes.spines[:].set_visible(False)
    for bar in bars:
        colour = FAULT_COLOURS[bar.family]
        axes.broken_barh([(bar.start, bar.stop - bar.start)], (bar.row + 0.06, 0.88), color=colour, lw=0)
        axes.text(bar.start, bar.row + 0.54, f" {bar.text}", fontsize=7, va="center", color="#10151a")


def _bands(axes: Axes, windows: Sequence[FaultWindow], end: float, *, grey: bool) -> None:
    for window, (low, high) in zip(windows, shares_of(windows, end), strict=True):
        if window.state != "skipped":
            stop = max(end_of(window, end), window.started + end / 400)
            colour = GREY if grey else FAULT_COLOURS[window.family]
            up = {"ymin": 1 - high, "ymax": 1 - low}
            axes.axvspan(window.started, stop, **up, color=colour, alpha=0.35, lw=0, zorder=0, label=FRAME)


def _marks(axes: Axes, marks: Marks) -> None:
    """Draw a triangle at the upper edge and a thin line for each mark, as on the page; hollow for nodes.

    If consecutive answers of a node showed the same, there is one mark and a bar along the edge.
    """
    across = axes.get_xaxis_transform()
    every = (
        (_distinct(marks.findings, marks.further_findings), "white"),
        (_distinct(marks.violations, marks.further_violations), MARK),
    )
    spans = [(mark.at, mark.until - mark.at) for mark in marks.findings if mark.until is not None]
    axes.broken_barh(spans, (0.985, 0.015), transform=across, color=MARK, lw=0, zorder=5, label=FRAME)
    for times, face in every:
        if not times:
            continue
        axes.vlines(times, 0, 1, transform=across, color=MARK, lw=0.6, alpha=0.5, zorder=1.5, label=FRAME)
        axes.plot(
            times,
            [1.0] * len(times),
            transform=across,
            clip_on=False,
            ls="",
            marker="v",
            ms=6,
            mfc=face,
            mec=MARK,
            mew=0.9,
            zorder=6,
            label=FRAME,
        )


def _distinct(marks: Sequence[Any], further: Sequence[float]) -> list[float]:
    return sorted({*(float(mark.at) for mark in marks), *further})


def _mark_keys(marks: Marks) -> list[Line2D]:
    keys = [
        (len(marks.violations), MARK, violations_text(marks.violated, least=marks.least)),
        (len(marks.findings), "white", "a node broke a rule"),
    ]
    if marks.recorded < marks.violated:
        keys[0] = (
            len(marks.violations),
            MARK,
            f"{marks.recorded} of {violations_text(marks.violated, least=marks.least)}",
        )
    return [
        Line2D([], [], ls="", marker="v", ms=6, mfc=face, mec=MARK, mew=0.9, label=text)
        for count, face, text in keys
        if count
    ]


def _name_keys(bars: Sequence[Bar]) -> list[Patch]:
    """Return legend entries for faults whose names did not fit: the numbers of each name, and the name."""
    numbers: dict[tuple[str, str], list[str]] = {}
    for bar in bars:
        number, _, name = bar.name.partition(" ")
        numbers.setdefault((bar.family, name), []).append(number)
    shown = list(numbers.items())[:MAX_NAMED]
    keys = [
        Patch(color=FAULT_COLOURS[family], lw=0, label=fill(one_line(f"{' '.join(mine)} {name}", 90), 26))
        for (family, name), mine in shown
    ]
    more = len(numbers) - len(shown)
    return [*keys, Patch(fill=False, lw=0, label=f"and {more} more")] if more else keys


def _family_keys(windows: Sequence[FaultWindow], *, grey: bool) -> list[Patch]:
    """Return legend entries for the bands' colours, or for a ``grey`` band; the bars themselves name the faults."""
    families = dict.fromkeys(window.family for window in windows if window.state != "skipped")
    if grey:
        return [Patch(color=GREY, alpha=0.35, lw=0, label="while a fault was active")] if families else []
    return [Patch(color=FAULT_COLOURS[family], alpha=0.6, lw=0, label=f"{family} fault") for family in families]
