"""Failed checks of the nodes with their surroundings: committed entries deleted, terms forgotten or led twice, alarms.

Clients may have seen nothing of it, so there is no counterexample; the evidence is what the nodes said of themselves.
Linearizability and recovery have sections of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from reports.analysis import node_timeline
from reports.analysis.faults import FaultWindow
from reports.analysis.findings import LINEARIZABLE, Drawn, checks_of, overlaps
from reports.analysis.sketch import Sketch, sketch_of
from reports.load import logs
from reports.style.format import number

Told: TypeAlias = tuple[float, str, str]
"""When (seconds), which node, and what it did."""

ELSEWHERE: Final = LINEARIZABLE | {"recovery"}
MAX_MOMENTS: Final = 12
LOGS_TOO_SHORT: Final = ("committed-entries-deleted", "commit-beyond-log", "leader-lacks-committed")
DIGEST: Final = 12
"""So many characters of a digest are shown."""
ROOM_S: Final = (1.0, 0.5)
"""Seconds before and after a moment in which the logs are looked at."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When one node was seen to break the rule (seconds), and what the cluster was doing then."""

    seconds: float
    node: str
    told: str
    leader: str | None
    term: int
    faults: list[FaultWindow]
    logged: logs.Excerpt | None


@dataclass(frozen=True, slots=True)
class Breach:
    """One failed check.  ``facts`` are its own words by clauses; ``picture`` shows the logs' ends, where it helps."""

    name: str
    asked: str
    facts: list[str]
    moments: list[Moment]
    picture: Sketch | None
    left_out: int = 0
    """So many moments are not among ``moments``: there were more than :data:`MAX_MOMENTS`."""


def breaches_of(drawn: Drawn) -> list[Breach]:
    """The checks of the system that failed and have no section of their own, in the order of the results."""
    return [_breach(drawn, row, details) for row, details in _failed(drawn)]


def told_of(drawn: Drawn) -> list[tuple[str, list[Told]]]:
    """(check, its moments) of the same checks, without their surroundings."""
    return [(row["name"], _describe(drawn, details)) for row, details in _failed(drawn)]


def _failed(drawn: Drawn) -> list[tuple[dict[str, Any], Mapping[str, Any]]]:
    records = {str(check.get("name")): check.get("details") for check in drawn.run.results.get("checks", ())}
    failed = [row for row in checks_of(drawn.run) if row["state"] == "invalid" and row["name"] not in ELSEWHERE]
    found = [(row, records.get(row["name"])) for row in failed]
    return [(row, details if isinstance(details, Mapping) else {}) for row, details in found]


def _describe(drawn: Drawn, details: Mapping[str, Any]) -> list[Told]:
    if say := _TOLD.get(str(details.get("kind"))):
        return [(one["time"] / 1e9, str(one["node"]), say(one)) for one in _moments(details)]
    return _leaders(drawn, details)


def _breach(drawn: Drawn, row: Mapping[str, Any], details: Mapping[str, Any]) -> Breach:
    deleted = details.get("kind") in LOGS_TOO_SHORT
    told = _describe(drawn, details)
    moments = [_moment(drawn, *rest) for rest in told[:MAX_MOMENTS]]
    nodes = {node for _, node, _ in told}
    marked = sorted(nodes) if len(nodes) < len(drawn.tracks) else []
    end = drawn.run.end / 1e9
    return Breach(
        name=row["name"],
        asked=row["asked"],
        facts=[clause for clause in row["seen"].split("; ") if clause],
        moments=moments,
        picture=sketch_of(drawn.tracks, drawn.windows, end, marked, "log_end") if deleted else None,
        left_out=max(len(told) - MAX_MOMENTS, 0),
    )


def _moments(details: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The check's own evidence, by node and time; nothing for results that hold none."""
    found = details.get("moments")
    return found if isinstance(found, list) else []


def _deletion(moment: Mapping[str, Any]) -> str:
    before = " before it was restarted" if moment.get("restarted") else ""
    return f"log ends at {number(moment['log_end'])}, {number(moment['committed'])} had been committed there{before}"


def _step_back(moment: Mapping[str, Any]) -> str:
    return f"in term {moment['term']}, after term {moment['before']}"


def _beyond(moment: Mapping[str, Any]) -> str:
    bound = "log ends" if moment["above"] == "committed" else "committed"
    return f"{bound} at {number(moment['bound'])}, {number(moment['index'])} {moment['above']} there"


def _short_leader(moment: Mapping[str, Any]) -> str:
    held = f"{number(moment['log_end'])} of {number(moment['committed'])}"
    return f"leads in term {moment['term']} with {held} committed entries"


def _contents(moment: Mapping[str, Any]) -> str:
    return f"contents {str(moment['digest'])[:DIGEST]} at {moment['of']} {number(moment['index'])}"


_TOLD: Final = {
    "committed-entries-deleted": _deletion,
    "term-forgotten": _step_back,
    "commit-beyond-log": _beyond,
    "leader-lacks-committed": _short_leader,
    "replicas-differ": _contents,
}
"""What a node did, in words, for the kinds of violation whose checks keep the moments."""


def _leaders(drawn: Drawn, details: Mapping[str, Any]) -> list[Told]:
    """Who called itself leader in the terms that had several, from when."""
    terms = details.get("terms")
    found: list[Told] = []
    for term, nodes in (terms if isinstance(terms, Mapping) else {}).items():
        for track in drawn.tracks:
            mine = [s for s in node_timeline.stretches(track) if s.role == "leader" and str(s.term) == str(term)]
            if track.node in nodes and mine:
                found.append((mine[0].start, track.node, f"led in term {term} until {mine[-1].end:.2f} s"))
    return sorted(found)


def _moment(drawn: Drawn, seconds: float, node: str, told: str) -> Moment:
    run, leader = drawn.run, node_timeline.leader_at(drawn.tracks, seconds)
    return Moment(
        seconds=seconds,
        node=node,
        told=told,
        leader=leader,
        term=node_timeline.term_at(drawn.tracks, seconds),
        faults=[window for window in drawn.windows if overlaps(window, seconds, seconds)],
        logged=run.notes.attempt(
            "log excerpts",
            lambda: logs.around(
                run.files, run.started, (seconds, seconds), [node, *([leader] if leader else [])], ROOM_S, 24
            ),
            None,
        ),
    )
