"""Where to look next: the section with the evidence of the worst break, and what to read there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from history import node_logs
from history.records.check_records import check_records
from history.records.finding import BeyondLog, Fall, NodeMoment, Severity, ShortLeader, ShortLogs, first_of
from history.records.text import and_listed
from reports.analysis.findings import Drawn, around
from reports.analysis.invariant_violations import ROOM_S
from reports.analysis.lagging_nodes import BEFORE_S, RECOVERY_S
from reports.analysis.log_falls import LogFall
from reports.analysis.node_timeline import SILENT, have_indexes, have_roles, leader_at
from reports.story.breaks import Break, Clue
from reports.story.repeated_lines import repeated_text
from reports.story.replicas_behind import reason_of
from reports.style.format import number

#: A moment of a check, with its section.
Dated: TypeAlias = tuple[str, NodeMoment]

#: Severities that show in the ends of the logs.
_OF_LOGS: Final[tuple[Severity, ...]] = ("data lost", "missing on nodes", "log truncated")
#: Contents of each chart, by its place.
_SHOWN: Final = {
    "chart-progress": "replica progress",
    "chart-leaders": "leaders and terms",
    "chart-rate": "completions",
}
_COUNTEREXAMPLE: Final = (
    "Read the counterexample: operations whose answers cannot all be right, the contradiction in red"
)


def dating_evidence(drawn: Drawn, moments: Sequence[Dated], short: Mapping[str, int]) -> Clue | None:
    """Find the event that dates the loss of entries from logs: the first short log, or the leader.

    The leader is chosen if its own log lacks entries at the end (``short``) and it leads.  ``moments`` are in order
    of time, each with its section.
    """
    chosen = leads_without(drawn, moments, short) or next(iter(moments), None)
    return None if chosen is None else _short_log(drawn, *chosen)


def lost_evidence(drawn: Drawn, place: str, fall: LogFall) -> Clue:
    """Point to the first log that lost entries for good."""
    ended = f"ended at {drawn.run.index(fall.log_end)}" if fall.log_end >= 0 else "was empty"
    held = f"and had held the lost entries until {fall.held:.1f} s"
    return Clue(place, f"Look at {fall.node}, whose log {ended} by {fall.at:.1f} s, {held}", fall.node, fall.at)


def last_leadership(moments: Sequence[Dated]) -> tuple[str, ShortLeader] | None:
    """Return the first moment of the last leadership that lacked committed entries; None if there was none."""
    began: dict[tuple[str, int], tuple[str, ShortLeader]] = {}
    for place, moment in moments:
        if isinstance(moment, ShortLeader):
            began.setdefault((moment.node, moment.term), (place, moment))
    return list(began.values())[-1] if began else None


def seen_leading(drawn: Drawn, moment: ShortLeader) -> tuple[float, int]:
    """Return when a leader without committed entries was first seen (s), and where its log ended.

    The check needs two successive answers of the leader and dates what they prove by the second.
    """
    timeline = next((timeline for timeline in drawn.timelines if timeline.node == moment.node), None)
    at, end = moment.time / 1e9, moment.log_end
    if timeline is None:
        return at, end
    before = np.flatnonzero((timeline.time < at) & (timeline.role != SILENT) & (timeline.log_end >= 0))
    if len(before) and (first := int(timeline.log_end[before[-1]])) < moment.committed:
        return float(timeline.time[before[-1]]), first
    return at, end


def leads_without(drawn: Drawn, moments: Sequence[Dated], short: Mapping[str, int]) -> tuple[str, ShortLeader] | None:
    """Return the last leadership that lacked committed entries, if that node leads at the end and still lacks some."""
    last = last_leadership(moments)
    leads = leader_at(drawn.timelines, drawn.run.end / 1e9)
    return last if last is not None and last[1].node == leads and leads in short else None


def _short_log(drawn: Drawn, place: str, moment: NodeMoment) -> Clue:
    """Describe a moment at which a node's log was too short: how far it reached, and how far it should have."""
    write, node, at = drawn.run.index, moment.node, moment.time / 1e9
    if isinstance(moment, BeyondLog):
        if moment.above == "applied":
            held = f"which had applied {write(moment.index)} by {at:.1f} s and knew {write(moment.bound)} as committed"
            return Clue(place, f"Look at {node}, {held}", node, at)
        end, committed = moment.bound, moment.index
    else:
        assert isinstance(moment, Fall | ShortLeader)
        end, committed = moment.log_end, moment.committed
    if isinstance(moment, ShortLeader):
        at, end = seen_leading(drawn, moment)
    ended = f"ended at {write(end)}" if end >= 0 else "was empty"
    though = f"though {write(committed)} had been committed"
    if isinstance(moment, ShortLeader):
        return Clue(place, f"Look at {node}, which led at {at:.1f} s with a log that {ended}, {though}", node, at)
    return Clue(place, f"Look at {node}, whose log {ended} by {at:.1f} s, {though} there", node, at)


class FirstLook(NamedTuple):
    """The first thing to look at; ``at`` (s) is the time of its log lines, ``charts`` what to show in the charts."""

    evidence: Clue
    at: float | None = None
    charts: Charts | None = None


class Charts(NamedTuple):
    """The seconds to show in the charts, the chart to go to, and the index to show (empty: leave it)."""

    start: float
    end: float
    chart: str
    column: str = ""


def next_step(drawn: Drawn, worst: Break) -> FirstLook:
    """Choose one thing to look at first: log lines if there are any, else a counterexample, a chart or a section."""

    def here(text: str) -> Clue:
        return Clue(worst.place, text)

    if (clue := worst.evidence or _dating(drawn, worst)) is not None:
        if clue.at is None or _logged(drawn, (clue.node,), clue.at, clue.place):
            return FirstLook(clue, clue.at)
        charts = _charts(drawn, worst, clue.at)
        text = clue.text.replace("Look at ", "Look in the charts at ", 1) if charts else clue.text
        return FirstLook(clue._replace(text=text), charts=charts)
    if worst.is_drawn:
        return FirstLook(here(_COUNTEREXAMPLE))
    if worst.starts:
        start = worst.starts[0]
        why = reason_of(start).removesuffix(".")
        text = f"Read the last lines of the {start.file} of {start.node}, which does not start again: {why}"
        return FirstLook(here(text), start.at)
    section = f"the section about {worst.section or and_listed(worst.checks)}"
    if worst.severity == "alarm" and drawn.alarm_lines:
        line = drawn.alarm_lines[0]
        return FirstLook(
            here(f"Read line {number(line.number)} of {line.node}'s {line.file}, in {section}"), line.seconds
        )
    if worst.severity in ("no commits", "not served", "replica behind"):
        repeated = drawn.run.notes.attempt("repeated lines", lambda: repeated_text(drawn, worst.nodes), None)
        if repeated is not None:
            return FirstLook(here(f"Read the line that {repeated[0]}"), repeated[1])
    return _in_the_logs(drawn, worst, section)


def _of_logs(worst: Break) -> bool:
    """Return whether a break is about entries lost from logs, not about elements that clients added."""
    return worst.severity in _OF_LOGS and worst.place.startswith("invariant")


def _dating(drawn: Drawn, worst: Break) -> Clue | None:
    """Return the record of the log that lost entries first; None if the break is of another kind."""
    if not _of_logs(worst) or worst.onset is None:
        return None
    logs = (
        first_of(ShortLogs, check) for check in check_records(drawn.run.results) if check.get("name") == worst.section
    )
    moments = next((log.moments for log in logs if log), ())
    first = next((moment for moment in moments if moment.time / 1e9 == worst.onset), None)
    return None if first is None else _short_log(drawn, worst.place, first)


def _charts(drawn: Drawn, worst: Break, moment: float) -> Charts | None:
    """Choose the chart that shows what nodes answered around a moment; None if there is none.

    No chart shows the contents of nodes.
    """
    if "replicas-agree" in worst.checks:
        return None
    if have_indexes(drawn.timelines) and (_of_logs(worst) or worst.place == "recovery"):
        return Charts(*around(drawn, moment), "chart-progress", "log_end" if _of_logs(worst) else "applied")
    if have_roles(drawn.timelines):
        return Charts(*around(drawn, moment), "chart-leaders")
    return Charts(*around(drawn, moment), "chart-rate") if worst.place == "recovery" else None


def _in_the_logs(drawn: Drawn, worst: Break, section: str) -> FirstLook:
    """Point to the log lines of the nodes around the onset, or to the charts if there are none."""

    def here(text: str) -> Clue:
        return Clue(worst.place, text)

    if worst.onset is None:
        return FirstLook(here(f"Look at {section}"))
    named = ", ".join(worst.nodes)
    if not _logged(drawn, worst.nodes or drawn.run.nodes, worst.onset, worst.place):
        held = bool(node_logs.log_files(drawn.run.files))
        if held and (undated := node_logs.without_dates(drawn.run.recording, drawn.run.started, worst.nodes)):
            node, name = undated
            return FirstLook(Clue("logs", f"Read the end of {node}'s {name}, whose lines have no dates"))
        charts = _charts(drawn, worst, worst.onset)
        if charts is None:
            return FirstLook(here(f"Look at {section}"))
        lacks = f"no log of {named or 'a node'} has a line of that time" if held else "this run has no node logs"
        first = f", {named} first" if named else ""
        text = f"Look at {_SHOWN[charts.chart]} in the charts around {worst.onset:.1f} s{first}; {lacks}"
        return FirstLook(here(text), charts=charts)
    return FirstLook(
        here(f"Look at what the logs{f' of {named}' if named else ''} say around {worst.onset:.1f} s"), worst.onset
    )


def _logged(drawn: Drawn, nodes: Sequence[str], moment: float, place: str) -> bool:
    """Return whether the nodes logged any dated line where the section's log excerpt would show it."""
    room = (BEFORE_S, RECOVERY_S) if place == "recovery" else ROOM_S
    run = drawn.run
    return run.notes.attempt(
        "log lines",
        lambda: bool(node_logs.around(run.recording, run.started, (moment, moment), nodes, room, 8).lines),
        True,  # noqa: FBT003
    )
