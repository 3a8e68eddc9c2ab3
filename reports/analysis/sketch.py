"""A small static chart of every node's index over the run, for findings about nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from history.columns.operations import Floats
from reports.analysis.faults import FaultWindow
from reports.analysis.node_timeline import SILENT, NodeTimeline
from reports.analysis.progress import extremes, progress_of
from reports.style.index_axis import IndexAxis
from reports.style.palette import node_colour

WIDTH: Final = 720.0
HEIGHT: Final = 190.0
LEFT: Final = 52.0
#: Width of a character of the labels at the left, at most.
SIGN: Final = 7.0
RIGHT: Final = 168.0
#: Space right of the chart for the short line before each label.
KEY: Final = 26.0
#: Limit of a node's name, in characters.
NAME: Final = 8
BOTTOM: Final = 22.0
#: The axis is divided into this many stretches (of about three pixels), and a line keeps the extremes of each.
BUCKETS: Final = 180
#: Minimum distance between two labels.
LABEL: Final = 14.0
#: Line widths in drawing order, so that lines on top of each other all stay visible.
WIDTHS: Final = (5.5, 4.25, 3.25, 2.25, 1.25)


@dataclass(frozen=True, slots=True)
class Line:
    """The line of one node: an SVG path of its index, its colour and width, and its label at the right edge."""

    node: str
    path: str
    colour: str
    late: bool
    label: str
    label_y: float
    width: float


@dataclass(frozen=True, slots=True)
class Sketch:
    """The chart; ``bands`` are (x, width, family), ``ticks`` (x, text) below, ``levels`` (y, text) at the left."""

    lines: tuple[Line, ...]
    bands: tuple[tuple[float, float, str], ...]
    ticks: tuple[tuple[float, str], ...]
    levels: tuple[tuple[float, str], ...]
    left: float
    right: float = WIDTH - RIGHT
    key: float = KEY
    width: float = WIDTH
    height: float = HEIGHT


def sketch_of(
    timelines: Sequence[NodeTimeline],
    windows: Sequence[FaultWindow],
    end: float,
    late: Sequence[str],
    index: Literal["applied", "log_end"] = "applied",
) -> Sketch | None:
    """Draw an index of every node over the run, with thick lines for ``late`` nodes; None without probes."""
    progress = progress_of(timelines, end)
    rows: Floats = getattr(progress, index)
    if not len(timelines) or not np.isfinite(rows).any():
        return None
    axis = IndexAxis.of([rows], timelines[0].epoch_bits)
    placed = axis.places(rows)
    top = max(float(np.nanmax(placed)), 1.0)
    levels = axis.levels(top)
    left = max(LEFT, SIGN * max(len(text) for _, text in levels) + 12)

    def x(seconds: float) -> float:
        return left + (WIDTH - left - RIGHT) * min(seconds / end, 1.0)

    def y(place: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 10) * place / top

    last = [_last(row) for row in placed]
    places = _spread([y(value) if value is not None else HEIGHT - BOTTOM for value in last])
    lines = tuple(
        Line(
            node=timeline.node,
            path=_path(
                [
                    (x(float(progress.time[at])), y(float(row[at])) if np.isfinite(row[at]) else None)
                    for at in extremes(progress.time, row, BUCKETS)
                ]
            ),
            colour=node_colour(place),
            late=timeline.node in late,
            label=f"{timeline.node[:NAME]} {_end(timeline, index)}",
            label_y=places[place],
            width=WIDTHS[min(place, len(WIDTHS) - 1)],
        )
        for place, (timeline, row) in enumerate(zip(timelines, placed, strict=True))
    )
    bands = tuple(
        (x(w.started), x(w.healed if w.healed is not None else end) - x(w.started), w.family)
        for w in windows
        if w.installed
    )
    ticks = tuple((x(end * part / 4), f"{end * part / 4:.0f} s") for part in range(5))
    return Sketch(lines, bands, ticks, tuple((y(level), text) for level, text in levels), left)


def _end(timeline: NodeTimeline, index: Literal["applied", "log_end"]) -> str:
    """Format the index in a node's last answer as the table of nodes does: a dash if there is none."""
    values = getattr(timeline, index)[timeline.role != SILENT]
    return timeline.index(int(values[-1])) if len(values) and values[-1] >= 0 else "–"


def _last(row: Floats) -> float | None:
    known = row[np.isfinite(row)]
    return float(known[-1]) if len(known) else None


def _path(points: Sequence[tuple[float, float | None]]) -> str:
    """Return the SVG path, with gaps where the node was silent."""
    parts: list[str] = []
    drawing = False
    for x, y in points:
        if y is None:
            drawing = False
            continue
        parts.append(f"{'L' if drawing else 'M'}{x:.1f} {y:.1f}")
        drawing = True
    return "".join(parts)


def _spread(wanted: Sequence[float]) -> list[float]:
    """Place labels near the wanted heights, at least :data:`LABEL` apart, moving them up where they collide."""
    placed = [0.0] * len(wanted)
    ceiling = HEIGHT - 4
    for place in sorted(range(len(wanted)), key=lambda p: -wanted[p]):
        ceiling = min(wanted[place] + 4, ceiling)
        placed[place] = ceiling
        ceiling -= LABEL
    lift = min(0.0, min(placed, default=0.0) - 10)
    return [height - lift for height in placed]
