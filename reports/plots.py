"""The static set: PNG and SVG by matplotlib, in one style, for CI, for papers and for whoever has no browser.

Deterministic: the same run gives the same bytes (no dates, no software versions, fixed ids).  Outcomes differ by
marker, quantiles and nodes by line style, so that the pictures hold up in grey print.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any, Final

import matplotlib as mpl
import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullFormatter

from reports import figures, topology, tracks
from reports.columns import FAIL, NEVER, OK
from reports.counterexample import Picture
from reports.faults import FaultWindow
from reports.findings import Drawn
from reports.palette import FAULT_COLOURS, OUTCOME_INKS, OUTCOMES, bright, node_colour
from reports.texts import one_line

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
    "savefig.dpi": 130,
    "svg.hashsalt": "harness",
    "svg.fonttype": "path",
    "text.parse_math": False,
}
LINE_STYLES: Final = ("-", (0, (6, 2)), (0, (3, 1.5)), (0, (1, 1.5)), (0, (6, 1.5, 1, 1.5)))
SNAPSHOT_MARKS: Final = (
    ("saved", "|", "#1b1f24", "snapshot saved"),
    ("loaded", "D", "#ffffff", "loaded at a start"),
    ("installed", "D", "#1b1f24", "sent by the leader"),
)
NETWORK_LEGEND: Final = (
    "solid: link kept; dotted: link cut; arrow: packets pass one way only\n"
    "bold ring: leader at the start; red ring: killed, paused or shaped"
)
MAX_TOPOLOGIES: Final = 12
MAX_POINTS: Final = 60_000
"""More points than this are thinned in the scatter: ok ones by a fixed stride, the others never."""


def draw_all(drawn: Drawn) -> list[Path]:
    """Write every picture that the run has data for; a picture that fails is a note of the run."""
    folder = drawn.run.files.plots
    makers: dict[str, Callable[[], Figure | None]] = {
        "latency-raw": lambda: scatter(drawn),
        "latency-quantiles": lambda: quantiles(drawn),
        "rate": lambda: rate(drawn),
        "leaders": lambda: leaders(drawn),
        "topology": lambda: networks(drawn),
        "counterexample": lambda: counterexample(drawn),
    }
    written: list[Path] = []
    nothing: list[Path] = []
    with mpl.rc_context(STYLE):
        for name, make in makers.items():
            written += drawn.run.notes.attempt(f"plots/{name}", partial(_draw, make, folder, name), nothing)
    return written


def _draw(make: Callable[[], Figure | None], folder: Path, name: str) -> list[Path]:
    figure = make()
    if figure is None:
        return []
    folder.mkdir(exist_ok=True)
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    figure.savefig(png, metadata={"Software": None})
    figure.set_layout_engine("none")  # keep the layout that was just made: a second one would cost a third of the time
    figure.savefig(svg, metadata={"Date": None, "Creator": None})
    return [png, svg]


@contextmanager
def _panel(drawn: Drawn, title: str, height: float = 3.2) -> Iterator[tuple[Figure, Axes]]:
    """A figure with one panel over the run's time, fault bands behind, a title that names the run."""
    figure = _figure(9.0, height)
    axes = figure.add_subplot()
    yield figure, axes
    bands(axes, drawn.windows, drawn.run.end / 1e9)
    axes.set_xlim(0, drawn.run.end / 1e9)
    axes.set_xlabel("seconds")
    axes.set_title(f"{title}   ·   {one_line(drawn.run.test, 40)} {one_line(drawn.run.name, 40)}")


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def bands(axes: Axes, windows: list[FaultWindow], end: float) -> None:
    """Fault windows as coloured bands with their names along the top edge."""
    for window in windows:
        if not window.installed:
            continue
        stop = window.healed if window.healed is not None else end
        axes.axvspan(window.started, stop, color=FAULT_COLOURS[window.family], alpha=0.45, lw=0, zorder=0)


def _legend(axes: Axes, drawn: Drawn, handles: list[Any]) -> None:
    """What was drawn, then the fault families that occur."""
    families = dict.fromkeys(window.family for window in drawn.windows if window.installed)
    patches = [Patch(color=FAULT_COLOURS[family], alpha=0.6, lw=0, label=f"{family} fault") for family in families]
    axes.legend(handles=[*handles, *patches], loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _log_axis(axes: Axes) -> None:
    """Logarithmic milliseconds, whole decades, labels as plain numbers."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(10 ** np.floor(np.log10(low)), 10 ** np.ceil(np.log10(high)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("latency, ms")


def scatter(drawn: Drawn) -> Figure | None:
    """Latency of every operation, log scale, by outcome."""
    operations = drawn.run.operations
    if not len(operations):
        return None
    done = operations.returned != NEVER
    latency = np.maximum((operations.returned - operations.invoked) / 1e6, 1e-3)
    with _panel(drawn, "Latency of each operation") as (figure, axes):
        for code, (name, marker) in enumerate(zip(OUTCOMES, ("o", "^", "x"), strict=True)):
            rows = np.nonzero(done & operations.which(code))[0]
            if code == 0 and len(rows) > MAX_POINTS:
                rows = rows[:: len(rows) // MAX_POINTS + 1]
            axes.plot(
                operations.invoked[rows] / 1e9,
                latency[rows],
                marker,
                color=OUTCOME_INKS[name],
                ms=2.2 if code == 0 else 3,
                mew=0 if code == 0 else 0.7,
                alpha=0.7,
                zorder=2 + (code == 0) * (operations.which(FAIL).sum() > operations.which(OK).sum() / 4),
                label=name,
                rasterized=True,
            )
        _log_axis(axes)
        axes.grid(axis="y")
        _legend(
            axes,
            drawn,
            [
                Line2D([], [], ls="", marker=m, color=OUTCOME_INKS[o], ms=5, label=o)
                for o, m in zip(OUTCOMES, ("o", "^", "x"), strict=True)
            ],
        )
    return figure


def quantiles(drawn: Drawn) -> Figure | None:
    """Latency quantiles of ok operations by second."""
    found = figures.quantiles_of(drawn.run.operations, drawn.run.end)
    if not len(drawn.run.operations) or np.isnan(found.rows).all():
        return None
    with _panel(drawn, "Latency of ok operations, quantiles by second") as (figure, axes):
        for row, name in enumerate(figures.QUANTILE_NAMES):
            axes.plot(found.time, found.rows[row], ls=LINE_STYLES[row], color="#2F7FCC", lw=1.4 - 0.2 * row, label=name)
        _log_axis(axes)
        axes.grid(axis="y")
        _legend(axes, drawn, list(axes.get_lines()))
    return figure


def rate(drawn: Drawn) -> Figure | None:
    """Completions a second by outcome."""
    if not len(drawn.run.operations):
        return None
    found = figures.rates_of(drawn.run.operations, drawn.run.end)
    with _panel(drawn, "Completions a second") as (figure, axes):
        for row, name in enumerate(OUTCOMES):
            axes.plot(found.time, found.rows[row], ls=LINE_STYLES[row], color=OUTCOME_INKS[name], lw=1.3, label=name)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("operations a second")
        axes.grid(axis="y")
        _legend(axes, drawn, list(axes.get_lines()))
    return figure


def leaders(drawn: Drawn) -> Figure | None:
    """Availability, roles and terms by node, then how far each replica was behind the highest commit index."""
    if not drawn.run.probes:
        return None
    end = drawn.run.end
    figure = _figure(9.0, 5.2)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[1.1, 1])
    _roles(top, drawn)
    progress = tracks.progress_of(drawn.tracks, end / 1e9)
    for row, track in enumerate(drawn.tracks):
        bottom.plot(
            progress.time,
            progress.lag[row],
            color=node_colour(row),
            ls=LINE_STYLES[row % len(LINE_STYLES)],
            lw=1.2,
            label=one_line(track.node, 12),
        )
    bottom.set_ylabel("entries behind the\nhighest commit index")
    bottom.set_xlabel("seconds")
    bottom.set_ylim(bottom=0)
    bottom.grid(axis="y")
    bottom.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    for axes in (top, bottom):
        bands(axes, drawn.windows, end / 1e9)
        axes.set_xlim(0, end / 1e9)
    top.set_title(f"Leaders, terms and replicas   ·   {one_line(drawn.run.test, 40)} {one_line(drawn.run.name, 40)}")
    return figure


def _roles(axes: Axes, drawn: Drawn) -> None:
    """A thick bar where a node led (with its term), a thin line where it followed, an orange one as candidate."""
    for row, track in enumerate(drawn.tracks):
        found = tracks.stretches(track)
        for role, height, colour in (
            ("leader", 0.62, node_colour(row)),
            ("follower", 0.08, node_colour(row)),
            ("candidate", 0.24, "#C77700"),
        ):
            spans = [(s.start, s.end - s.start) for s in found if s.role == role]
            axes.broken_barh(spans, (row - height / 2, height), color=colour, lw=0)
        for stretch in found:
            if stretch.role == "leader" and stretch.end - stretch.start > drawn.run.end / 1e9 / 14:
                axes.text(
                    stretch.start + drawn.run.end / 1e9 / 200,
                    row,
                    f"term {stretch.term}",
                    va="center",
                    fontsize=7,
                    color="black" if bright(node_colour(row)) else "white",
                )
    _snapshots(axes, drawn)
    width, cells = figures.availability_of(drawn.run.operations, drawn.run.end)
    spans = [(float(cell) * width, width) for cell in np.nonzero(cells == 1)[0]]
    axes.broken_barh(spans, (-1.2, 0.4), color="#6DB6FE", lw=0)
    axes.set_yticks([-1, *range(len(drawn.tracks))], ["any ok", *(one_line(track.node, 12) for track in drawn.tracks)])
    axes.set_ylim(len(drawn.tracks) - 0.4, -1.5)
    axes.tick_params(length=0, axis="y")


def _snapshots(axes: Axes, drawn: Drawn) -> None:
    rows = {track.node: row for row, track in enumerate(drawn.tracks)}
    for kind, marker, face, name in SNAPSHOT_MARKS:
        seen = [snapshot for snapshot in drawn.snapshots if snapshot.kind == kind]
        places = [rows[snapshot.node] - (0.28 if kind == "saved" else 0) for snapshot in seen]
        times = [snapshot.time for snapshot in seen]
        if seen:
            axes.plot(times, places, ls="", marker=marker, ms=4.5, mfc=face, mec="#1b1f24", mew=0.9, label=name)
    if drawn.snapshots:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def networks(drawn: Drawn) -> Figure | None:
    """The network during each installed fault (the first twelve), laid out by networkx."""
    shown = [window for window in drawn.windows if window.installed][:MAX_TOPOLOGIES]
    if not shown:
        return None
    columns = min(4, len(shown))
    rows = -(-len(shown) // columns)
    figure = _figure(2.3 * columns + 0.2, 2.5 * rows + 0.2)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for axes, window in zip(grid.flat, shown, strict=False):
        _network(axes, window, drawn.run.nodes)
    figure.supxlabel(NETWORK_LEGEND, fontsize=7, color="#5b6470")
    return figure


def _network(axes: Axes, window: FaultWindow, nodes: tuple[str, ...]) -> None:
    network = topology.topology_of(window, nodes)
    graph: Any = nx.DiGraph()
    graph.add_nodes_from(nodes)
    places = {node: (x, 1 - y) for node, (x, y) in network.positions.items()}
    for state, style, colour, arrows in (
        ("kept", "-", "#5b6470", "-"),
        ("cut", ":", "#E2A5A0", "-"),
        ("one-way", "-", "#1b1f24", "-|>"),
    ):
        edges = [(link.source, link.target) for link in network.links if link.state == state]
        nx.draw_networkx_edges(
            graph,
            places,
            edgelist=edges,
            ax=axes,
            style=style,
            edge_color=colour,
            arrowstyle=arrows,
            arrows=True,
            node_size=420,
            width=0.9,
            arrowsize=9,
        )
    faces = ["#ffffff" if node in network.struck else "#eef2f6" for node in nodes]
    edges_of_nodes = ["#b3261e" if node in network.struck else "#1b1f24" for node in nodes]
    widths = [2.4 if node == window.leader else 0.9 for node in nodes]
    nx.draw_networkx_nodes(
        graph, places, ax=axes, node_size=420, node_color=faces, edgecolors=edges_of_nodes, linewidths=widths
    )
    nx.draw_networkx_labels(graph, places, {node: one_line(node, 6) for node in nodes}, ax=axes, font_size=8)
    axes.margins(0.18)
    led = one_line(window.leader or "–", 8)
    axes.set_title(f"#{window.id} {one_line(window.fault, 28)}\n{window.started:.1f} s, leader {led}", fontsize=8)


def counterexample(drawn: Drawn) -> Figure | None:
    """The first counterexample, as in the page."""
    found = drawn.violations
    if not found or found[0].picture is None:
        return None
    picture = found[0].picture
    figure = _figure(9.0, picture.height / 95 + 0.7)
    axes = figure.add_subplot()
    _proof(axes, picture)
    axes.set_title(fill(one_line(found[0].example.sentence, 420), 130), fontsize=8)
    return figure


def _proof(axes: Axes, picture: Picture) -> None:
    axes.set_xlim(0, picture.width)
    axes.set_ylim(picture.height, 0)
    axes.set_axis_off()
    for fold in picture.folds:
        axes.axvspan(fold.x, fold.x + fold.width, color="#f2f4f6", lw=0)
        axes.text(fold.x + fold.width / 2, 12, fold.text, ha="center", fontsize=7, color="#5b6470")
    for box in picture.boxes:
        colour = "#b3261e" if box.culprit else OUTCOME_INKS[box.outcome]
        axes.barh(box.y + 23, box.width, 18, left=box.x, color=colour, alpha=0.25, lw=0)
        axes.barh(box.y + 23, box.width, 18, left=box.x, fill=False, edgecolor=colour, lw=1.6 if box.culprit else 0.8)
        axes.text(0, box.y + 26, one_line(box.who, 24), fontsize=8, color="#5b6470")
        x = box.x if box.anchor == "start" else box.x + box.width
        axes.text(
            x,
            box.y + 9,
            f"{one_line(box.label, 40)}   {box.times}",
            fontsize=8,
            ha="left" if box.anchor == "start" else "right",
            color=colour if box.culprit else "#1b1f24",
        )
        if box.point is not None:
            axes.plot([box.point, box.point], [box.y + 23, picture.axis_y], ls=":", lw=0.7, color="#5b6470")
            axes.plot([box.point], [box.y + 23], "o", ms=4, color="#1b1f24")
    for span in picture.states:
        axes.barh(picture.axis_y + 10, span.width, 20, left=span.x, color="#f2f4f6", edgecolor="#5b6470", lw=0.6)
        axes.text(span.x + span.width / 2, picture.axis_y + 13, one_line(span.text, 20), ha="center", fontsize=8)
    for tick in picture.ticks:
        axes.text(tick.x, picture.axis_y + 46, tick.text, ha="center", fontsize=7, color="#5b6470")
