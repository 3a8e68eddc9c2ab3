"""Failed checks of the nodes: committed entries deleted, terms forgotten or led twice, alarms; and what happened then.

Clients may not have noticed, so there is no counterexample: the evidence is what the nodes reported.  Other failed
checks without counterexamples are included, although clients may have noticed those.  Linearizability and recovery have
their own sections, and checks with counterexamples are shown with these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from history import node_logs
from history.records.check_records import check_records
from history.records.finding import (
    Alarms,
    BeyondLog,
    CommitBeyondLog,
    EntriesDeleted,
    LeaderLacksCommitted,
    NodeMoment,
    OfNodes,
    ReplicasDiffer,
    ShortLeader,
    ShortLogs,
    TwoLeaders,
    findings_in,
    first_of,
)
from history.records.violations import LINEARIZABLE, OF_NODES
from reports.analysis import node_timeline
from reports.analysis.faults import FaultWindow, healed_before
from reports.analysis.findings import Drawn, examples_of, shown_as_counterexamples
from reports.analysis.node_timeline import NodeTimeline
from reports.analysis.sketch import Sketch, sketch_of
from reports.load.alarm_lines import AlarmLine
from reports.load.check_rows import checks_of
from reports.words.of_nodes import entries_text, moment_text


class Observation(NamedTuple):
    """Something that a node did, in words, and when (seconds).

    ``until`` is the time of the last of ``answers`` consecutive answers that showed the same; None for a single
    moment.
    """

    at: float
    node: str
    text: str
    until: float | None = None
    answers: int = 1


#: Returns whether a node's answer at the second place still shows what the moment at the first place records.
Stands: TypeAlias = Callable[[NodeTimeline, Any, int, int], bool]

ELSEWHERE: Final = LINEARIZABLE | {"recovery"}
MAX_MOMENTS: Final = 12
#: Seconds before and after a moment from which log lines are shown.
ROOM_S: Final = (1.0, 0.5)


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment (seconds) at which a node was seen to break the rule, and what the cluster was doing then.

    ``healed`` describes the last fault before it, if none was active at the time.
    """

    seconds: float
    node: str
    text: str
    leader: str | None
    term: int
    faults: list[FaultWindow]
    healed: str
    logged: node_logs.Excerpt | None


@dataclass(frozen=True, slots=True)
class InvariantViolation:
    """One failed check.  ``text`` is its sentence, and says what became of entries; ``nodes`` are the nodes concerned.

    ``picture``: the ends of the logs; None if there are none to show or the section ``drawn_in`` shows them.
    ``of_nodes``: it rests on what nodes reported, so clients may not have noticed.

    ``counted``: how many ``what`` (moments, answers, …) the check saw; the results hold ``recorded`` of them, which
    have marks in charts.  ``unlisted`` are the nodes without any recorded moment.
    """

    name: str
    asked: str
    text: str
    moments: list[Moment]
    nodes: tuple[str, ...]
    picture: Sketch | None
    of_nodes: bool
    drawn_in: str = ""
    #: Its log lines, if it is about logs.
    lines: list[AlarmLine] = field(default_factory=list)

    counted: int = 0
    recorded: int = 0
    what: str = "moments"
    #: Number of stretches of answers, each shown as one moment; 0 if all moments are single.
    stretches: int = 0

    unlisted: tuple[str, ...] = ()

    @property
    def marked_text(self) -> str:
        """Say how many of the counted violations have a mark."""
        if self.counted == 1:
            return "the only one"
        return f"all {self.counted:,}" if self.recorded >= self.counted else f"{self.recorded:,} of {self.counted:,}"


def invariant_violations(drawn: Drawn) -> list[InvariantViolation]:
    """Return the failed checks of the system that have no section of their own, in the order of the results.

    The ends of the logs are drawn only once, in the first section that is about them.
    """
    failed = _failed(drawn)
    sections = [_invariant_violation(drawn, row, record) for row, record in failed]
    about = [place for place, (_, record) in enumerate(failed) if first_of(ShortLogs, record)]
    nodes = sorted({node for place in about for node in sections[place].nodes})
    marked = nodes if len(nodes) < len(drawn.timelines) else []
    picture = sketch_of(drawn.timelines, drawn.windows, drawn.run.end / 1e9, marked, "log_end") if about else None
    for place in about if picture else ():
        first = place == about[0]
        sections[place] = replace(
            sections[place], picture=picture if first else None, drawn_in="" if first else sections[about[0]].name
        )
    return sections


def moments_by_check(drawn: Drawn) -> list[tuple[str, list[Observation]]]:
    """Return (check, its observations) for the same checks, without what the cluster was doing then.

    Observations from before anything was wrong are left out, because they mark no violation.
    """
    return [
        (row["name"], _describe(drawn, about, about.marks)) if about else (row["name"], [])
        for row, record in _failed(drawn)
        for about in [first_of(OfNodes, record)]
    ]


def _failed(drawn: Drawn) -> list[tuple[dict[str, Any], Mapping[str, Any]]]:
    records = {str(record.get("name") or ""): record for record in check_records(drawn.run.results)}
    elsewhere = ELSEWHERE | shown_as_counterexamples(drawn.run)
    failed = [row for row in checks_of(drawn.run) if row["state"] == "invalid" and row["name"] not in elsewhere]
    return [(row, records[row["name"]]) for row in failed]


def _describe(drawn: Drawn, about: OfNodes, moments: Sequence[NodeMoment]) -> list[Observation]:
    if isinstance(about, TwoLeaders):
        since = min((moment.time for moment in moments), default=0) / 1e9
        return [observation for observation in _leaders(drawn, about) if observation.at >= since]
    texts = [(moment, moment_text(about, moment, drawn.run.index)) for moment in moments]
    observations = [Observation(moment.time / 1e9, moment.node, text) for moment, text in texts if text is not None]
    return _stretches(drawn, moments, observations, _STANDS[type(about)]) if type(about) in _STANDS else observations


def _stretches(
    drawn: Drawn, moments: Sequence[NodeMoment], observations: Sequence[Observation], stands: Stands
) -> list[Observation]:
    """Merge consecutive answers of a node that show the same.

    The results hold only the earliest answer of many.  A stretch ends with the last answer that still shows the
    violation, at the latest when the node falls silent.
    """
    timelines = {record.node: record for record in drawn.timelines}
    merged: list[Observation] = []
    latest: dict[str, int] = {}
    for moment, observation in zip(moments, observations, strict=True):
        timeline = timelines.get(observation.node)
        place = int(np.searchsorted(timeline.time, observation.at - 1e-9)) if timeline else 0
        if timeline is None or not _is_of(moment, timeline, place):
            merged.append(observation)
            continue
        if place <= latest.get(observation.node, -1):
            continue
        last = place
        while last + 1 < len(timeline.time) and stands(timeline, moment, place, last + 1):
            last += 1
        latest[observation.node] = last
        merged.append(_over(observation, float(timeline.time[last]), last - place + 1) if last > place else observation)
    return merged


def _is_of(moment: NodeMoment, timeline: NodeTimeline, place: int) -> bool:
    """Return whether a moment belongs to the answer at a place of a node's timeline."""
    assert isinstance(moment, BeyondLog | ShortLeader)
    applied = isinstance(moment, BeyondLog) and moment.above == "applied"
    reported = timeline.committed if applied else timeline.log_end
    if place >= len(reported) or abs(float(timeline.time[place]) - moment.time / 1e9) > 1e-6:
        return False
    return int(reported[place]) == (moment.bound if isinstance(moment, BeyondLog) else moment.log_end)


def _over(first: Observation, until: float, answers: int) -> Observation:
    text = f"{first.text}; the same in {answers:,} answers until {until:.2f} s"
    return first._replace(text=text, until=until, answers=answers)


def _leads_short(timeline: NodeTimeline, moment: ShortLeader, _: int, place: int) -> bool:
    leads = timeline.role[place] == node_timeline.ROLES.index("leader")
    return bool(leads and timeline.log_end[place] < moment.committed and _answers(timeline, place + 1))


def _still_beyond(timeline: NodeTimeline, moment: BeyondLog, first: int, place: int) -> bool:
    above = moment.above
    column, bound = getattr(timeline, above), timeline.log_end if above == "committed" else timeline.committed
    reached = max(moment.index, int(column[first:place].max()))
    proven = above == "applied" or _answers(timeline, place + 1)
    return _answers(timeline, place) and int(bound[place]) < reached and proven


def _answers(timeline: NodeTimeline, place: int) -> bool:
    """Return whether a node answered the probe at a place.

    Proving what a log lacks in one answer requires the answer after it.
    """
    return place < len(timeline.time) and bool(timeline.role[place] != node_timeline.SILENT)


def _invariant_violation(drawn: Drawn, row: Mapping[str, Any], record: Mapping[str, Any]) -> InvariantViolation:
    about, alarms = first_of(OfNodes, record), first_of(Alarms, record)
    observed = _describe(drawn, about, about.moments) if about else []
    listed = _differences(drawn, about, observed) if isinstance(about, ReplicasDiffer) else _listed(observed)
    moments = [_moment(drawn, observation) for observation in listed]
    dated, answers = (
        {observation.node for observation in observed},
        sum(observation.answers for observation in observed),
    )
    nodes = dated | {node for finding in findings_in(record) for node in finding.nodes}
    # The check of deleted entries says so in its own sentence.
    entries = about.entries if isinstance(about, ShortLogs) and not isinstance(about, EntriesDeleted) else None
    return InvariantViolation(
        name=row["name"],
        asked=row["asked"],
        text="; ".join([row["seen"], *entries_text(entries, drawn.run.index)]),
        moments=moments,
        nodes=tuple(sorted(nodes)),
        picture=None,
        of_nodes=row["name"] in OF_NODES,
        lines=drawn.alarm_lines if alarms and alarms.patterns else [],
        counted=max(len(observed), (about.count if about else 0) or answers),
        recorded=answers,
        stretches=len(observed) if any(observation.until is not None for observation in observed) else 0,
        what=_COUNTED.get(type(about), "moments"),
        unlisted=tuple(sorted(nodes - dated)) if observed else (),
    )


def _differences(drawn: Drawn, about: ReplicasDiffer, observed: Sequence[Observation]) -> list[Observation]:
    """Choose the differences that matter: the first, the last, and those nearest to the effect.

    The effect is the first answer that contradicts others.  A difference is seen once its last side was reported.
    """
    sides: dict[int, dict[str, float]] = {}
    rows: dict[int, list[Observation]] = {}
    for moment, observation in zip(about.moments, observed, strict=True):
        digests = sides.setdefault(moment.index, {})
        digests[moment.digest] = min(observation.at, digests.get(moment.digest, observation.at))
        rows.setdefault(moment.index, []).append(observation)
    times = {index: max(digests.values()) for index, digests in sides.items()}
    order = sorted(times, key=lambda index: times[index])
    effect = min((case.example.completed_at / 1e9 for case in examples_of(drawn.run)), default=0.0)
    near = sorted(order, key=lambda index: abs(times[index] - effect))
    chosen: dict[int, None] = {}
    for index in dict.fromkeys([*order[:1], *order[-1:], *near]):
        if chosen and sum(len(rows[entry]) for entry in (*chosen, index)) > MAX_MOMENTS:
            break
        chosen[index] = None
    return sorted(observation for index in chosen for observation in rows[index])


def _listed(observed: Sequence[Observation]) -> list[Observation]:
    """Choose the first observation of each node, then the earliest of the others; at most :data:`MAX_MOMENTS`."""
    by_time = sorted(range(len(observed)), key=lambda place: observed[place].at)
    first = set({observed[place].node: place for place in reversed(by_time)}.values())
    chosen = sorted(by_time, key=lambda place: place not in first)[:MAX_MOMENTS]
    return [observed[place] for place in sorted(chosen)]


#: Noun for the counted moments of each type of finding; otherwise "moments".
_COUNTED: Final[Mapping[type, str]] = {
    EntriesDeleted: "falls of a log",
    CommitBeyondLog: "answers",
    LeaderLacksCommitted: "answers",
}
#: Types of findings that last while a node's answers show them -> test whether a later answer still does.
_STANDS: Final[Mapping[type, Stands]] = {CommitBeyondLog: _still_beyond, LeaderLacksCommitted: _leads_short}


def _leaders(drawn: Drawn, about: TwoLeaders) -> list[Observation]:
    """Return the nodes that called themselves leader in terms with several leaders, and since what time."""
    observations: list[Observation] = []
    for term, nodes in about.terms.items():
        for timeline in drawn.timelines:
            mine = [s for s in node_timeline.stretches(timeline) if s.role == "leader" and s.term == term]
            if timeline.node in nodes and mine:
                text = f"led in term {term} until {mine[-1].end:.2f} s"
                observations.append(Observation(mine[0].start, timeline.node, text))
    return sorted(observations)


def _moment(drawn: Drawn, observation: Observation) -> Moment:
    seconds, node, text = observation.at, observation.node, observation.text
    run, leader = drawn.run, node_timeline.leader_at(drawn.timelines, seconds)
    return Moment(
        seconds=seconds,
        node=node,
        text=text,
        leader=leader,
        term=node_timeline.term_at(drawn.timelines, seconds),
        faults=[window for window in drawn.windows if window.stands(seconds, seconds)],
        healed=healed_before(seconds, drawn.windows),
        logged=run.notes.attempt(
            "log excerpts",
            lambda: node_logs.around(
                run.recording, run.started, (seconds, seconds), [node, *([leader] if leader else [])], ROOM_S, 24
            ),
            None,
        ),
    )
