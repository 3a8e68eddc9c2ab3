"""The page's first sentences: what broke, worst first, when it began, under or after which fault, and what followed.

Everything comes from the records: checks, probes, operations, faults.  The order is that of severity: data lost,
contradictory answers, no more commits, clients not served, a replica behind, an alarm in a log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from history import Counterexample
from history.records.caveats import is_least, violations_text
from history.records.check_records import check_records
from history.records.finding import (
    LOST,
    SEVERITIES,
    Alarms,
    Comeback,
    EntryFate,
    NodeMoment,
    OfNodes,
    Severity,
    ShortLogs,
    defect_behind,
    findings_in,
    first_of,
)
from history.records.text import and_listed
from history.records.verdicts import WITHOUT_KIND
from history.records.violations import (
    LINEARIZABLE,
    OF_KEYS,
    checks_looking,
    counts_of,
    found_in,
    losses_of,
    violations_of,
)
from reports.analysis.faults import brief_fault, since_fault, when
from reports.analysis.findings import (
    Drawn,
    ViolationContext,
    examples_of,
    shown_as_counterexamples,
)
from reports.analysis.log_falls import LogFall, leading_since, lost_for_good, short_at_the_end
from reports.analysis.node_timeline import last_statuses
from reports.load.check_rows import checks_of
from reports.story.aftermath import after_onset
from reports.story.breaks import Break, Clause, Clue
from reports.story.events import together
from reports.story.headline import headline_of
from reports.story.lost_elements import alarm_before, history_of, lost_elements
from reports.story.no_recovery import no_recovery
from reports.story.other_reads import compare_other_reads
from reports.story.where_next import Charts, dating_evidence, leads_without, lost_evidence, next_step, seen_leading
from reports.style.format import number


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The breaks, worst first; how clients and leaders fared since the first onset; where to look next.

    ``place`` is the section of the next ``step``. ``at`` is the time (s) of the log lines that the step names
    there, or ``charts`` what it names in the charts.
    """

    breaks: tuple[Break, ...]
    after: str
    step: str
    place: str
    at: float | None = None
    charts: Charts | None = None


def diagnosis_of(drawn: Drawn) -> Diagnosis | None:
    """Describe what broke in a run with a failed check; None for any other run."""
    looking = checks_looking(drawn.run.plan)  # checks that reveal a planted bug come first

    def order(break_: Break) -> tuple[bool, int, bool, float, int, bool]:
        known, wider = break_.onset is not None, -len(break_.lost_on)
        severity = SEVERITIES.index(break_.severity)
        return (
            looking.isdisjoint(break_.checks),
            severity,
            not known,
            break_.onset or 0.0,
            wider,
            break_.evidence is None,
        )

    kinds: dict[str, set[str]] = {}
    for violation in violations_of(drawn.run.results):
        kinds.setdefault(violation.check, set()).add(violation.kind)
    annotated = [
        replace(
            break_,
            intended=not looking.isdisjoint(break_.checks),
            defect=break_.defect
            or defect_behind(drawn.run.results, set().union(*(kinds[name] for name in break_.checks))),
        )
        for break_ in _breaks(drawn)
    ]
    breaks = _with_healthy_nodes(drawn, together(drawn, sorted(annotated, key=order), looking))
    if not breaks:
        return None
    onset = min((break_.onset for break_ in breaks if break_.onset is not None), default=None)
    after = "" if onset is None else after_onset(drawn, onset)
    # The reader already knows about the planted bug, so prefer what it does not explain.
    candidates = [break_ for break_ in breaks if looking.isdisjoint(break_.checks)] or breaks
    evidence, at, charts = next_step(drawn, candidates[0])
    step = evidence.text
    if candidates[0] is not breaks[0]:
        step = f"For “{candidates[0].title}”, {step[:1].lower()}{step[1:]}"
    return Diagnosis(tuple(breaks), after, step, evidence.place, at, charts)


def _with_healthy_nodes(drawn: Drawn, breaks: Sequence[Break]) -> list[Break]:
    """Add to an alarm which nodes logged it but lack nothing, if others are known to lack something."""
    lacking = {node for break_ in breaks for node in break_.lost_on}
    alarms = found_in(drawn.run.results, Alarms)
    logged = {node for pattern in alarms.patterns for node in pattern.nodes} if alarms else set()
    extended = []
    for break_ in breaks:
        healthy = sorted(logged - lacking) if break_.severity == "alarm" and lacking else []
        sentence = f"{and_listed(healthy)} logged it too, and no check found that anything is missing there."
        extended.append(replace(break_, detail=f"{break_.detail} {sentence}".strip()) if healthy else break_)
    return extended


# -- what broke -------------------------------------------------------------------------------------------------------


def _breaks(drawn: Drawn) -> Iterator[Break]:
    records = {str(check.get("name") or ""): check for check in check_records(drawn.run.results)}
    sections, drawn_ones = 0, shown_as_counterexamples(drawn.run)
    shortened: list[tuple[str, ShortLogs]] = []
    for row in checks_of(drawn.run):
        if row["state"] != "invalid":
            continue
        name, record = row["name"], records[row["name"]]
        if name in LINEARIZABLE or name in drawn_ones:
            yield _contradiction(drawn, OF_KEYS if name in LINEARIZABLE else name, row)
        elif name == "recovery" and (back := first_of(Comeback, record)) is not None:
            yield no_recovery(drawn, row, back)
        else:
            sections += 1
            place = f"invariant-{sections}"
            if (about := first_of(ShortLogs, record)) is not None and about.moments:
                shortened.append((place, about))
            else:
                yield _other(drawn, row, record, place)
    if shortened:
        yield _deleted(drawn, shortened)


def _contradiction(drawn: Drawn, check: str, row: Mapping[str, Any]) -> Break:
    """Describe answers that contradict each other, using the first of the worst counterexamples drawn.

    The onset is the first contradicting answer of any counterexample.
    """
    mine = [(place, violation) for place, violation in enumerate(drawn.violations, 1) if violation.check == check]
    record = next(candidate for candidate in check_records(drawn.run.results) if candidate.get("name") == row["name"])
    severities = {finding.kind: finding.severity for finding in findings_in(record)}
    if losses := losses_of(record):
        lost = lost_elements(drawn, losses)
        by_first = [(abs(violation.since - lost.onset), place) for place, violation in _answered_by(drawn, lost.first)]
        place = _drawn_at(min(by_first)[1]) if by_first else "counterexample" if drawn.violations else "coverage"
        first_of_all = " first" if len(losses) > 1 else ""
        step = Clue(place, f"Read the counterexample of {lost.first}, whose reads lacked elements{first_of_all}")
        evidence = step if by_first else None
        added = drawn.run.notes.attempt("missing elements", lambda: history_of(drawn, losses), "")
        return Break(
            min(severities.values(), key=SEVERITIES.index),
            lost.text,
            lost.onset,
            place,
            (row["name"],),
            lost_on=lost.lost_on,
            clauses=lost.clauses,
            detail=" ".join(filter(None, (lost.held, added, alarm_before(drawn, lost)))),
            evidence=evidence,
        )
    if not mine:
        # Only another check's counterexample is drawn; this check's own words may say how much is lost.
        example = next(iter(record.get("counterexamples") or ()), None)
        place = "counterexample" if drawn.violations else "coverage"
        lost_on = compare_other_reads(drawn, Counterexample.from_json(example)).lost_on if example else ()
        sentence = str(example["sentence"]) if example else row["seen"]
        worst: Severity = min(severities.values(), key=SEVERITIES.index, default="inconsistent")
        return Break(_of_nodes(worst, lost_on), sentence, None, place, (row["name"],), lost_on=lost_on)

    def severity(kind: str) -> Severity:
        # Whether only some nodes lack it is decided by their reads, below.
        level = severities.get(kind, "inconsistent")
        return "data lost" if level == "missing on nodes" and kind in LOST else level

    def rank(drawn_one: tuple[int, ViolationContext]) -> tuple[int, bool]:
        """Order by severity, and kinds that say what broke before those that only say that no order fits."""
        kind = drawn_one[1].example.kind
        return SEVERITIES.index(severity(kind)), kind == WITHOUT_KIND

    number_drawn, first = min(mine, key=rank)
    count = counts_of(drawn.run.results)[check]
    onset = min(case.example.completed_at for case in examples_of(drawn.run) if case.check == check) / 1e9
    some = violations_text(count, least=check == OF_KEYS and is_least(drawn.run.results))
    which = "this the first" if first.since == onset else f"the first answered at {when(onset, drawn.windows)}"
    text, clauses = headline_of(drawn, first, onset)
    others = compare_other_reads(drawn, first.example)
    detail = " ".join(filter(None, (f"{first.example.sentence.rstrip('.')}.{others.text}", first.unapplied)))
    return Break(
        _of_nodes(severity(first.example.kind), others.lost_on),
        text,
        onset,
        _drawn_at(number_drawn),
        (row["name"],),
        lost_on=others.lost_on,
        answers=frozenset(operation.invoke_index for operation in first.example.operations),
        generic=first.example.kind == WITHOUT_KIND,
        defect=defect_behind(drawn.run.results, {first.example.kind}),
        clauses=clauses,
        detail=detail if some == "1 violation" else f"{detail} {some[:1].upper()}{some[1:]}, {which}.",
    )


def _of_nodes(severity: Severity, lost_on: Sequence[str]) -> Severity:
    """Lower the severity if only some nodes lack the data, because it is not lost then."""
    return "missing on nodes" if lost_on else severity


def _answered_by(drawn: Drawn, node: str) -> list[tuple[int, ViolationContext]]:
    """Return the drawn counterexamples, with their numbers, whose last answer came from this node."""
    return [(place, violation) for place, violation in enumerate(drawn.violations, 1) if violation.answered_by == node]


def _drawn_at(place: int) -> str:
    """Return the place of a counterexample by its number; the first is at the head of its section."""
    return "counterexample" if place == 1 else f"violation-{place}"


def _deleted(drawn: Drawn, shortened: Sequence[tuple[str, ShortLogs]]) -> Break:
    """Describe committed entries that disappeared from logs, whether all logs lacked them, and which have them now.

    A fall that a probe shows happened at some moment since the node's previous probe.
    """
    pairs = [(place, moment) for place, about in shortened for moment in about.moments]
    moments = sorted(pairs, key=lambda pair: pair[1].time)
    (place, first), checks = moments[0], tuple(about.check for _, about in shortened)
    struck = sorted({moment.node for _, moment in moments})
    on = "all nodes" if len(struck) == len(drawn.timelines) else and_listed(struck)
    at, nodes = first.time / 1e9, sorted({other.node for _, other in moments if _at_once(other.time, first.time)})
    severity = min((about.severity for _, about in shortened), key=SEVERITIES.index)
    short, highest = short_at_the_end(drawn.timelines)
    known = [about.entries for _, about in shortened if about.entries]
    entries = min(known, key=lambda fate: SEVERITIES.index(fate.severity), default=None)
    write = drawn.run.index
    text = f"committed entries left {_logs_of(nodes)} by {at:.1f} s"
    clauses = [_since(drawn, at)]
    if len(struck) > len(nodes):
        clauses.append(Clause((f"; seen on {on}",), f"It was seen on {on}"))
    loss: list[LogFall] = []
    lost: tuple[int, int, float] | None = None
    if short and len(short) == len(drawn.timelines):
        lost = max(short.values()) + 1, highest, drawn.run.end / 1e9
    elif entries is not None and entries.fate == "lost":
        lost = entries.longest + 1, entries.index, entries.time / 1e9
    if lost is not None:
        lowest, last, gone = lost
        loss = lost_for_good(drawn.timelines, lowest, gone)
        # The first logs to lose them may have been shorter then than the longest of all when no log held them.
        whole = left = f"{write(lowest)}–{write(last)}"
        if loss:
            once = [fall for fall in loss if _at_once(fall.at * 1e9, loss[0].at * 1e9)]
            at, nodes = loss[0].at, sorted({fall.node for fall in once})
            left = _left_all(drawn, once, last)
            shown = [own for own, moment in moments if _shows(moment, loss[0])]
            place = next((own for own, about in shortened if about.check == "committed-kept" and own in shown), place)
        text = f"committed entries {left} left {_logs_of(nodes)} by {at:.1f} s"
        every = f"every log by {(loss[-1].at if loss else gone):.1f} s"
        these = "" if left == whole else f"{whole} "
        clauses = [
            _since(drawn, at),
            Clause((f", {these}{every}",), f"{f'Entries {whole}' if these else 'They'} left {every}"),
        ]
        detail = _course(drawn, loss, gone, whole)
        if first.time / 1e9 < at:
            detail += f" A log had lost committed entries before, first on {first.node} by "
            detail += f"{when(first.time / 1e9, drawn.windows)}, seen on {on}."
        detail += "" if short else " At the end logs are as long again, but with other entries."
    else:
        detail = f"{_still_held(entries, drawn)}." if entries else ""
        if (pair := leads_without(drawn, moments, short)) is not None:
            seen = seen_leading(drawn, pair[1])[0]
            led = f"{pair[1].node} led without some of them at"
            clauses.append(Clause((f"; {led} {seen:.1f} s",), f"{led} {when(seen, drawn.windows)}, and at the end"))
    clauses[1:1] = _led(drawn, at)
    lost_on = tuple(sorted(entries.short)) if entries is not None and severity == "missing on nodes" else ()
    section = next(about.check for own, about in shortened if own == place)
    dated = None
    if loss:
        dated = lost_evidence(drawn, place, loss[0])
    elif severity in ("data lost", "missing on nodes"):
        dated = dating_evidence(drawn, moments, short)
    return Break(
        severity,
        text,
        at,
        place,
        checks,
        tuple(nodes),
        lost_on=lost_on,
        section=section,
        detail=detail,
        evidence=dated,
        clauses=tuple(clauses),
    )


def _at_once(time: float, other: float) -> bool:
    """Return whether two moments (ns) read the same in a sentence."""
    return f"{time / 1e9:.1f}" == f"{other / 1e9:.1f}"


def _logs_of(nodes: Sequence[str]) -> str:
    return f"{nodes[0]}'s log" if len(nodes) == 1 else f"the logs of {and_listed(nodes)}"


def _since(drawn: Drawn, moment: float) -> Clause:
    """Relate a moment (s) to the last fault."""
    forms = (*since_fault(moment, drawn.windows), brief_fault(moment, drawn.windows))
    return Clause(forms, f"It was {forms[0][2:]}" if forms[0] else "", dates=True)


def _led(drawn: Drawn, moment: float) -> list[Clause]:
    """Name the node that was elected last by a moment (s), because an election may be what broke it."""
    led = leading_since(drawn.timelines, moment)
    return [] if led is None else [Clause((f", leader {led[0]} since {led[1]:.1f} s",))]


def _still_held(entries: EntryFate, drawn: Drawn) -> str:
    """Say which logs lack the entries at the end, or that none does, and how few had them at the worst moment."""
    index, short, holders = drawn.run.index(entries.index), entries.short, entries.holders
    if short:
        ends = ", ".join(f"{name} at {drawn.run.index(end)}" for name, end in sorted(short.items()))
        there = sorted({timeline.node for timeline in drawn.timelines} - set(short))
        applied = {status.node for status in last_statuses(drawn.timelines) if status.applied >= entries.index}
        late = [name for name in there if name not in applied]
        though = f", though {'they' if late == there else and_listed(late)} had applied less" if late else ""
        return f"Logs of {and_listed(there)} reach {index} at the end{though}; those of others end before it: {ends}"
    seldom = f"; at {entries.time / 1e9:.1f} s {len(holders)} of {entries.nodes} did: {', '.join(holders)}"
    return "At the end every log reaches as far again" + (seldom if len(holders) < entries.nodes else "")


def _shows(moment: NodeMoment, fall: LogFall) -> bool:
    """Return whether a check recorded this fall of a log as a moment of its own."""
    return moment.node == fall.node and moment.time / 1e9 == fall.at


def _left_all(drawn: Drawn, falls: Sequence[LogFall], last: int) -> str:
    """Return the range of the entries up to ``last`` that left each of these logs in its fall."""
    lowest, last = max(fall.log_end for fall in falls) + 1, min(last, *(fall.reached for fall in falls))
    return f"{drawn.run.index(lowest)}–{drawn.run.index(last)}"


def _course(drawn: Drawn, loss: Sequence[LogFall], gone: float, whole: str) -> str:
    """Say when the other logs lost the ``whole`` range of entries, and who led when the first of them did."""
    if not loss:
        return f"By {gone:.1f} s no log held them."
    first = loss[0]
    parts = [f"{fall.node} by {fall.at:.1f} s" for fall in loss if not _at_once(fall.at * 1e9, first.at * 1e9)]
    text = f"The other logs lost {whole} later: {', '.join(parts)}." if parts else f"No other log had held {whole}."
    if (led := leading_since(drawn.timelines, first.at)) is not None:
        node, since = led
        text += f" {node} was the leader by then: it was first seen to lead at {when(since, drawn.windows)}."
    return text


def _other(drawn: Drawn, row: Mapping[str, Any], record: Mapping[str, Any], place: str) -> Break:
    """Describe any other failed check in its own words, dated by its own evidence."""
    about = first_of(OfNodes, record)
    moments, named = (about.moments, about.nodes) if about else ((), ())
    # Prefer the node that differs from most others, which need not have been the first to answer.
    blamed = [moment for moment in moments if moment.node in named]
    first = min(about.marks if about else (), key=lambda moment: moment.time, default=None)
    onset = None if first is None else first.time / 1e9
    struck = min(blamed, key=lambda moment: moment.time, default=first)
    nodes = () if struck is None else (struck.node,)
    alarms = first_of(Alarms, record)
    logged = drawn.alarm_lines if alarms and alarms.patterns else []
    if onset is None and logged:
        onset, nodes = logged[0].seconds, (logged[0].node,)
    severity = next(
        violation.severity for violation in violations_of(drawn.run.results) if violation.check == row["name"]
    )
    dated: tuple[Clause, ...] = ()
    if first is None and logged:
        line = f"line {number(logged[0].number)} of {logged[0].node}'s {logged[0].file}"
        dated = (
            (Clause((f"; {line}, which has no dates",), f"It is {line}, which has no dates"),) if onset is None else ()
        )
    if onset is not None:
        came = since_fault(onset, drawn.windows)[0]
        phrase = f"first seen at {onset:.1f} s"
        dated = (Clause((f"; {phrase}{came}", f"; {phrase}"), f"{phrase}{came}"),)
    return Break(severity, f"{row['name']}: {row['seen']}", onset, place, (row["name"],), nodes, clauses=dated)
