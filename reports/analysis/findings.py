"""What was found wrong in a run, ready to be told: checks, violations with their surroundings, no recovery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from history import Counterexample, Operation
from history.records.violation_times import occasions_text
from reports.analysis import faults, node_timeline
from reports.analysis.counterexample import Picture, picture_of
from reports.analysis.faults import FaultWindow
from reports.analysis.lagging_nodes import stuck_of
from reports.analysis.node_timeline import Track
from reports.analysis.responder import Answer, answer_of, missed_write
from reports.analysis.sketch import sketch_of
from reports.analysis.snapshots import Snapshot, snapshots_of
from reports.load import logs
from reports.load.run import Run

MAX_EXAMPLES: Final = 8
MAX_TOLD: Final = 100
"""So many violations are told by their sentence, and framed in the charts."""
ROOM_S: Final = (1.0, 1.0)
"""Seconds before and after a violation in which the logs are looked at."""
RECOVERY_S: Final = 8.0
"""So much of the nodes' logs after the last heal is looked at when a cluster did not come back."""
LINEARIZABLE: Final = frozenset({"linearizable", "linearizability"})
_STATES: Final = ("invalid", "unknown", "skipped", "valid")


@dataclass(frozen=True, slots=True)
class Violation:
    """One counterexample with what the cluster was doing then; seconds.

    ``since``, ``answered_by`` (and that node's ``role``), ``leader``, ``term``, ``faults`` and ``logged`` belong to the
    operation that cannot be placed, if there is one: the others may have happened long before.  ``earlier`` faults
    stood during those.  ``suspects`` are the answers of which one is wrong, usually a single one; ``missed`` is the
    last acknowledged change that a single one shows no sign of.
    """

    key: Any
    example: Counterexample
    picture: Picture | None
    start: float
    end: float
    since: float
    answered_by: str | None
    role: str | None
    leader: str | None
    term: int
    faults: list[FaultWindow]
    earlier: list[FaultWindow]
    logged: logs.Excerpt | None
    suspects: list[Answer]
    missed: Answer | None


@dataclass(frozen=True, slots=True)
class Drawn:
    """What several parts of the page, and the plots, need."""

    run: Run
    tracks: list[Track]
    windows: list[FaultWindow]
    violations: list[Violation]
    snapshots: list[Snapshot]


def prepare(run: Run) -> Drawn:
    """Tracks, fault windows, violations and snapshots; empty where they cannot be made."""
    no_tracks: list[Track] = []
    no_windows: list[FaultWindow] = []
    no_violations: list[Violation] = []
    no_snapshots: list[Snapshot] = []
    nobody: tuple[str, ...] = ()
    nodes = run.notes.attempt("nodes", lambda: run.nodes, nobody)
    found = run.notes.attempt("leaders and replicas", lambda: node_timeline.tracks_of(run.probes, nodes), no_tracks)
    windows = run.notes.attempt("fault table", lambda: faults.fault_windows(run, found), no_windows)
    violations = run.notes.attempt("counterexamples", lambda: violations_of(run, found, windows), no_violations)
    snapshots = run.notes.attempt("snapshots", lambda: snapshots_of(found), no_snapshots)
    return Drawn(run, found, windows, violations, snapshots)


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


def headlines_of(drawn: Drawn) -> list[tuple[str, str, str]]:
    """(check, what it found, where the page tells more) of everything that is not as it should be, the worst first.

    Empty for a valid run.  Of a run that the harness broke off only what failed: why the rest is unknown, its sentence
    says.
    """
    wanted = ("invalid",) if drawn.run.failure else ("invalid", "unknown")
    found = []
    breaches = 0
    for row in checks_of(drawn.run):
        if row["state"] not in wanted:
            continue
        text, place = row["seen"], ""
        if row["state"] == "invalid" and row["name"] == "recovery":
            place = "recovery"
        elif row["state"] == "invalid" and row["name"] in LINEARIZABLE:
            place = "counterexample" if drawn.violations else ""
            if drawn.violations:
                told = drawn.violations[0]
                count = violation_count(drawn.run)
                text = f"{told.example.kind}. {told.example.sentence} ({count} violation{'' if count == 1 else 's'})"
        elif row["state"] == "invalid":
            breaches += 1
            place = f"breach-{breaches}"
        found.append((row["name"], text, place))
    return found


def occasions_of(run: Run) -> str:
    """When the violations were seen, in words: by phase, and by the faults that stood; empty if nobody counted."""
    checks = run.results.get("checks", ()) or ()
    details = next((check.get("details") for check in checks if check.get("name") in LINEARIZABLE), None)
    seen = details.get("seen") if isinstance(details, dict) else None
    if not isinstance(seen, dict) or not seen.get("counted"):
        return ""
    text = occasions_text(seen, "with no fault installed")
    return text[:1].upper() + text[1:]


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


def examples_of(run: Run) -> list[tuple[Any, Counterexample]]:
    """(key, counterexample) of every violation that the results tell, earliest first, at most :data:`MAX_TOLD`."""
    told = [
        (key.get("key"), Counterexample.from_json(record))
        for key in run.results.get("keys", ()) or ()
        for record in key.get("counterexamples", ()) or ()
    ]
    return sorted(told, key=lambda pair: pair[1].shown_at)[:MAX_TOLD]


def violations_of(run: Run, found: list[Track], windows: list[FaultWindow]) -> list[Violation]:
    """The counterexamples that are drawn, earliest first."""
    return [_violation(run, found, windows, key, example) for key, example in examples_of(run)[:MAX_EXAMPLES]]


def _violation(
    run: Run, found: list[Track], windows: list[FaultWindow], key: Any, example: Counterexample
) -> Violation:
    picture = run.notes.attempt("counterexample", lambda: picture_of(example), None)
    operations = sorted(example.operations, key=lambda operation: operation.invoked)
    start = min((operation.invoked for operation in operations), default=0) / 1e9
    end = max((operation.returned or operation.invoked for operation in operations), default=0) / 1e9
    told_by = next(iter(example.suspects), None)
    since = told_by.invoked / 1e9 if told_by else start
    until = (told_by.returned or told_by.invoked) / 1e9 if told_by else end
    standing = [window for window in windows if overlaps(window, since, until)]
    node, leader = told_by.node if told_by else None, node_timeline.leader_at(found, until)

    def answer(operation: Operation) -> Answer:
        return answer_of(operation, operations, found, windows, run.nodes)

    missed = missed_write(operations, told_by) if len(example.suspects) == 1 else None
    return Violation(
        key=key,
        example=example,
        picture=picture,
        start=start,
        end=end,
        since=since,
        answered_by=node,
        role=node_timeline.role_at(found, told_by.node, until) if told_by else None,
        leader=leader,
        term=node_timeline.term_at(found, until),
        faults=standing,
        earlier=[window for window in windows if overlaps(window, start, end) and window not in standing],
        logged=run.notes.attempt(
            "log excerpts",
            lambda: logs.around(run.files, run.started, (since, until), [n for n in (node, leader) if n], ROOM_S, 30),
            None,
        ),
        suspects=[answer(operation) for operation in example.suspects],
        missed=answer(missed) if missed else None,
    )


def recovery_of(drawn: Drawn) -> dict[str, Any] | None:
    """What the page tells of a cluster that did not come back: the check, and the logs after the last heal."""
    check = next((row for row in checks_of(drawn.run) if row["name"] == "recovery" and row["state"] == "invalid"), None)
    if check is None:
        return None
    healed = max((window.healed for window in drawn.windows if window.healed is not None), default=0.0)
    lines = logs.excerpt(drawn.run.files, drawn.run.started, healed - 0.5, healed + RECOVERY_S, limit=40)
    telling = [line for line in lines if line.weight]
    nothing: list[str] = []
    late = [word.node for word in node_timeline.last_words(drawn.tracks) if word.late]
    end = drawn.run.end / 1e9
    picture = drawn.run.notes.attempt("sketch", lambda: sketch_of(drawn.tracks, drawn.windows, end, late), None)
    return {
        "check": check,
        "healed": healed,
        "picture": picture,
        "until": drawn.run.end / 1e9,
        "lines": telling or lines,
        "stuck": drawn.run.notes.attempt(
            "replica progress",
            lambda: [one.sentence() for one in stuck_of(drawn.tracks, drawn.windows) if one.node in late],
            nothing,
        ),
    }


def overlaps(window: FaultWindow, start: float, end: float) -> bool:
    over = window.healed if window.healed is not None else float("inf")
    return window.state != "skipped" and window.started <= end and over >= start
