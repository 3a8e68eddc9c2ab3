"""The page's first sentences: what broke, the worst first, since when and in or after which fault, and what came then.

Everything is taken from the records: checks, probes, operations, faults.  The order is that of severity: data lost,
answers that contradict each other, nothing committed any more, a replica behind, an alarm in a log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from history.records.doubts import is_least, violations_text
from history.records.probes import last_commit
from history.records.violations import (
    LINEARIZABLE,
    OF_KEYS,
    OUTAGE_S,
    SEVERITIES,
    SHORT_LOGS,
    Severity,
    checks_looking,
    counts_of,
    is_outage,
    losses_of,
    severity_of,
)
from reports.analysis.failed_starts import FailedStart
from reports.analysis.faults import when
from reports.analysis.findings import (
    RECOVERY_S,
    Drawn,
    Violation,
    checks_of,
    examples_of,
    shown_as_counterexamples,
)
from reports.analysis.invariant_violations import ROOM_S
from reports.analysis.lagging_nodes import AGE_S
from reports.analysis.node_timeline import SILENT, NodeTimeline, leader_at, silent_since
from reports.load import logs
from reports.story.aftermath import after_onset, last_seen
from reports.story.elsewhere import held_elsewhere
from reports.story.lost_elements import lost_elements
from reports.story.repeated_lines import repeated_at_the_end, stuck_text
from reports.story.replicas_behind import behind_text, reason_of, starts_text
from reports.style.format import number, one_line


@dataclass(frozen=True, slots=True)
class Break:
    """One thing that broke: the ``checks`` that failed, the section about it, since when (seconds, None: unknown)."""

    severity: Severity
    text: str
    onset: float | None
    place: str
    checks: tuple[str, ...]
    nodes: tuple[str, ...] = ()
    #: Those of its nodes that do not start again, of which the first is looked at next.
    starts: tuple[FailedStart, ...] = ()
    #: The nodes alone on which data is lost; none where that is not known, or all lack it.
    lost_on: tuple[str, ...] = ()
    #: The check whose section its place is, where several failed for one reason; empty: all of them.
    section: str = ""

    @property
    def title(self) -> str:
        """The severity in words, and the place."""
        return f"{self.severity} on {', '.join(self.lost_on)}" if self.lost_on else self.severity

    @property
    def is_drawn(self) -> bool:
        """Whether its place is a counterexample."""
        return self.place.startswith(("counterexample", "violation-"))


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The breaks, the worst first; how clients and leaders fared from the first onset on; where to look next.

    ``place`` is the section that the next ``step`` is about, and ``at`` the moment (s) whose log lines it names there.
    """

    breaks: tuple[Break, ...]
    after: str
    step: str
    place: str
    at: float | None = None


def diagnosis_of(drawn: Drawn) -> Diagnosis | None:
    """Say what broke in a run in which a check failed; None for any other."""
    looking = checks_looking(drawn.run.plan)  # what a planted bug is found by comes first

    def order(one: Break) -> tuple[bool, int, bool, float, int]:
        known, wider = one.onset is not None, -len(one.lost_on)
        return looking.isdisjoint(one.checks), SEVERITIES.index(one.severity), not known, one.onset or 0.0, wider

    breaks = sorted(_breaks(drawn), key=order)
    if not breaks:
        return None
    onset = min((one.onset for one in breaks if one.onset is not None), default=None)
    after = "" if onset is None else after_onset(drawn, onset)
    # What a planted bug does not explain is what a reader does not know yet.
    candidates = [one for one in breaks if looking.isdisjoint(one.checks)] or breaks
    # Logs that are whole again are less to look at than what lasts.
    worst = next((one for one in candidates if one.severity != "log truncated"), candidates[0])
    step, at = _step(drawn, worst)
    return Diagnosis(tuple(breaks), after, step, worst.place, at)


# -- what broke -------------------------------------------------------------------------------------------------------


def _breaks(drawn: Drawn) -> Iterator[Break]:
    details = {str(check.get("name")): check.get("details") for check in drawn.run.results.get("checks", ())}
    sections, drawn_ones = 0, shown_as_counterexamples(drawn.run)
    shortened: list[tuple[str, str, Mapping[str, Any]]] = []
    for row in checks_of(drawn.run):
        if row["state"] != "invalid":
            continue
        name, found = row["name"], details.get(row["name"])
        about: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
        if name in LINEARIZABLE or name in drawn_ones:
            yield _contradiction(drawn, OF_KEYS if name in LINEARIZABLE else name, row, about)
        elif name == "recovery":
            yield _no_recovery(drawn, row, about)
        else:
            sections += 1
            place = f"invariant-{sections}"
            if about.get("kind") in SHORT_LOGS and about.get("moments"):
                shortened.append((name, place, about))
            else:
                yield _other(drawn, row, about, place)
    if shortened:
        yield _deleted(drawn, shortened)


def _contradiction(drawn: Drawn, check: str, row: Mapping[str, Any], about: Mapping[str, Any]) -> Break:
    """The answers that contradict each other, by the first of the worst counterexamples that are drawn.

    It is dated by the first answer that contradicts others, whichever counterexample that is of.
    """
    mine = [(place, one) for place, one in enumerate(drawn.violations, 1) if one.check == check]
    if losses := losses_of({"details": about}):
        lost = lost_elements(losses, drawn.windows)
        place = _drawn_at(mine[0][0]) if mine else "counterexample" if drawn.violations else "coverage"
        return Break("data lost", f"{lost.text}.", lost.onset, place, (row["name"],), lost_on=lost.lost_on)
    if not mine:
        # Another check's counterexample of that kind is drawn; this one's own words may say how much is lost.
        said = next((str(one["sentence"]) for one in about.get("counterexamples") or ()), row["seen"])
        place = "counterexample" if drawn.violations else "coverage"
        return Break(severity_of(check, str(about.get("kind"))), said, None, place, (row["name"],))

    def severity(violation: Violation) -> Severity:
        return severity_of(check, violation.example.kind)

    number_drawn, first = min(mine, key=lambda pair: SEVERITIES.index(severity(pair[1])))
    count = counts_of(drawn.run.results)[check]
    onset = min(one.example.completed_at for one in examples_of(drawn.run) if one.check == check) / 1e9
    answered = when(onset, drawn.windows)
    some = violations_text(count, least=check == OF_KEYS and is_least(drawn.run.results))
    more = f"{some}, the first answered at" if some != "1 violation" else "answered at"
    elsewhere = held_elsewhere(drawn, first)
    text = f"{first.example.kind}: {first.example.sentence.rstrip('.')} ({more} {answered}).{elsewhere.text}"
    place = _drawn_at(number_drawn)
    return Break(severity(first), text, onset, place, (row["name"],), lost_on=elsewhere.lost_on)


def _drawn_at(place: int) -> str:
    """The place of the counterexample of this number: the first stands open at the head of its section."""
    return "counterexample" if place == 1 else f"violation-{place}"


def _deleted(drawn: Drawn, found: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Break:
    """Committed entries that went from logs: whether they are there again at the end, and since when they are not.

    What a probe shows happened by then, at some moment since the one before.
    """
    seen = [(place, moment) for _, place, about in found for moment in about["moments"]]
    moments = sorted(seen, key=lambda pair: pair[1]["time"])
    (place, first), checks = moments[0], tuple(name for name, *_ in found)
    struck = sorted({str(moment["node"]) for _, moment in moments})
    on = f", seen on {', '.join(struck)}" if len(struck) > 1 else ""
    at, node = first["time"] / 1e9, str(first["node"])
    began = f"first on {node} by {when(at, drawn.windows)}{on}"
    severity = min((severity_of(name, str(about["kind"]), about) for name, _, about in found), key=SEVERITIES.index)
    short, highest = _short_at_the_end(drawn.timelines)
    write = drawn.run.index
    if severity == "log truncated":
        text = f"Committed entries were deleted from logs; {began}; at the end every log reaches as far again."
    elif not short:
        text = f"Committed entries were deleted from logs; {began}; {_again_by(found)}."
    elif len(short) < len(drawn.timelines):
        ends = ", ".join(f"{name} at {write(held)}" for name, held in sorted(short.items()))
        text = (
            f"Committed entries were deleted from logs; {began}; of {write(highest)} that were committed, at the end "
            f"logs end earlier on {ends}."
        )
    else:
        (at, holder), led = _last_held(drawn.timelines, highest), ""
        held = f"The last log that held them was {holder}'s, until {at:.1f} s."
        if leading := [pair for pair in moments if "told_by" in pair[1]]:
            last = leading[-1][1]
            place, leader = next(pair for pair in leading if _leadership(pair[1]) == _leadership(last))
            at, node = leader["time"] / 1e9, str(leader["node"])
            led = f" {node} led with a log that ended at {write(leader['log_end'])}, by {when(at, drawn.windows)}."
        text = (
            f"Committed data lost: entries up to {write(highest)} were committed, and at the end no log goes beyond "
            f"{write(max(short.values()))}.{led} {held} Committed entries went from a log {began}."
        )
    section = next(name for name, own, _ in found if own == place)
    return Break(severity, text, at, place, checks, (node,), section=section)


def _leadership(moment: Mapping[str, Any]) -> tuple[str, int]:
    return str(moment["node"]), int(moment["term"])


def _again_by(found: Sequence[tuple[str, str, Mapping[str, Any]]]) -> str:
    """Say why entries count as lost though the last answers show no log without them."""
    if any("held_again" in about for _, _, about in found):
        return "some log was not seen to hold them again"
    return "whether logs held them again at the end was not judged then: judge the run again"


def _last_held(timelines: Sequence[NodeTimeline], index: int) -> tuple[float, str]:
    """The last time that a log was seen to reach this index (s), and its node."""
    found = []
    for one in timelines:
        rows = np.flatnonzero((one.role != SILENT) & (one.log_end >= index))
        found += [(float(one.time[rows[-1]]), one.node)] if len(rows) else []
    return max(found, default=(0.0, timelines[0].node))


def _short_at_the_end(timelines: Sequence[NodeTimeline]) -> tuple[dict[str, int], int]:
    """The ends of logs that lack, by the last answers, what any node had committed a second before; and that index."""
    short: dict[str, int] = {}
    highest = -1
    for one in timelines:
        rows = np.flatnonzero((one.role != SILENT) & (one.log_end >= 0))
        if not len(rows):
            continue
        before = float(one.time[rows[-1]]) - AGE_S
        committed = max(int(other.committed[other.time <= before].max(initial=-1)) for other in timelines)
        highest = max(highest, committed)
        if (held := int(one.log_end[rows[-1]])) < committed:
            short[one.node] = held
    return short, highest


def _no_recovery(drawn: Drawn, row: Mapping[str, Any], about: Mapping[str, Any]) -> Break:
    end = drawn.run.end / 1e9
    moment = last_commit(drawn.run.probes)
    last = None if moment is None else moment / 1e9
    answered = [timeline.node for timeline in drawn.timelines if silent_since(timeline, end) is None]
    named = set(map(str, about.get("behind") or ()))
    behind = [timeline for timeline in drawn.timelines if timeline.node in named]
    nodes = tuple(timeline.node for timeline in behind)
    starts = tuple(one for one in drawn.failed_starts if one.lines and one.node in named)
    outage = is_outage({**about, **last_seen(drawn, last)})
    if last is not None and outage:
        leader = leader_at(drawn.timelines, end)
        led = f"{leader} led" if leader else "no node led"
        running = f"{len(answered)} of {len(drawn.timelines)} nodes answered at the end, where {led}"
        text = (
            f"Nothing was committed from {when(last, drawn.windows)}, to the end ({end - last:.1f} s later); {running}."
        )
        if starts:
            text += f" {starts_text(starts, drawn.windows, end)}."
        return Break("no commits", text, last, "recovery", ("recovery",), nodes, starts)
    if not behind:
        return Break("no commits" if outage else "replica behind", row["seen"], None, "recovery", ("recovery",))
    text, onset = behind_text(drawn, behind)
    if onset is not None:
        text += drawn.run.notes.attempt("repeated lines", lambda: stuck_text(drawn, nodes, onset), "")
    return Break("replica behind", text, onset, "recovery", ("recovery",), nodes, starts)


def _other(drawn: Drawn, row: Mapping[str, Any], about: Mapping[str, Any], place: str) -> Break:
    """Any other failed check in its own words, dated by its own evidence: where it says so, from ``since`` on (ns)."""
    moments = [moment for moment in about.get("moments") or () if isinstance(moment, Mapping) and "time" in moment]
    since = about.get("since")
    if isinstance(since, int):
        moments = [moment for moment in moments if moment["time"] >= since]
    first = min(moments, key=lambda moment: moment["time"], default=None)
    onset = None if first is None else first["time"] / 1e9
    nodes = () if first is None else (str(first.get("node", "")),)
    logged = drawn.alarm_lines if about.get("patterns") else []
    if onset is None and logged:
        onset, nodes = logged[0].seconds, (logged[0].node,)
    dated = "" if onset is None else f"; first seen at {when(onset, drawn.windows)}"
    severity = severity_of(row["name"], str(about.get("kind") or ""))
    if onset is None and logged:
        dated = f"; line {number(logged[0].number)} of {logged[0].node}'s {logged[0].file}, which has no dates"
    return Break(severity, f"{row['name']}: {row['seen']}{dated}.", onset, place, (row["name"],), nodes)


# -- what next --------------------------------------------------------------------------------------------------------


def _step(drawn: Drawn, worst: Break) -> tuple[str, float | None]:
    """One thing to look at first, and the moment (s) whose log lines it is about, if it is about any."""
    if worst.is_drawn:
        return "Read the counterexample: operations that cannot all be true, in red what contradicts the others", None
    if worst.starts:
        one = worst.starts[0]
        why = reason_of(one).removesuffix(".")
        return f"Read the last lines of the {one.file} of {one.node}, which does not start again: {why}", one.at
    if worst.severity in ("no commits", "replica behind"):
        repeated = drawn.run.notes.attempt("repeated lines", lambda: repeated_at_the_end(drawn, worst.nodes), None)
        if repeated is not None:
            often = f"{number(repeated.times)} times in the last {OUTAGE_S:.0f} s"
            return f"{repeated.node} logged this {often}: {one_line(repeated.text, 160)}", worst.onset
    section = f"the section about {worst.section or ' and '.join(worst.checks)}"
    if worst.onset is None:
        return f"Look at {section}", None
    named = ", ".join(worst.nodes)
    if worst.nodes and not drawn.run.notes.attempt("log lines", lambda: _logged(drawn, worst), True):  # noqa: FBT003
        if not logs.log_files(drawn.run.files):
            return f"Look at what {named} answered, in {section}: this run holds no logs of nodes", None
        return f"Look at what the nodes answered, in {section}: no log of {named} has a line of that time", None
    return f"Look at what the logs{f' of {named}' if named else ''} say around {worst.onset:.1f} s", worst.onset


def _logged(drawn: Drawn, worst: Break) -> bool:
    """Whether the nodes that are named logged anything with a date where the fold of the section would show it."""
    onset, room = worst.onset or 0.0, (0.5, RECOVERY_S) if worst.place == "recovery" else ROOM_S
    found = logs.around(drawn.run.files, drawn.run.started, (onset, onset), worst.nodes, room, 8)
    return bool(found.lines)
