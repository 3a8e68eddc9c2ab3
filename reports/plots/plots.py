"""Static plots: PNG and SVG by matplotlib, in one style, for CI and for papers.

They are deterministic: the same run gives the same bytes (no dates, no software versions, fixed ids).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any, Final

import matplotlib as mpl
import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullFormatter

from history import RunFiles
from history.codes import FAIL, OK, OUTCOMES
from history.columns.operations import NONE, Ints
from history.safe_open import replacing
from reports.analysis import figures, node_timeline, topology
from reports.analysis.counterexample import Picture
from reports.analysis.elements import lacking_of
from reports.analysis.faults import FaultWindow, restarts_of
from reports.analysis.findings import Drawn
from reports.analysis.marks import Marks, marks_of
from reports.analysis.progress import progress_of
from reports.plots.frame import LINE_STYLES, STYLE, Frame, figure_of
from reports.plots.own_figures import own_figures
from reports.style.format import number, one_line
from reports.style.index_axis import IndexAxis
from reports.style.palette import OUTCOME_COLOURS, OUTCOME_INKS, bright, node_colour

OUTCOME_MARKERS: Final = ("o", "^", "x")
NODE_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
SNAPSHOT_MARKS: Final = (
    ("saved", "|", "#1b1f24", "snapshot saved"),
    ("loaded", "D", "#ffffff", "loaded at a start"),
    ("installed", "D", "#1b1f24", "sent by the leader"),
)
NETWORK_LEGEND: Final = (
    "solid: link not cut; dotted: link cut; arrow: packets pass one way only\n"
    "bold ring: leader at the start; red ring: killed, paused or shaped"
)
MAX_TOPOLOGIES: Final = 12
#: Limit of links in all networks together, because each is a patch of its own and takes 4 ms.  Links that a fault
#: changed come first.  Twelve networks of nine nodes are still drawn in full.
MAX_LINKS: Final = 480
#: If an outcome has more points than this, the scatter plot draws only one in each cell of a grid.
MAX_POINTS: Final = 60_000
#: Columns and rows of that grid; a cell is about a third of a marker wide.
CELLS: Final = (900, 300)


def draw_all(drawn: Drawn) -> list[Path]:
    """Write every plot that the run has data for; a plot that fails becomes a warning."""
    marks = drawn.run.notes.attempt("marks of violations", lambda: marks_of(drawn), Marks((), (), 0))
    written: list[Path] = []
    with mpl.rc_context():
        mpl.rcdefaults()  # ignore any matplotlibrc of the working directory or the user
        mpl.rcParams.update(STYLE)
        for name, plot in PLOTS.items():
            write = partial(_write, partial(plot, drawn, marks), drawn.run.files, name)
            written += drawn.run.notes.attempt_list(f"plots/{name}", write)
    return written


def _write(make: Callable[[], Figure | None], files: RunFiles, name: str) -> list[Path]:
    figure = make()
    if figure is None:
        return []
    files.plots.mkdir(exist_ok=True)
    png, svg = files.plots / f"{name}.png", files.plots / f"{name}.svg"
    with replacing(files.root, png) as file:
        figure.savefig(file, format="png", metadata={"Software": None})
    figure.set_layout_engine("none")  # keep the layout: computing it again would take a third of the time
    for axes in figure.axes:  # round, as the last bits of a layout vary between drawings, and so do clip names
        left, bottom, width, height = (round(float(bound), 5) for bound in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))
    with replacing(files.root, svg) as file:
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return [png, svg]


def _log_axis(axes: Axes, low: float, high: float) -> None:
    """Set a logarithmic axis of milliseconds, with whole decades and labels as plain numbers."""
    axes.set_yscale("log")
    axes.set_ylim(10 ** np.floor(np.log10(max(low, 0.01))), 10 ** np.ceil(np.log10(max(high, 1.01))))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("latency, ms")
    axes.grid(axis="y")


def scatter(drawn: Drawn, marks: Marks) -> Figure | None:
    """Draw the latency of every operation by outcome, on a logarithmic scale."""
    operations = drawn.run.operations
    if not len(operations):
        return None
    done = operations.returned != NONE
    latency = np.maximum((operations.returned - operations.invoked) / 1e6, 1e-3)
    frame = Frame(drawn, marks, "Latency of each operation", [3.2], grey=True)
    axes = frame.panels[0]
    for code, (name, marker) in enumerate(zip(OUTCOMES, OUTCOME_MARKERS, strict=True)):
        rows = np.nonzero(done & operations.which(code))[0]
        if len(rows) > MAX_POINTS:
            rows = rows[_one_a_cell(operations.invoked[rows], np.log(latency[rows]))]
        axes.plot(
            operations.invoked[rows] / 1e9,
            latency[rows],
            marker,
            color=OUTCOME_INKS[name],
            ms=2.2 if code == 0 else 3,
            mew=0 if code == 0 else 0.7,
            alpha=0.7,
            zorder=2 + (code == 0) * (operations.which(FAIL).sum() > operations.which(OK).sum() / 4),
            rasterized=True,
        )
    shown = latency[done] if done.any() else np.ones(1)
    _log_axis(axes, float(shown.min()), float(shown.max()))
    pairs = zip(OUTCOMES, OUTCOME_MARKERS, strict=True)
    frame.legend([Line2D([], [], ls="", marker=m, color=OUTCOME_INKS[o], ms=5, label=o) for o, m in pairs])
    return frame.figure


def _one_a_cell(*places: np.ndarray) -> Ints:
    """Choose the first point in each cell of a grid (:data:`CELLS`) so fine that its marker hides the others."""
    cell = np.zeros(len(places[0]), dtype=np.int64)
    for place, many in zip(places, CELLS, strict=True):
        low, span = place.min(), max(float(place.max() - place.min()), 1e-9)
        cell = cell * many + np.minimum((place - low) * (many / span), many - 1).astype(np.int64)
    first = np.full(CELLS[0] * CELLS[1], -1, dtype=np.int64)
    first[cell[::-1]] = np.arange(len(cell))[::-1]
    return np.sort(first[first >= 0])


def quantiles(drawn: Drawn, marks: Marks) -> Figure | None:
    """Draw latency quantiles of ok operations by second."""
    latency = figures.quantiles_of(drawn.run.operations, drawn.run.end)
    if not len(drawn.run.operations) or np.isnan(latency.rows).all():
        return None
    frame = Frame(drawn, marks, "Latency of ok operations, quantiles by second", [3.2])
    axes, lines = frame.panels[0], []
    for row, name in enumerate(figures.QUANTILE_NAMES):
        look = {"ls": LINE_STYLES[row], "color": OUTCOME_INKS["ok"], "lw": 1.4 - 0.2 * row}
        lines += axes.plot(latency.time, latency.rows[row], label=name, **look)  # type: ignore[arg-type]
    response = figures.response_of(drawn.run.operations, drawn.run.end)
    if response is not None:
        look = {"ls": LINE_STYLES[-1], "color": OUTCOME_INKS["info"], "lw": 1.2}
        lines += axes.plot(latency.time, response, label=figures.RESPONSE_NAME, **look)  # type: ignore[arg-type]
    top = max(float(np.nanmax(rows)) for rows in (latency.rows, response) if rows is not None)
    _log_axis(axes, float(np.nanmin(latency.rows)), top)
    frame.legend(lines)
    return frame.figure


def rate(drawn: Drawn, marks: Marks) -> Figure | None:
    """Draw completions per second by outcome."""
    if not len(drawn.run.operations):
        return None
    rates = figures.rates_of(drawn.run.operations, drawn.run.end)
    frame = Frame(drawn, marks, "Completions a second", [3.2])
    axes, lines = frame.panels[0], []
    for row, name in enumerate(OUTCOMES):
        look = {"ls": LINE_STYLES[row], "color": OUTCOME_INKS[name], "lw": 1.3}
        lines += axes.plot(rates.time, rates.rows[row], drawstyle="steps-mid", label=name, **look)  # type: ignore[arg-type]
    axes.set_ylim(bottom=0)
    axes.set_ylabel("operations a second")
    axes.grid(axis="y")
    frame.legend(lines)
    return frame.figure


def leaders(drawn: Drawn, marks: Marks) -> Figure | None:
    """Draw availability, roles and terms by node, then how far each replica was behind the highest commit index.

    Either part is left out of a run whose nodes report nothing for it.
    """
    progress = progress_of(drawn.timelines, drawn.run.end / 1e9)
    roles, indexes = node_timeline.have_roles(drawn.timelines), not np.isnan(progress.lag).all()
    if not (roles or indexes):
        return None
    frame = Frame(drawn, marks, "Leaders, terms and replicas", [2.9] * roles + [2.4] * indexes)
    keys: list[Any] = []
    if roles:
        keys = [*_roles(frame.panels[0], drawn), *_snapshots(frame.panels[0], drawn)]
    if indexes:
        bottom = frame.panels[-1]
        for row, timeline in enumerate(drawn.timelines):
            keys += bottom.plot(progress.time, progress.lag[row], **_look_of(row, timeline.node))
        bottom.set(ylabel="entries behind the\nhighest commit index", ylim=(0, None))
        bottom.grid(axis="y")
    frame.legend(keys)
    return frame.figure


def elements(drawn: Drawn, marks: Marks) -> Figure | None:
    """Draw how many acknowledged elements the reads of each node lack."""
    missing = lacking_of(drawn.run.operations, list(drawn.run.nodes))
    if missing is None:
        return None
    frame = Frame(drawn, marks, "Acknowledged elements that reads lack, by node", [3.2])
    axes = frame.panels[0]
    rows = enumerate(zip(drawn.run.nodes, missing, strict=True))
    keys = [axes.plot(*lacking, marker=".", ms=3, **_look_of(row, node))[0] for row, (node, lacking) in rows]
    axes.set(ylabel="elements lacking", ylim=(0, None))
    axes.grid(axis="y")
    frame.legend(keys)
    return frame.figure


def restarts(drawn: Drawn, marks: Marks) -> Figure | None:
    """Draw how long each killed node took, from the start of the healing of its fault, until it answered a probe."""
    rows = [
        (row, *times) for row, node in enumerate(drawn.timelines) if len((times := restarts_of(node, drawn.windows))[0])
    ]
    if not rows:
        return None
    frame = Frame(drawn, marks, "Restart times, from the start of the healing to the first answer", [2.6])
    axes = frame.panels[0]
    keys = []
    for row, moments, took in rows:
        look = {**_look_of(row, drawn.timelines[row].node), "ls": "none"}
        keys += axes.plot(moments, took, marker=NODE_MARKERS[row % len(NODE_MARKERS)], ms=5, **look)
    axes.set(ylabel="seconds", ylim=(0, 1.2 * max(max(took) for _, _, took in rows)))
    axes.grid(axis="y")
    frame.legend(keys)
    return frame.figure


def _look_of(row: int, node: str) -> dict[str, Any]:
    """Return the line style of a node."""
    style = LINE_STYLES[row % len(LINE_STYLES)]
    return {"color": node_colour(row), "ls": style, "lw": 1.2, "label": one_line(node, 12)}


def log_ends(drawn: Drawn, marks: Marks) -> Figure | None:
    """Draw where every node's log ended and its commit index; the line of a log that loses entries falls.

    If no node reports where its log ends, the applied indexes are drawn instead.
    """
    progress = progress_of(drawn.timelines, drawn.run.end / 1e9)
    ends = (progress.log_end, "end of the log")
    if np.isnan(progress.log_end).all():
        ends = (progress.applied, "applied index")
    shown = [(rows, name) for rows, name in (ends, (progress.committed, "commit index")) if not np.isnan(rows).all()]
    if not drawn.run.probes or np.isnan(ends[0]).all():
        return None
    title = ", ".join(name for _, name in shown)
    frame = Frame(drawn, marks, f"{title[:1].upper()}{title[1:]} of each node", [2.6, 2.0][: len(shown)])
    axis = IndexAxis.of([rows for rows, _ in shown], drawn.run.epoch_bits)
    keys: list[Any] = []
    for axes, (rows, name) in zip(frame.panels, shown, strict=True):
        for row, timeline in enumerate(drawn.timelines):
            look = {"ls": LINE_STYLES[row % len(LINE_STYLES)], "lw": max(2.2 - 0.35 * row, 0.9)}
            lines = axes.plot(
                progress.time,
                axis.places(rows[row]),
                color=node_colour(row),
                drawstyle="steps-post",
                label=one_line(timeline.node, 12),
                **look,  # type: ignore[arg-type]
            )
            keys += lines if axes is frame.panels[0] else []
        axes.set(ylabel=name, ylim=(0, None))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(round(value))))
        if axis.begins:
            axes.set_yticks(*zip(*axis.levels(axes.get_ylim()[1]), strict=True))
        axes.grid(axis="y")
    frame.legend(keys)
    return frame.figure


def _roles(axes: Axes, drawn: Drawn) -> list[Any]:
    """Draw a thick bar for a leader (with its term), a thin line for a follower, a hollow bar for a candidate.

    Returns the legend's entries for what occurs.
    """
    shown: set[str] = set()
    for row, timeline in enumerate(drawn.timelines):
        colour = node_colour(row)
        stretches = node_timeline.stretches(timeline)
        shown |= {stretch.role for stretch in stretches}
        for role, height, face, edge in (
            ("follower", 0.08, colour, "none"),
            ("leader", 0.62, colour, "none"),
            ("candidate", 0.34, "white", "#1b1f24"),
        ):
            spans = [(s.start, s.end - s.start) for s in stretches if s.role == role]
            axes.broken_barh(spans, (row - height / 2, height), facecolor=face, edgecolor=edge, lw=0.7)
        for stretch in stretches:
            if (
                stretch.role == "leader"
                and stretch.term >= 0
                and stretch.end - stretch.start > drawn.run.end / 1e9 / 14
            ):
                axes.text(
                    stretch.start + drawn.run.end / 1e9 / 200,
                    row,
                    f"term {stretch.term}",
                    va="center",
                    fontsize=7,
                    color="black" if bright(colour) else "white",
                )
    width, cells = figures.availability_of(drawn.run.operations, drawn.run.end)
    for state, height, ink in ((1, 0.4, OUTCOME_COLOURS["ok"]), (2, 0.6, OUTCOME_INKS["fail"])):
        spans = [(float(cell) * width, width) for cell in np.nonzero(cells == state)[0]]
        axes.broken_barh(spans, (-1 - height / 2, height), color=ink, lw=0)
        shown |= {str(state)} if spans else set()
    axes.set_yticks(
        [-1, *range(len(drawn.timelines))], ["any ok", *(one_line(timeline.node, 12) for timeline in drawn.timelines)]
    )
    axes.set_ylim(len(drawn.timelines) - 0.4, -1.7)
    axes.tick_params(length=0, axis="y")
    keys: dict[str, Any] = {
        "leader": Patch(color="#5b6470", lw=0, label="leader"),
        "follower": Line2D([], [], color="#5b6470", lw=1.6, label="follower"),
        "candidate": Patch(facecolor="white", edgecolor="#1b1f24", lw=0.7, label="candidate"),
        "1": Patch(color=OUTCOME_COLOURS["ok"], lw=0, label="some ok"),
        "2": Patch(color=OUTCOME_INKS["fail"], lw=0, label="answers, none ok"),
    }
    return [key for name, key in keys.items() if name in shown]


def _snapshots(axes: Axes, drawn: Drawn) -> list[Line2D]:
    """Draw the snapshots and return the legend's entries for the kinds that occur."""
    rows = {timeline.node: row for row, timeline in enumerate(drawn.timelines)}
    keys: list[Line2D] = []
    for kind, marker, face, name in SNAPSHOT_MARKS:
        shown = [snapshot for snapshot in drawn.snapshots if snapshot.kind == kind]
        places = [rows[snapshot.node] - (0.28 if kind == "saved" else 0) for snapshot in shown]
        times = [snapshot.time for snapshot in shown]
        if shown:
            keys += axes.plot(times, places, ls="", marker=marker, ms=4.5, mfc=face, mec="#1b1f24", mew=0.9, label=name)
    return keys


def networks(drawn: Drawn, marks: Marks) -> Figure | None:  # noqa: ARG001 (one shape for all plots)
    """Draw the network during each installed fault (the first twelve), laid out by networkx."""
    shown = [window for window in drawn.windows if window.installed][:MAX_TOPOLOGIES]
    if not shown:
        return None
    columns = min(4, len(shown))
    rows = -(-len(shown) // columns)
    width = max(2.3 * columns + 0.2, 4.8)
    figure = figure_of(width, 2.5 * rows + 0.2)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for axes, window in zip(grid.flat, shown, strict=False):
        _network(axes, window, topology.topology_of(window, drawn.run.nodes, drawn.windows), MAX_LINKS // len(shown))
    figure.supxlabel(NETWORK_LEGEND, fontsize=7, color="#5b6470")
    return figure


def _network(axes: Axes, window: FaultWindow, network: topology.Topology, most: int) -> None:
    nodes = list(network.positions)
    graph: Any = nx.DiGraph()
    graph.add_nodes_from(nodes)
    places = {node: (x, 1 - y) for node, (x, y) in network.positions.items()}
    shown = sorted(network.links, key=lambda link: link.state == "kept")[:most]
    for state, style, colour, arrows in (
        ("kept", "-", "#5b6470", "-"),
        ("cut", ":", "#E2A5A0", "-"),
        ("one-way", "-", "#1b1f24", "-|>"),
    ):
        edges = [(link.source, link.target) for link in shown if link.state == state]
        nx.draw_networkx_edges(
            graph, places, edgelist=edges, ax=axes, style=style, edge_color=colour, width=0.9,
            arrows=True, arrowstyle=arrows, arrowsize=9, node_size=420,
        )  # fmt: skip
    faces = ["#ffffff" if node in network.struck else "#eef2f6" for node in nodes]
    edges_of_nodes = ["#b3261e" if node in network.struck else "#1b1f24" for node in nodes]
    widths = [2.4 if node == window.leader else 0.9 for node in nodes]
    nx.draw_networkx_nodes(
        graph, places, ax=axes, node_size=420, node_color=faces, edgecolors=edges_of_nodes, linewidths=widths
    )
    nx.draw_networkx_labels(graph, places, {node: one_line(node, 6) for node in nodes}, ax=axes, font_size=8)
    axes.margins(0.18)
    led = one_line(window.leader or "–", 8)
    left_out = f"\n{len(shown)} of {len(network.links)} links" if len(shown) < len(network.links) else ""
    title = f"#{window.id} {one_line(window.fault, 28)}\n{window.started:.1f} s, leader {led}{left_out}"
    axes.set_title(title, fontsize=8)


def counterexample(drawn: Drawn, marks: Marks) -> Figure | None:  # noqa: ARG001 (one shape for all plots)
    """Draw the first counterexample, as on the page."""
    violations = drawn.violations
    if not violations or violations[0].picture is None:
        return None
    picture = violations[0].picture
    sentence = fill(one_line(violations[0].example.sentence, 2000), 130)  # whole: its numbers decide
    figure = figure_of(9.0, picture.height / 95 + 0.3 + 0.14 * len(sentence.splitlines()))
    axes = figure.add_subplot()
    _proof(axes, picture)
    axes.set_title(sentence, fontsize=8)
    return figure


def _proof(axes: Axes, picture: Picture) -> None:
    axes.set_xlim(0, picture.width)
    axes.set_ylim(picture.height, 0)
    axes.set_axis_off()
    axes.text(0, 12, "process · node", fontsize=7, color="#5b6470")
    axes.text(0, 26, picture.left_out_text, fontsize=7, color="#5b6470")
    axes.text(0, picture.axis_y + 46, "seconds of the run", fontsize=7, color="#5b6470")
    if picture.states:
        axes.text(0, picture.axis_y + 14, "the register holds", fontsize=8, color="#5b6470")
    for fold in picture.folds:
        axes.axvspan(fold.x, fold.x + fold.width, color="#f2f4f6", lw=0)
        axes.text(fold.x + fold.width / 2, 12, fold.text, ha="center", fontsize=7, color="#5b6470")
    for box in picture.boxes:
        colour = "#b3261e" if box.culprit else OUTCOME_INKS[box.outcome]
        faint = 0.45 if box.beside else 1.0
        axes.barh(box.y + 23, box.width, 18, left=box.x, color=colour, alpha=0.25 * faint, lw=0)
        width = 1.6 if box.culprit or box.contradicted else 0.8
        axes.barh(box.y + 23, box.width, 18, left=box.x, fill=False, edgecolor=colour, lw=width, alpha=faint)
        axes.text(0, box.y + 26, one_line(box.who, 24), fontsize=8, color="#5b6470")
        x = box.label_x
        axes.text(
            x,
            box.y + 9,
            f"{one_line(box.label)}   {box.times}",
            fontsize=8,
            ha="left" if box.anchor == "start" else "right",
            color=colour if box.culprit else "#5b6470" if box.beside else "#1b1f24",
        )
        if box.point is not None:
            axes.plot([box.point, box.point], [box.y + 23, picture.axis_y], ls=":", lw=0.7, color="#5b6470")
            axes.plot([box.point], [box.y + 23], "o", ms=4, color="#1b1f24")
    for span in picture.states:
        axes.barh(picture.axis_y + 10, span.width, 20, left=span.x, color="#f2f4f6", edgecolor="#5b6470", lw=0.6)
        if span.width > 7 * len(span.text):
            axes.text(span.x + span.width / 2, picture.axis_y + 13, one_line(span.text, 20), ha="center", fontsize=8)
    for tick in picture.ticks:
        axes.text(tick.x, picture.axis_y + 46, tick.text, ha="center", fontsize=7, color="#5b6470")


#: Every plot by the name of its files; it returns None if the run has no data for it.  Add new plots here.
PLOTS: Final[Mapping[str, Callable[[Drawn, Marks], Figure | None]]] = {
    "latency-raw": scatter,
    "latency-quantiles": quantiles,
    "rate": rate,
    "leaders": leaders,
    "log-ends": log_ends,
    "elements": elements,
    "restarts": restarts,
    "own-figures": own_figures,
    "topology": networks,
    "counterexample": counterexample,
}
