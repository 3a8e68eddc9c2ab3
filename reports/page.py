"""``report.html``: one self-contained page a run.

The page is written in parts; a part that cannot be made is left out and named in a list of warnings.  Nothing of a run
reaches the page except through Jinja2's escaping or inside the packed data (base64).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

import jinja2
from markupsafe import Markup

from history import Counterexample
from reports import faults, figures, logs, texts, topology, tracks
from reports.columns import Operations
from reports.counterexample import Picture, picture_of
from reports.faults import FaultWindow
from reports.pack import operation_columns, pack, short
from reports.palette import FAULT_COLOURS, family_of, node_colour
from reports.run import HARNESS_FAILURE, Run, phase_bounds
from reports.sketch import sketch_of
from reports.tracks import Track

SCRIPTS: Final = ("view.js", "decode.js", "draw.js", "charts.js", "strips.js", "timeline.js", "details.js", "main.js")
MAX_EXAMPLES: Final = 8
MAX_TOPOLOGIES: Final = 24
_STATES: Final = ("invalid", "unknown", "skipped", "valid")
VERDICT_WORDS: Final = {
    "valid": "Valid",
    "invalid": "Invalid",
    "unknown": "Unknown",
    HARNESS_FAILURE: "Harness failure",
}


def asset(name: str) -> str:
    """A file of ``reports/assets``."""
    return (resources.files("reports") / "assets" / name).read_text(encoding="utf-8")


def vendor(name: str) -> str:
    return (resources.files("reports") / "vendor" / "uplot" / name).read_text(encoding="utf-8")


def environment() -> jinja2.Environment:
    """The templates, with everything escaped that is not marked safe by this module."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        number=texts.number,
        s=texts.seconds,
        ms=texts.milliseconds,
        line=texts.one_line,
        printable=texts.printable,
        compact=compact,
        witness=witness_text,
    )
    return made


def compact(value: Any, limit: int = 160) -> str:
    """A JSON value in one short line, without the outermost braces."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=str)
    return texts.one_line(text[1:-1] if text[:1] == "{" else text, limit)


def witness_text(value: Any, limit: int = 160) -> str:
    """A witness without JSON's punctuation: ``n1: packets dropped 40; n2: …``."""
    if not isinstance(value, Mapping):
        return compact(value, limit)
    parts = []
    for name, item in value.items():
        told = ", ".join(f"{k} {_plain(v)}" for k, v in item.items()) if isinstance(item, Mapping) else _plain(item)
        parts.append(f"{name}: {told}")
    return texts.one_line("; ".join(parts).replace("_", " "), limit)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def policy(scripts: str, styles: str) -> str:
    """The page's content security policy: no network, no frames, only this very script and this very style sheet."""

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    return (
        f"default-src 'none'; script-src 'sha256-{digest(scripts)}'; style-src 'sha256-{digest(styles)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


@dataclass(frozen=True, slots=True)
class Violation:
    """One counterexample with what the cluster was doing then."""

    key: Any
    example: Counterexample
    picture: Picture | None
    start: float
    end: float
    leader: str | None
    term: int
    faults: list[FaultWindow]
    lines: list[logs.LogLine]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What several parts of the page need."""

    run: Run
    tracks: list[Track]
    windows: list[FaultWindow]


def prepare(run: Run) -> Drawn:
    """Tracks and fault windows; empty where they cannot be made."""
    no_tracks: list[Track] = []
    no_windows: list[FaultWindow] = []
    nobody: tuple[str, ...] = ()
    nodes = run.notes.attempt("nodes", lambda: run.nodes, nobody)
    found = run.notes.attempt("leaders and replicas", lambda: tracks.tracks_of(run.probes, nodes), no_tracks)
    windows = run.notes.attempt("fault table", lambda: faults.fault_windows(run, found), no_windows)
    return Drawn(run, found, windows)


def render(drawn: Drawn) -> str:
    """The whole page as text."""
    run, notes = drawn.run, drawn.run.notes
    scripts = "\n".join([vendor("LICENSE.js"), vendor("uPlot.iife.min.js"), *map(asset, SCRIPTS)])
    styles = vendor("uPlot.min.css") + "\n" + asset("page.css")

    def part(what: str, make: Callable[[], Any], otherwise: Any) -> Any:
        return notes.attempt(what, make, otherwise)

    context = {
        "run": run,
        "word": VERDICT_WORDS[run.verdict],
        "verdict_class": run.verdict.replace(" ", "-"),
        "facts": part("facts", lambda: facts_of(run), []),
        "checks": part("checks", lambda: checks_of(run), []),
        "violations": part("counterexamples", lambda: violations_of(drawn), []),
        "violation_count": part("counterexamples", lambda: violation_count(run), 0),
        "violating_keys": part("counterexamples", lambda: violating_keys(run), []),
        "last_words": part("replica progress", lambda: tracks.last_words(drawn.tracks), []),
        "recovery": part("recovery", lambda: recovery_of(drawn), None),
        "calm": part("topology", lambda: _network((), run.nodes, None, {}), None),
        "counts": part("counts", lambda: figures.counts_of(run.operations), []),
        "errors": part("errors", lambda: figures.errors_of(run.operations), []),
        "elections": part("elections", lambda: tracks.elections_of(drawn.tracks), None),
        "gap": part("longest gap", lambda: gap_of(run), None),
        "windows": drawn.windows,
        "topologies": part("topology", lambda: topologies_of(drawn), []),
        "nodes": run.nodes,
        "settings": part("settings", lambda: settings_of(run), []),
        "tails": part("logs", lambda: tails_of(run), []),
        "data": part("data of the charts", lambda: data_of(drawn), ""),
        "family_of": family_of,
        "styles": Markup(styles),  # noqa: S704 (our own files)
        "scripts": Markup(scripts),  # noqa: S704
        "policy": policy(scripts, styles),
    }
    context["warnings"] = [*run.notes.warnings, *run.results.get("warnings", ())]
    return environment().get_template("report.html.j2").render(context)


def facts_of(run: Run) -> list[tuple[str, str]]:
    """Name and value of what identifies the run; what nobody wrote down is left out."""
    system = run.plan.get("system")
    version = system.get("version") if isinstance(system, Mapping) else system or run.plan.get("version")
    name = system.get("name", "") if isinstance(system, Mapping) else ""
    options = run.plan.get("options") if isinstance(run.plan.get("options"), Mapping) else {}
    timers = run.plan.get("timers") or (system.get("timers") if isinstance(system, Mapping) else None)
    nemesis = run.plan.get("nemesis")
    told = (run.results.get("environment") or {}).get("system")
    rows = [
        ("test", run.test),
        ("run", run.name),
        ("nemesis", ", ".join(map(str, nemesis)) if isinstance(nemesis, list) else nemesis),
        ("system", told or (f"{name} {version}".strip() if version else name)),
        ("timers", timers or (options or {}).get("timers")),
        ("seed", run.seed),
        ("started", run.started),
        ("length", f"{run.end / 1e9:.1f} s"),
    ]
    return [(title, compact(value) if isinstance(value, list | dict) else str(value)) for title, value in rows if value]


def checks_of(run: Run) -> list[dict[str, Any]]:
    """The checks and gates as recorded; ``state`` is valid, invalid, unknown or skipped."""
    rows = []
    for check in run.results.get("checks", ()) or ():
        details = check.get("details")
        skipped = bool(isinstance(details, dict) and details.get("skipped")) or str(
            check.get("seen", "")
        ).lower().startswith("skipped")
        state = "skipped" if skipped else check.get("verdict")
        texts_of_it = {name: str(check.get(name) or "") for name in ("name", "kind", "asked", "seen")}
        rows.append({**texts_of_it, "state": state if state in _STATES else "unknown"})
    return sorted(rows, key=lambda row: _STATES.index(row["state"]))


def violation_count(run: Run) -> int:
    return sum(int(key.get("violations") or 0) for key in run.results.get("keys", ()) or ())


def violating_keys(run: Run) -> list[tuple[str, list[str], int]]:
    """(key, kinds of the anomalies that are told, how many violations there were), most first."""
    rows = [
        (str(key.get("key")), sorted({str(e.get("kind")) for e in key.get("counterexamples") or ()}), key["violations"])
        for key in run.results.get("keys", ())
        if key.get("violations")
    ]
    return sorted(rows, key=lambda row: -row[2])


def violations_of(drawn: Drawn) -> list[Violation]:
    """The counterexamples that are shown, earliest first."""
    found = [
        (key.get("key"), Counterexample.from_json(record))
        for key in drawn.run.results.get("keys", ()) or ()
        for record in key.get("counterexamples", ()) or ()
    ]
    found.sort(key=lambda pair: max((operation.invoked for operation in pair[1].operations), default=0))
    return [_violation(drawn, key, example, place) for place, (key, example) in enumerate(found[:MAX_EXAMPLES])]


def _violation(drawn: Drawn, key: Any, example: Counterexample, place: int) -> Violation:
    start = min((operation.invoked for operation in example.operations), default=0) / 1e9
    end = max((operation.returned or operation.invoked for operation in example.operations), default=0) / 1e9
    notes = drawn.run.notes
    no_lines: list[logs.LogLine] = []
    return Violation(
        key=key,
        example=example,
        picture=notes.attempt("counterexample", lambda: picture_of(example), None),
        start=start,
        end=end,
        leader=tracks.leader_at(drawn.tracks, end),
        term=tracks.term_at(drawn.tracks, end),
        faults=[window for window in drawn.windows if overlaps(window, start, end)],
        lines=no_lines
        if place > 2
        else notes.attempt(
            "log excerpts",
            lambda: logs.excerpt(drawn.run.files, drawn.run.started, start - 1.0, end + 1.0, limit=30),
            no_lines,
        ),
    )


RECOVERY_S: Final = 8.0


def recovery_of(drawn: Drawn) -> dict[str, Any] | None:
    """What the page tells of a cluster that did not come back: the check, and the logs after the last heal."""
    check = next((row for row in checks_of(drawn.run) if row["name"] == "recovery" and row["state"] == "invalid"), None)
    if check is None:
        return None
    healed = max((window.healed for window in drawn.windows if window.healed is not None), default=0.0)
    lines = logs.excerpt(drawn.run.files, drawn.run.started, healed - 0.5, healed + RECOVERY_S, limit=40)
    telling = [line for line in lines if line.weight]
    late = [word.node for word in tracks.last_words(drawn.tracks) if word.late]
    end = drawn.run.end / 1e9
    picture = drawn.run.notes.attempt("sketch", lambda: sketch_of(drawn.tracks, drawn.windows, end, late), None)
    return {
        "check": check,
        "healed": healed,
        "picture": picture,
        "until": drawn.run.end / 1e9,
        "lines": telling or lines,
    }


def overlaps(window: FaultWindow, start: float, end: float) -> bool:
    over = window.healed if window.healed is not None else float("inf")
    return window.state != "skipped" and window.started <= end and over >= start


def gap_of(run: Run) -> tuple[float, float] | None:
    main = phase_bounds(run.operations, "main")
    return figures.longest_gap(run.operations, *main) if main else None


def topologies_of(drawn: Drawn) -> list[dict[str, Any]]:
    """Geometry of the network during each installed fault, scaled to a 200 by 200 picture."""
    shown = [window for window in drawn.windows if window.installed][:MAX_TOPOLOGIES]
    return [_topology(window, drawn.run.nodes) for window in shown]


def _topology(window: FaultWindow, nodes: tuple[str, ...]) -> dict[str, Any]:
    struck = () if window.grudge else window.nodes
    return {"window": window, **_network(struck, nodes, window.leader, window.grudge)}


def _network(
    struck: Sequence[str], nodes: tuple[str, ...], leader: str | None, grudge: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    laid = topology.network(nodes, grudge, struck)

    def at(node: str) -> tuple[float, float]:
        x, y = laid.positions[node]
        return 30 + 140 * x, 30 + 140 * y

    links = []
    for link in laid.links:
        (x1, y1), (x2, y2) = at(link.source), at(link.target)
        length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1.0)
        dx, dy = (x2 - x1) / length * 17, (y2 - y1) / length * 17
        links.append({"state": link.state, "x1": x1 + dx, "y1": y1 + dy, "x2": x2 - dx, "y2": y2 - dy})
    points = [
        {
            "name": node,
            "x": at(node)[0],
            "y": at(node)[1],
            "struck": node in laid.struck,
            "leader": node == leader,
        }
        for node in laid.positions
    ]
    return {"links": links, "nodes": points}


def settings_of(run: Run) -> list[tuple[str, list[tuple[str, str]]]]:
    """Plan and environment as flat rows: a group's name and its (name, value) pairs."""
    groups = []
    for title, record in (
        ("plan", run.plan),
        ("environment", run.results.get("environment") or {}),
        ("timings", run.results.get("timings") or {}),
    ):
        rows = [(name, short(text, 300)) for name, text in _flat(record) if text not in ("", "null")]
        if rows:
            groups.append((title, rows))
    return groups


def _flat(record: Any, prefix: str = "") -> list[tuple[str, str]]:
    if isinstance(record, Mapping):
        rows = []
        for name, value in record.items():
            rows += _flat(value, f"{prefix}.{name}" if prefix else str(name))
        return rows
    return [(prefix, record if isinstance(record, str) else json.dumps(record, ensure_ascii=False, default=str))]


def tails_of(run: Run) -> list[tuple[str, str, list[str]]]:
    """(node, file, last lines) of every log; the harness's own log first when it was the harness that failed."""
    found = [(node, path.name, logs.tail(path, 12)) for node, path in logs.log_files(run.files, rotated=False)[:16]]
    if run.files.log.is_file():
        found.insert(0, ("harness", run.files.log.name, logs.tail(run.files.log, 40 if run.failure else 12)))
    return found


def data_of(drawn: Drawn) -> str:
    """The packed columns and figures that the scripts draw."""
    run, end = drawn.run, drawn.run.end
    lanes, lane_count = figures.lanes_of(run.operations, end)
    columns, names = operation_columns(run.operations, lanes)
    return pack(columns, {"names": names, "lanes": lane_count, "end": end / 1e9, **_series(drawn, run.operations, end)})


def _series(drawn: Drawn, operations: Operations, end: int) -> dict[str, Any]:
    notes = drawn.run.notes

    def part(what: str, make: Callable[[], Any]) -> Any:
        return notes.attempt(what, make, None)

    return {
        "nodes": [{"name": track.node, "colour": node_colour(place)} for place, track in enumerate(drawn.tracks)],
        "faultColours": FAULT_COLOURS,
        "phases": [
            {"name": name, "start": bounds[0] / 1e9}
            for name in ("main", "final")
            if (bounds := phase_bounds(operations, name))
        ],
        "faults": [_fault_data(window, end / 1e9) for window in drawn.windows],
        "rates": part("rate", lambda: _rates(operations, end)),
        "quantiles": part("latency quantiles", lambda: _quantiles(operations, end)),
        "available": part("availability", lambda: figures.availability_of(operations, end)),
        "stretches": part("leaders and terms", lambda: [_stretches(track) for track in drawn.tracks]),
        "progress": part("replica progress", lambda: _progress(drawn.tracks, end)) if drawn.run.probes else None,
        "marked": [
            operation.invoke_index
            for violation in drawn.run.results.get("keys", ()) or ()
            for example in violation.get("counterexamples", ()) or ()
            for operation in Counterexample.from_json(example).operations
        ][:200],
    }


def _fault_data(window: FaultWindow, end: float) -> dict[str, Any]:
    return {
        "id": window.id,
        "fault": short(window.fault, 60),
        "family": window.family,
        "state": window.state,
        "nodes": list(window.nodes),
        "leader": window.leader,
        "start": window.started,
        "end": _drawn_end(window, end),
    }


def _drawn_end(window: FaultWindow, end: float) -> float:
    """A fault that was never healed is drawn to the end of the run, one that was not installed as a mark."""
    if window.healed is not None:
        return window.healed
    return end if window.installed else window.stood or window.started


def _rates(operations: Operations, end: int) -> dict[str, Any]:
    rates = figures.rates_of(operations, end)
    return {"time": rates.time, "width": rates.width, "rows": rates.rows}


def _quantiles(operations: Operations, end: int) -> dict[str, Any]:
    quantiles = figures.quantiles_of(operations, end)
    return {"time": quantiles.time, "rows": quantiles.rows, "names": figures.QUANTILE_NAMES}


def _stretches(track: Track) -> list[list[Any]]:
    return [[tracks.ROLES.index(s.role), s.term, s.start, s.end] for s in tracks.stretches(track)]


def _progress(found: list[Track], end: int) -> dict[str, Any]:
    progress = tracks.progress_of(found, end / 1e9)
    return {"time": progress.time, "applied": progress.applied, "committed": progress.committed, "lag": progress.lag}
