"""Pack the figures and columns that the page's scripts draw into one text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from history.columns.operations import Ints, Operations
from reports.analysis import figures, node_timeline
from reports.analysis.elections import leaderships_of
from reports.analysis.elements import lacking_of
from reports.analysis.faults import FaultWindow, shares_of
from reports.analysis.findings import Drawn
from reports.analysis.marks import Marks, marks_of
from reports.analysis.node_timeline import NodeTimeline
from reports.analysis.progress import progress_of
from reports.analysis.snapshots import KINDS
from reports.load.cut_record import is_cut
from reports.load.run import LoadedRun, phase_bounds
from reports.page.pack import operation_columns, pack
from reports.page.pyramid import pyramid_of, taken
from reports.page.track import track_of
from reports.style.format import short
from reports.style.index_axis import IndexAxis
from reports.style.palette import FAULT_COLOURS, node_colour

MAX_SNAPSHOTS: Final = 5000
#: Role in the page's data for a node whose server was killed while another process answers its probes.
WITHOUT: Final = len(node_timeline.ROLES)


def data_of(drawn: Drawn) -> str:
    """Pack the figures that the scripts draw first."""
    end = drawn.run.end
    return pack({}, {"end": end / 1e9, **_series(drawn, drawn.run.operations, end)})


def operations_of(drawn: Drawn) -> str:
    """Pack the columns of the operations."""
    lanes, lane_count = figures.lanes_of(drawn.run.operations, drawn.run.end)
    columns, names, about = _operations(drawn, lanes, lane_count)
    return pack(columns, {"names": names, "lanes": lane_count, **about})


def _operations(drawn: Drawn, lanes: Ints, lane_count: int) -> tuple[dict[str, Ints], dict[str, Any], dict[str, Any]]:
    """Return the columns of the operations that the page holds, the names for their codes, and data on the rest."""
    operations = drawn.run.operations
    marked = {index for violation in marks_of(drawn).violations for index in violation.operations}
    pyramid = pyramid_of(operations, lanes, lane_count, drawn.run.end, marked)
    if pyramid is None:
        return *operation_columns(operations, lanes, drawn.run.wording), {}
    columns, names = operation_columns(taken(operations, pyramid.held), lanes[pyramid.held], drawn.run.wording)
    return {**columns, "worst": pyramid.worst.ravel()}, names, pyramid.data(len(operations))


def _series(drawn: Drawn, operations: Operations, end: int) -> dict[str, Any]:
    notes, nodes = drawn.run.notes, [timeline.node for timeline in drawn.timelines]

    def part(name: str, make: Callable[[], Any], otherwise: Any = None) -> Any:
        return notes.attempt(name, make, otherwise)

    return {
        "nodes": [
            {"name": timeline.node, "colour": node_colour(place)} for place, timeline in enumerate(drawn.timelines)
        ],
        "faultColours": FAULT_COLOURS,
        "phases": phases_of(drawn.run),
        "still": still_data(drawn.run),
        "faults": [
            {**fault_data(window, end / 1e9), "share": share}
            for window, share in zip(drawn.windows, shares_of(drawn.windows, end / 1e9), strict=True)
        ],
        "rates": part("rate", lambda: _rates(operations, end)),
        "quantiles": part("latency quantiles", lambda: _quantiles(operations, end, drawn.run.state.get("lag_ms"))),
        "available": part("availability", lambda: figures.availability_of(operations, end)),
        "stretches": part("leaders and terms", lambda: [stretches_of(timeline) for timeline in drawn.timelines]),
        "roles": node_timeline.have_roles(drawn.timelines),
        "led": part("leaders and terms", lambda: _leaderships(drawn.timelines), []),
        "snapshots": [
            [nodes.index(s.node), round(s.time, 3), KINDS.index(s.kind), s.times]
            for s in drawn.snapshots[:MAX_SNAPSHOTS]
        ],
        "track": part("track of events", lambda: track_of(drawn)),
        "progress": part("replica progress", lambda: _progress(drawn.timelines, end))
        if node_timeline.have_indexes(drawn.timelines)
        else None,
        "lacking": part("missing elements", lambda: lacking_of(operations, nodes)),
        **part("marks of violations", lambda: marks_data(marks_of(drawn)), marks_data(Marks((), (), 0))),
    }


def still_data(run: LoadedRun) -> list[list[float]]:
    """Return the times when the harness itself was stalled, as [begin, end] in seconds."""
    return [[begin / 1e9, end / 1e9] for begin, end in run.clock.spans]


def phases_of(run: LoadedRun) -> list[dict[str, Any]]:
    """Return when each phase began: at its first operation.

    If the history was cut, that operation may be missing, so the harness's own record is used.
    """
    moments = run.state.get("moments") if is_cut(run) else None
    phases = []
    for name, moment in (("main", "main"), ("final", "final-reads")):
        start = moments.get(moment) if isinstance(moments, dict) else None
        if not isinstance(start, int) and (bounds := phase_bounds(run.operations, name)):
            start = bounds[0]
        if isinstance(start, int):
            phases.append({"name": name, "start": start / 1e9})
    return phases


def marks_data(marks: Marks) -> dict[str, Any]:
    """Return what charts mark: ``ops``, ``culprit`` and ``suspects`` are indexes of invocations, ``at`` is in seconds.

    ``says`` has a label for each of ``ops`` if the violation is of a promise other than linearizability.  ``labels``
    has one if an answer is too long to be shown, in words that distinguish it from the others.
    """
    return {
        "violations": [
            {
                "kind": short(mark.kind, 60),
                "key": None
                if mark.key is None
                else short(json.dumps(mark.key, ensure_ascii=False, separators=(",", ":"))),
                "ops": list(mark.operations),
                "culprit": mark.culprit,
                "suspects": list(mark.suspects),
                "at": mark.at,
                "says": [short(text, 120) for text in mark.says],
                **({"labels": [short(text, 120) for text in mark.labels]} if any(mark.labels) else {}),
            }
            for mark in marks.violations
        ],
        "violated": marks.violated,
        "least": marks.least,
        "further": {"violations": marks.further_violations, "findings": marks.further_findings},
        "findings": [
            {
                "at": mark.at,
                "node": mark.node,
                "check": short(mark.check, 60),
                **({} if mark.until is None else {"until": mark.until}),
            }
            for mark in marks.findings
        ],
    }


def fault_data(window: FaultWindow, end: float) -> dict[str, Any]:
    """Return what charts draw for a fault; times in seconds since the run's start."""
    return {
        "id": window.id,
        "fault": short(window.fault, 60),
        "family": window.family,
        "state": window.state,
        "nodes": list(window.nodes),
        "leader": window.leader,
        "start": window.started,
        "stood": window.stood,
        "heal": window.heal_started,
        "end": _drawn_end(window, end),
    }


def _drawn_end(window: FaultWindow, end: float) -> float:
    """Return where a fault's bar ends: at the end of the run if never healed, at its start if not installed."""
    if window.healed is not None:
        return window.healed
    return end if window.installed else window.stood or window.started


def _rates(operations: Operations, end: int) -> dict[str, Any]:
    rates = figures.rates_of(operations, end)
    return {"time": rates.time, "width": rates.width, "rows": rates.rows}


def _quantiles(operations: Operations, end: int, lag_ms: object) -> dict[str, Any]:
    quantiles = figures.quantiles_of(operations, end)
    response = figures.response_of(operations, end)
    more = [(figures.RESPONSE_NAME, response), (figures.LAG_NAME, figures.lag_of(lag_ms, end))]
    drawn = [(name, row) for name, row in more if row is not None]
    names = [*figures.QUANTILE_NAMES, *(name for name, _ in drawn)]
    return {"time": quantiles.time, "rows": [*quantiles.rows, *(row for _, row in drawn)], "names": names}


def stretches_of(timeline: NodeTimeline) -> list[list[Any]]:
    """Return [role, term, from, to] for a node's timeline.

    The role is :data:`WITHOUT` where another process than the node's killed server answered.
    """
    rows = []
    for stretch in node_timeline.stretches(timeline):
        role, begin = node_timeline.ROLES.index(stretch.role), stretch.start
        for gone, back in timeline.without if role != node_timeline.SILENT else ():
            if begin < min(back, stretch.end) and gone < stretch.end:
                rows += [[role, stretch.term, begin, gone]] if begin < gone else []
                rows.append([WITHOUT, -1, max(begin, gone), min(back, stretch.end)])
                begin = rows[-1][3]
        rows += [[role, stretch.term, begin, stretch.end]] if begin < stretch.end else []
    return rows


def _leaderships(timelines: list[NodeTimeline]) -> list[list[Any]]:
    places = {timeline.node: place for place, timeline in enumerate(timelines)}
    return [[places[span.node], span.term, span.start, span.end] for span in leaderships_of(timelines)]


def _progress(timelines: list[NodeTimeline], end: int) -> dict[str, Any]:
    """Return the replica progress; indexes with epochs are placed on an axis where ``begins`` starts each epoch."""
    progress = progress_of(timelines, end / 1e9)
    rows = {name: getattr(progress, name) for name in ("applied", "committed", "log_end")}
    axis = IndexAxis.of(list(rows.values()), timelines[0].epoch_bits if timelines else 0)
    rows = {name: axis.places(row) for name, row in rows.items()}
    return {"time": progress.time, **rows, "lag": progress.lag, "begins": axis.begins, "bits": axis.bits}
