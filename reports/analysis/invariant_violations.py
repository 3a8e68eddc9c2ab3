"""Failed checks of the nodes: committed entries deleted, terms forgotten or led twice, alarms; and what happened then.

Clients may not have noticed, so there is no counterexample; the evidence is what the nodes reported.  Other checks that
recorded no counterexamples are here too, of which that cannot be said.  Linearizability and recovery have sections of
their own, and checks that recorded counterexamples are shown by these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from history.records.violations import LINEARIZABLE, OF_NODES
from reports.analysis import node_timeline
from reports.analysis.faults import FaultWindow
from reports.analysis.findings import Drawn, checks_of, shown_as_counterexamples
from reports.analysis.sketch import Sketch, sketch_of
from reports.load import logs
from reports.load.alarm_lines import AlarmLine

#: When (seconds), which node, and what it did, in words.
Observation: TypeAlias = tuple[float, str, str]
#: How an index is written.
Write: TypeAlias = Callable[[int], str]

ELSEWHERE: Final = LINEARIZABLE | {"recovery"}
MAX_MOMENTS: Final = 12
LOGS_TOO_SHORT: Final = ("committed-entries-deleted", "commit-beyond-log", "leader-lacks-committed")
#: Characters of a digest that are shown.
DIGEST: Final = 12
#: Seconds before and after a moment from which log lines are shown.
ROOM_S: Final = (1.0, 0.5)


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment at which one node was seen to break the rule (seconds), and what the cluster was doing then."""

    seconds: float
    node: str
    text: str
    leader: str | None
    term: int
    faults: list[FaultWindow]
    logged: logs.Excerpt | None


@dataclass(frozen=True, slots=True)
class InvariantViolation:
    """One failed check.  ``facts``: the clauses of its own sentence; ``picture``: the ends of the logs, or None.

    ``of_nodes``: it rests on what nodes reported, so that clients may not have noticed.
    ``counted``: how often the check saw it, of ``what``.  The results hold the moments of ``recorded`` of these, which
    have marks in charts; ``unlisted`` are the nodes of which they hold none.
    """

    name: str
    asked: str
    facts: list[str]
    moments: list[Moment]
    picture: Sketch | None
    of_nodes: bool
    #: Its lines of the logs, where it is about these.
    lines: list[AlarmLine] = field(default_factory=list)

    counted: int = 0
    recorded: int = 0
    what: str = "moments"
    unlisted: tuple[str, ...] = ()

    @property
    def marked_text(self) -> str:
        """Say how many of those that were counted have a mark."""
        if self.counted == 1:
            return "the only one"
        return f"all {self.counted:,}" if self.recorded >= self.counted else f"{self.recorded:,} of {self.counted:,}"


def invariant_violations(drawn: Drawn) -> list[InvariantViolation]:
    """List the failed checks of the system without a section of their own, in the order of the results."""
    return [_invariant_violation(drawn, row, details) for row, details in _failed(drawn)]


def moments_by_check(drawn: Drawn) -> list[tuple[str, list[Observation]]]:
    """List (check, its observations) of the same checks, without what the cluster was doing.

    What a check saw before anything was wrong, of ``since`` (ns) on by its own record, is no mark of a violation.
    """
    return [
        (row["name"], [one for one in _describe(drawn, details) if one[0] >= details.get("since", 0) / 1e9])
        for row, details in _failed(drawn)
    ]


def _failed(drawn: Drawn) -> list[tuple[dict[str, Any], Mapping[str, Any]]]:
    records = {str(check.get("name")): check.get("details") for check in drawn.run.results.get("checks", ())}
    elsewhere = ELSEWHERE | shown_as_counterexamples(drawn.run)
    failed = [row for row in checks_of(drawn.run) if row["state"] == "invalid" and row["name"] not in elsewhere]
    found = [(row, records.get(row["name"])) for row in failed]
    return [(row, details if isinstance(details, Mapping) else {}) for row, details in found]


def _describe(drawn: Drawn, details: Mapping[str, Any]) -> list[Observation]:
    if say := _WORDING.get(str(details.get("kind"))):
        return [(one["time"] / 1e9, str(one["node"]), say(one, drawn.run.index)) for one in _moments(details)]
    return _leaders(drawn, details)


def _invariant_violation(drawn: Drawn, row: Mapping[str, Any], details: Mapping[str, Any]) -> InvariantViolation:
    deleted = details.get("kind") in LOGS_TOO_SHORT
    observed = _describe(drawn, details)
    moments = [_moment(drawn, *one) for one in _listed(observed)]
    dated, count = {node for _, node, _ in observed}, details.get("count")
    nodes = dated | {str(node) for node in details.get("nodes") or ()}
    marked = sorted(nodes) if len(nodes) < len(drawn.timelines) else []
    end = drawn.run.end / 1e9
    return InvariantViolation(
        name=row["name"],
        asked=row["asked"],
        facts=[clause for clause in row["seen"].split("; ") if clause],
        moments=moments,
        picture=sketch_of(drawn.timelines, drawn.windows, end, marked, "log_end") if deleted else None,
        of_nodes=row["name"] in OF_NODES,
        lines=drawn.alarm_lines if details.get("patterns") else [],
        counted=max(len(observed), count if isinstance(count, int) else 0),
        recorded=len(observed),
        what=_COUNTED.get(str(details.get("kind")), "moments"),
        unlisted=tuple(sorted(nodes - dated)) if observed else (),
    )


def _listed(observed: Sequence[Observation]) -> list[Observation]:
    """Choose the first observation of each node, and the earliest of the others."""
    by_time = sorted(range(len(observed)), key=lambda place: observed[place][0])
    first = set({observed[place][1]: place for place in reversed(by_time)}.values())
    chosen = sorted(by_time, key=lambda place: place not in first)[:MAX_MOMENTS]
    return [observed[place] for place in sorted(chosen)]


def _moments(details: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the check's own evidence, by node and time; empty for results without any."""
    found = details.get("moments")
    return found if isinstance(found, list) else []


def _deletion(moment: Mapping[str, Any], write: Write) -> str:
    before = " before it was restarted" if moment.get("restarted") else ""
    text = f"log ends at {write(moment['log_end'])}, {write(moment['committed'])} had been committed there{before}"
    if fell := moment.get("index_fell"):
        text += f"; its commit index itself fell from {write(fell[0])} to {write(fell[1])}"
    return text


def _step_back(moment: Mapping[str, Any], _: Write) -> str:
    return f"in term {moment['term']}, after term {moment['before']}"


def _beyond(moment: Mapping[str, Any], write: Write) -> str:
    bound = "log ends" if moment["above"] == "committed" else "committed"
    return f"{bound} at {write(moment['bound'])}, {write(moment['index'])} {moment['above']} there"


def _short_leader(moment: Mapping[str, Any], write: Write) -> str:
    held = f"{write(moment['log_end'])} of {write(moment['committed'])}"
    return f"leads in term {moment['term']} with {held} committed entries"


def _contents(moment: Mapping[str, Any], write: Write) -> str:
    return f"contents {str(moment['digest'])[:DIGEST]} at {moment['of']} {write(moment['index'])}"


#: Kind of violation, of those whose checks record moments -> writes in words what a node did then.
_WORDING: Final = {
    "committed-entries-deleted": _deletion,
    "term-forgotten": _step_back,
    "commit-beyond-log": _beyond,
    "leader-lacks-committed": _short_leader,
    "replicas-differ": _contents,
}
#: What is counted of a kind of violation.
_COUNTED: Final = {
    "committed-entries-deleted": "falls of a log",
    "commit-beyond-log": "answers",
    "leader-lacks-committed": "answers",
}


def _leaders(drawn: Drawn, details: Mapping[str, Any]) -> list[Observation]:
    """List the nodes that called themselves leader in terms with several leaders, and from when."""
    terms = details.get("terms")
    found: list[Observation] = []
    for term, nodes in (terms if isinstance(terms, Mapping) else {}).items():
        for timeline in drawn.timelines:
            mine = [s for s in node_timeline.stretches(timeline) if s.role == "leader" and str(s.term) == str(term)]
            if timeline.node in nodes and mine:
                found.append((mine[0].start, timeline.node, f"led in term {term} until {mine[-1].end:.2f} s"))
    return sorted(found)


def _moment(drawn: Drawn, seconds: float, node: str, text: str) -> Moment:
    run, leader = drawn.run, node_timeline.leader_at(drawn.timelines, seconds)
    return Moment(
        seconds=seconds,
        node=node,
        text=text,
        leader=leader,
        term=node_timeline.term_at(drawn.timelines, seconds),
        faults=[window for window in drawn.windows if window.stands(seconds, seconds)],
        logged=run.notes.attempt(
            "log excerpts",
            lambda: logs.around(
                run.files, run.started, (seconds, seconds), [node, *([leader] if leader else [])], ROOM_S, 24
            ),
            None,
        ),
    )
