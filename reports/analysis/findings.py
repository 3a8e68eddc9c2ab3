"""Findings of a run: violations, with what the cluster was doing then, and failures to recover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from history import Counterexample, Operation, node_logs
from history.codes import INFO, OK
from history.records.check_records import check_records
from history.records.finding import Comeback, ViolationTimes
from history.records.verdicts import MAX_COUNTEREXAMPLES
from history.records.violations import LINEARIZABLE, Shown, counterexamples_of, counts_of, found_in, in_shown_order
from reports.analysis import faults, node_timeline
from reports.analysis.counterexample import Picture, label_of, labels_by_elements, picture_of
from reports.analysis.cycle import BROAD, SLIM, Cycle, cycle_of
from reports.analysis.failed_starts import FailedStart, failed_starts
from reports.analysis.faults import FaultWindow
from reports.analysis.lagging_nodes import Stopped, last_heal, stopped_at
from reports.analysis.node_timeline import NodeTimeline
from reports.analysis.outages import Outage, ServiceOutages, services_of, total_outages, unserved
from reports.analysis.responder import Response, missed_write, response_of
from reports.analysis.rows import in_doubt, unapplied_text
from reports.analysis.sketch import sketch_of
from reports.analysis.snapshots import Snapshot, snapshots_of
from reports.load.alarm_lines import AlarmLine, alarm_lines
from reports.load.check_rows import checks_of
from reports.load.cut_record import is_cut
from reports.load.nearby_operations import nearby_operations, set_bounds
from reports.load.run import LoadedRun
from reports.style.format import text_of
from reports.words.of_clients import violation_times_text

#: At most this many legal answers of a read are listed.
MAX_ANSWERS: Final = 8
_FEW: Final = 3
#: Limit of violations whose sentences are listed and whose operations are framed in the timeline.
MAX_LISTED: Final = 100
LAST_SHOWN: Final = 3
ROOM_AROUND_S: Final = 3.0
#: Seconds before and after a violation from which log lines are shown.
ROOM_S: Final = (1.0, 1.0)


@dataclass(frozen=True, slots=True)
class ViolationContext:
    """One counterexample with what the cluster was doing then.  Times are in seconds.

    ``check`` found it; ``asked`` is the broken promise in that check's words, unless it is linearizability.

    ``since``, ``answered_by`` (with its ``role``), ``leader``, ``term``, ``faults`` and ``logged`` belong to the answer
    that rules out every order, which came at ``since``; other answers may be much older.  ``earlier`` faults were
    active during those.

    ``suspects`` are the answers at least one of which is wrong, usually a single one; ``missed`` is the last
    acknowledged change that a single suspect does not reflect.  ``prefix``: the completion (s) at which the key's whole
    history stops being linearizable, and how many operations had completed before; only for the first violation of a
    key.

    ``in_doubt``: what may have taken effect before a suspect was answered, in words, and how often.  ``unapplied``: a
    sentence on operations that were acknowledged but not applied.  ``healed``: the last fault before the answer if none
    was active then, in words.  ``cycles``: broad and slim drawings of a cycle of transactions.  ``holds``: the
    strongest isolation levels that the object's transactions satisfy.
    """

    check: str
    asked: str
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
    logged: node_logs.Excerpt | None
    suspects: list[Response]
    missed: Response | None
    legal: Legal
    prefix: tuple[float, int] | None
    in_doubt: Sequence[tuple[str, int]] = ()
    unapplied: str = ""
    healed: str = ""
    cycles: tuple[Cycle, ...] = ()
    holds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Legal:
    """The answers that a single suspect could legally have given.

    ``whole``: they take everything until then into account, not only what is drawn.  ``doubtful`` are answers that
    only a write of unknown outcome would explain.  ``unnamed`` says why some answers are unknown.
    """

    answers: tuple[str, ...]
    whole: bool
    doubtful: tuple[str, ...] = ()
    unnamed: str = ""
    #: Used instead of a list: what every legal answer must hold, and what else it may hold.
    bounds: str = ""

    @property
    def text(self) -> str:
        """Answers in words, certain ones first: ``2585, or what one of 9 writes wrote whose outcome is not known``."""
        if self.bounds:
            return self.bounds
        if not self.answers or len(self.answers) + len(self.doubtful) <= _FEW:
            return _either((*self.answers, *self.doubtful))
        if not self.doubtful:
            return _either(self.answers)
        writes = "a write" if len(self.doubtful) == 1 else f"one of {len(self.doubtful)} writes"
        return f"{_either(self.answers)}, or what {writes} wrote whose outcome is not known"


def _either(answers: Sequence[str]) -> str:
    more = f" or {len(answers) - MAX_ANSWERS} more" if len(answers) > MAX_ANSWERS else ""
    return " or ".join(answers[:MAX_ANSWERS]) + more


@dataclass(frozen=True)
class Drawn:
    """A run with everything that more than one part of the page or plots needs."""

    run: LoadedRun
    timelines: list[NodeTimeline]
    windows: list[FaultWindow]
    violations: list[ViolationContext]
    snapshots: list[Snapshot]
    failed_starts: list[FailedStart]
    alarm_lines: list[AlarmLine]
    #: Set if the cluster did not recover.
    stopped: Stopped | None

    @cached_property
    def services(self) -> list[ServiceOutages]:
        """The outages of each kind of operation; empty if the history was cut."""
        run = self.run
        return [] if is_cut(run) else services_of(run.operations, run.end, run.clock)

    @cached_property
    def total_outages(self) -> list[Outage]:
        """The times when no operation of any kind succeeded."""
        return total_outages(self.run.operations, self.run.end, self.run.clock)


def prepare(run: LoadedRun) -> Drawn:
    """Compute timelines, fault windows, violations, snapshots and log lines; parts that fail are empty."""
    part = run.notes.attempt_list
    nodes = part("nodes", lambda: list(run.nodes))
    timelines = part(
        "leaders and replicas",
        lambda: node_timeline.timelines_of(run.probes, nodes, run.receipts, run.members, run.epoch_bits),
    )
    windows = part("fault table", lambda: faults.fault_windows(run, timelines))
    violations = part("counterexamples", lambda: violations_of(run, timelines, windows))
    snapshots = part("snapshots", lambda: snapshots_of(timelines))
    starts = part("failed starts", lambda: failed_starts(run, timelines))
    lines = part("lines of alarms", lambda: alarm_lines(run))
    stopped = run.notes.attempt("replica progress", lambda: _stopped(run, timelines, windows), None)
    return Drawn(run, timelines, windows, violations, snapshots, starts, lines, stopped)


def _stopped(run: LoadedRun, timelines: list[NodeTimeline], windows: list[FaultWindow]) -> Stopped | None:
    if _no_recovery(run) is None:
        return None
    about = found_in(run.results, Comeback)
    silent = unserved(run, about) if about else None
    return stopped_at(run, timelines, windows, about.behind if about else (), silent[0] if silent else None)


def violation_times_of(run: LoadedRun) -> str:
    """Say when the violations were seen, by phase and by active faults; empty if they were not counted."""
    times = found_in(run.results, ViolationTimes)
    return violation_times_text(times) if times and times.counted else ""


def violation_count(run: LoadedRun) -> int:
    return sum(counts_of(run.results).values())


def violating_keys(run: LoadedRun) -> list[tuple[str, list[str], int, bool]]:
    """Return (key, kinds of its anomalies, number of violations, whether it may have more), most violations first.

    A key's violations are those that all checks found.
    """
    kinds: dict[str, set[str]] = {}
    numbers, more = Counter[str](), set[str]()
    for key in run.results.get("keys", ()):
        if key.get("violations"):
            name = str(key.get("key"))
            kinds.setdefault(name, set()).update(str(entry.get("kind")) for entry in key.get("kinds") or ())
            numbers[name] += int(key["violations"])
            more |= {name} if key.get("more") else set()
    for example in counterexamples_of(run.results):
        if example.check not in LINEARIZABLE:
            name = str(example.key)
            kinds.setdefault(name, set()).add(str(example.record.get("kind")))
            numbers[name] += 1
    return [(name, sorted(kinds[name]), number, name in more) for name, number in numbers.most_common()]


def examples_of(run: LoadedRun) -> list[Shown]:
    """Return the counterexamples that are listed, at most :data:`MAX_LISTED`."""
    return recorded_examples(run)[:MAX_LISTED]


def recorded_examples(run: LoadedRun) -> list[Shown]:
    """Return all counterexamples in the results, in the order in which they are shown."""
    return in_shown_order(run.results)


def shown_as_counterexamples(run: LoadedRun) -> frozenset[str]:
    """Return the checks other than linearizability whose violations are drawn as counterexamples."""
    return frozenset(str(check.get("name")) for check in check_records(run.results) if check.get("counterexamples"))


def violations_of(run: LoadedRun, timelines: list[NodeTimeline], windows: list[FaultWindow]) -> list[ViolationContext]:
    """Return the counterexamples to draw, in the order in which they are shown: at most ``MAX_COUNTEREXAMPLES``."""
    every = examples_of(run)
    by_key: dict[str, list[Shown]] = {}
    for case in every:
        if case.check in LINEARIZABLE:
            by_key.setdefault(str(case.key), []).append(case)
    shown = []
    for case in every[:MAX_COUNTEREXAMPLES]:
        violation = _violation(run, timelines, windows, case)
        if case.check in LINEARIZABLE:
            mine = by_key.pop(str(case.key), None)
            prefix = _prefix(run, mine) if mine else None
            legal = _legal(run, case, violation.picture)
            if not legal.whole and (bounds := set_bounds(run.operations, case.example, case.key)):
                legal = Legal((), whole=True, bounds=bounds)
            violation = replace(violation, legal=legal, prefix=prefix)
        shown.append(violation)
    return shown


def _prefix(run: LoadedRun, shown: Sequence[Shown]) -> tuple[float, int] | None:
    """Return when the first answer on a register left no order, and how many operations were complete before.

    Returns None if an even earlier answer might have no counterexample, for example because values were written
    repeatedly.
    """
    record = next(row for row in run.results["keys"] if row["key"] == shown[0].key)
    if run.header.get("model") != "register" or "zones" not in record["engine"] or record["violations"] != len(shown):
        return None
    end, rows = min(case.example.completed_at for case in shown), run.operations.rows_of(shown[0].key)
    complete = run.operations.which(OK)[rows] & (run.operations.returned[rows] < end)
    return end / 1e9, int(np.count_nonzero(complete))


def _legal(run: LoadedRun, shown: Shown, picture: Picture | None) -> Legal:
    """Return the legal answers that the checker found.

    They take everything that had happened into account if the checker did, otherwise only the counterexample.
    """
    named, suspects = shown.example.linearization, shown.example.suspects
    if named is None or len(suspects) != 1:
        return Legal(picture.legal if picture else (), whole=False)
    if not named.whole or run.header.get("model") != "register":
        return Legal(picture.legal if picture else (), whole=named.whole, unnamed=named.unnamed)
    rows = run.operations.rows_of(shown.key)
    kind, outcome = run.operations.f.codes[rows], run.operations.outcome[rows]
    open_ones = rows[(kind == run.operations.f.code("write")) & (outcome == INFO)].tolist()
    in_doubt = {text_of(run.operations.at(row).value) for row in open_ones}
    answers = tuple(map(text_of, named.legal))
    doubtful = tuple(answer for answer in answers if answer in in_doubt)
    return Legal(tuple(answer for answer in answers if answer not in in_doubt), whole=True, doubtful=doubtful)


def _violation(
    run: LoadedRun, timelines: list[NodeTimeline], windows: list[FaultWindow], shown: Shown
) -> ViolationContext:
    example = shown.example
    beside = run.notes.attempt_list("operations beside", lambda: nearby_operations(run.operations, example))
    picture = run.notes.attempt("counterexample", lambda: picture_of(example, beside, run.wording), None)
    operations = sorted(example.operations, key=lambda operation: operation.invoked)
    start = min((operation.invoked for operation in operations), default=0) / 1e9
    end = max((operation.returned or operation.invoked for operation in operations), default=0) / 1e9
    last = example.completing
    began, until = (last.invoked if last else 0) / 1e9, example.completed_at / 1e9
    standing = [window for window in windows if window.stands(began, until)]
    node, leader = last.node if last else None, node_timeline.leader_at(timelines, until)

    wording = labels_by_elements(example, run.wording)

    def label(operation: Operation) -> str:
        return label_of(operation, wording=wording)

    def response(operation: Operation) -> Response:
        return response_of(operation, operations, timelines, windows, run.nodes, run.members, wording)

    missed = missed_write(operations, last) if len(example.suspects) == 1 and not example.roles else None
    required = next((row["asked"] for row in checks_of(run) if row["name"] == shown.check), "") if example.roles else ""
    return ViolationContext(
        check=shown.check,
        asked=required,
        key=shown.key,
        example=example,
        picture=picture,
        start=start,
        end=end,
        since=until,
        answered_by=node,
        role=node_timeline.role_at(timelines, last.node, until) if last else None,
        leader=leader,
        term=node_timeline.term_at(timelines, until),
        faults=standing,
        earlier=[window for window in windows if window.stands(start, end) and window not in standing],
        logged=run.notes.attempt(
            "log excerpts",
            lambda: node_logs.around(
                run.recording, run.started, (began, until), [n for n in (node, leader) if n], ROOM_S, 30
            ),
            None,
        ),
        suspects=[response(operation) for operation in example.suspects],
        missed=response(missed) if missed else None,
        legal=Legal((), whole=False),
        prefix=None,
        in_doubt=in_doubt(example, label),
        unapplied=unapplied_text(example, label),
        healed="" if standing else faults.healed_before(until, windows),
        cycles=run.notes.attempt("cycle", lambda: _cycles(example), ()),
        holds=next(
            (tuple(key.get("levels", ())) for key in run.results.get("keys", ()) if key["key"] == shown.key), ()
        ),
    )


def _cycles(example: Counterexample) -> tuple[Cycle, ...]:
    return tuple(cycle for size in (BROAD, SLIM) if (cycle := cycle_of(example, size)))


def around(drawn: Drawn, onset: float) -> tuple[float, float]:
    """Return the seconds to look at around an onset.

    If it is the answer of a counterexample, start at the last :data:`LAST_SHOWN` operations before it, because the
    others may have happened much earlier.
    """
    example = next((case.example for case in examples_of(drawn.run) if case.example.completed_at / 1e9 == onset), None)
    if example is None:
        return max(onset - ROOM_AROUND_S, 0.0), onset + ROOM_AROUND_S
    begun = sorted(operation.invoked / 1e9 for operation in example.operations)[-LAST_SHOWN:]
    return max(min(onset, *begun) - 1.0, 0.0), onset + ROOM_AROUND_S


def recovery_of(drawn: Drawn) -> dict[str, Any] | None:
    """Collect what the page shows of a cluster that did not recover: the check, and the logs since it stopped."""
    check, stopped = _no_recovery(drawn.run), drawn.stopped
    if check is None or stopped is None:
        return None
    unhealed = [window for window in drawn.windows if window.state != "skipped" and window.healed is None]
    late = node_timeline.late_nodes(drawn.timelines)
    end = drawn.run.end / 1e9
    picture = drawn.run.notes.attempt("sketch", lambda: sketch_of(drawn.timelines, drawn.windows, end, late), None)
    return {
        "check": check,
        "healed": last_heal(drawn.windows),
        "unhealed": unhealed,
        "starts": drawn.failed_starts,
        "picture": picture,
        "until": end,
        "stopped": stopped,
        "lagging": [node.sentence() for node in stopped.lagging],
    }


def _no_recovery(run: LoadedRun) -> Mapping[str, Any] | None:
    """Return the failed recovery check; None if it did not fail."""
    return next((row for row in checks_of(run) if row["name"] == "recovery" and row["state"] == "invalid"), None)
