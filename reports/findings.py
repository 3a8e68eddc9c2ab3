"""What was found wrong in a run, ready to be told: checks, violations with their surroundings, no recovery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from history import Counterexample
from reports import faults, logs, tracks
from reports.counterexample import Picture, picture_of
from reports.faults import FaultWindow
from reports.run import Run
from reports.sketch import sketch_of
from reports.tracks import Track

MAX_EXAMPLES: Final = 8
RECOVERY_S: Final = 8.0
"""So much of the nodes' logs after the last heal is looked at when a cluster did not come back."""
_STATES: Final = ("invalid", "unknown", "skipped", "valid")


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
