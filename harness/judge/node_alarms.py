"""Alarms of the nodes: in their logs, in their own counts of alarms, and in their answers.

Most alarms prove nothing by themselves: a library that met an error and retried did the right thing.  Only two things
are violations: lines that a healthy library can never write, and a committed entry that could not be read although none
of our faults had damaged that node's files.  The rest is noted, and other checks judge its effect on clients.
Linearizability finds a stale answer from an entry that was never applied, and ``replicas-agree`` finds a state that
differs between nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from harness.judge.answers_by_process import last_answers
from harness.judge.damage import Damages
from harness.judge.recorded import Recorded
from harness.systems.api import Alarm
from history import Check, Probe, Receipt
from history.records.finding import AlarmPattern, Alarms
from nemesis.faults.registry import may_end_processes
from reports.words.of_alarms import (
    COUNTS,
    DAMAGED,
    MEANT,
    alarm_text,
    count_text,
    ended_under_text,
    not_running_text,
    read_text,
    renewed_text,
    said_text,
    unread_text,
    without_logs_text,
)
from reports.words.of_nodes import node_check

Hits = Mapping[str, Mapping[str, int]]


def node_alarms(recorded: Recorded, damages: Damages) -> tuple[Check, ...]:
    """Check that the nodes report nothing that must never happen.

    Returns no check if nothing was found and the system defines no alarms, because then its logs were not searched.
    """
    check = _node_alarms(recorded, damages)
    return (check,) if recorded.alarms or check.verdict != "valid" or check.findings else ()


def _node_alarms(recorded: Recorded, damages: Damages) -> Check:
    known, probes = recorded.alarms, recorded.probes
    hits = _with_faults(known, recorded.log_hits, probes)
    wanted = _wanted(recorded, hits)
    blamed = {
        node: recorded.early_hits.get(node, {}) if node in damages.nodes else counts for node, counts in hits.items()
    }
    after = {node: Counter(hits[node]) - Counter(blamed[node]) for node in hits if node in damages.nodes}
    alarms, excused = log_lines(known, blamed, "violation"), log_lines(known, after, "violation")
    unread, unread_damaged = _undecodable(probes, damages)
    notes = [
        *(line + DAMAGED for line in (*excused, *unread_damaged)),
        *log_lines(known, hits, "note"),
        *(line + MEANT for line in log_lines(known, wanted, "harness")),
        *(count_text(name, by_node) for name in COUNTS if (by_node := _by_node(probes, name))),
        # Once for each node and text.
        *(
            said_text(*fault)
            for fault in dict.fromkeys((probe.node, probe.fault) for probe in probes if probe.answered and probe.fault)
        ),
    ]
    if alarms or unread:
        kind = "log-alarm" if alarms else "undecodable-entry"
        patterns = _patterns(known, blamed)
        nodes = {node for pattern in patterns for node in pattern.nodes} | _without_decoding(probes, damages)
        finding = Alarms(kind=kind, nodes=tuple(sorted(nodes)), patterns=patterns, notes=tuple(notes))
        return node_check("node-logs", "invalid", "; ".join([*alarms, *unread]), finding)
    doubts = ends_unexplained(recorded)
    if missing := [node for node in recorded.serving if node not in recorded.log_hits]:
        doubts.append(without_logs_text(missing if recorded.log_hits else ()))
    findings = (Alarms(verdict="valid", notes=tuple(notes)),) if notes else ()
    return node_check("node-logs", "unknown" if doubts else "valid", read_text(len(hits), doubts, notes), *findings)


def setup_failures(recorded: Recorded) -> list[str]:
    """Return alarms about how the harness set up the system, which are harness failures."""
    known = recorded.alarms
    hits = _with_faults(known, recorded.log_hits, recorded.probes)
    wanted = _wanted(recorded, hits)
    ours = {
        node: {pattern: count for pattern, count in counts.items() if pattern not in wanted.get(node, {})}
        for node, counts in hits.items()
    }
    return log_lines(known, ours, "harness")


def _wanted(recorded: Recorded, hits: Hits) -> dict[str, dict[str, int]]:
    """Return the hits that a fault on their node was meant to cause."""
    struck = {(r.fault, node) for r in recorded.receipts if r.state != "skipped" for node in r.nodes}
    pairs = [(alarm.pattern, node) for alarm in recorded.alarms for name, node in struck if name in alarm.wanted_by]
    return {
        node: {pattern: count for pattern, count in counts.items() if (pattern, node) in pairs}
        for node, counts in hits.items()
    }


def log_lines(alarms: Sequence[Alarm], hits: Hits, follows: str) -> list[str]:
    """Return a sentence for each alarm with this consequence."""
    lines = []
    for alarm in (alarm for alarm in alarms if alarm.follows == follows):
        by_node = {node: counts[alarm.pattern] for node, counts in hits.items() if counts.get(alarm.pattern)}
        if by_node:
            lines.append(alarm_text(alarm.pattern, alarm.meaning, by_node))
    return lines


def _patterns(alarms: Sequence[Alarm], hits: Hits) -> tuple[AlarmPattern, ...]:
    """Return the patterns that find the lines of the violations in the logs again, with their nodes."""
    return tuple(
        AlarmPattern(alarm.pattern, tuple(nodes), alarm.unless)
        for alarm in alarms
        if alarm.follows == "violation"
        and (nodes := sorted(node for node, counts in hits.items() if counts.get(alarm.pattern)))
    )


def ends_unexplained(recorded: Recorded) -> list[str]:
    """Return a sentence for each process that ended although no fault on its node ends processes.

    The cause is unknown: the server itself, the kernel for lack of memory, or a person.  So this makes the check
    unknown, not invalid.
    """
    by_heals = {
        (node, receipt.started, receipt.healed or receipt.started): ended_under_text(node, receipt)
        for receipt in recorded.receipts
        for node in receipt.witness.get("ended", ())
    }
    ends = [*by_heals.values()]
    last: dict[str, Probe] = {}
    at_the_end = recorded.state.moments.get("restarting")
    for probe in recorded.probes:
        if not probe.answered or not probe.pid or (at_the_end is not None and probe.time >= at_the_end):
            continue
        before = last.get(probe.node, probe)
        known = any(n == probe.node and s <= probe.time and before.time <= e for n, s, e in by_heals)
        if probe.pid != before.pid and not known and not _may_have_ended(probe.node, before.time, probe.time, recorded):
            ends.append(renewed_text(before, probe))
        last[probe.node] = probe
    return ends + _ended_for_good(recorded)


def _ended_for_good(recorded: Recorded) -> list[str]:
    """Return a sentence for each process that was not running at the end, unless a fault may still have stopped it."""
    state, answers = recorded.state, last_answers(recorded.probes)
    if state.restart_failed or state.interrupted or state.failures:  # each of these is reported elsewhere
        return []
    return [
        not_running_text(node, roles, answers.get(node))
        for node, roles in sorted(state.ended_roles.items())
        if not any(
            receipt.healed is None and _hit(receipt, node) and may_end_processes(receipt.fault)
            for receipt in recorded.receipts
        )
    ]


def _may_have_ended(node: str, begin: int, end: int, recorded: Recorded) -> bool:
    """Return whether a fault that may end processes hit, or may have hit, the node between two times (ns)."""
    return any(
        _hit(receipt, node)
        and may_end_processes(receipt.fault)
        and receipt.started <= end
        and (receipt.healed is None or receipt.healed >= begin)
        for receipt in recorded.receipts
    )


def _hit(receipt: Receipt, node: str) -> bool:
    """Return whether the fault hit, or may have hit, the node."""
    return receipt.state != "skipped" and (node in receipt.nodes or node in receipt.targets.get("reserved", ()))


def _with_faults(alarms: Sequence[Alarm], log_hits: Hits, probes: Sequence[Probe]) -> dict[str, dict[str, int]]:
    """Return the number of hits of each alarm, from the logs and from the ``fault`` of the nodes' statuses.

    A fault counts once for each process that reported it.  If logs and statuses differ, the higher number counts.
    """
    faults = {(probe.node, probe.pid, probe.fault) for probe in probes if probe.answered and probe.fault}
    hits = {node: dict(counts) for node, counts in log_hits.items()}
    for pattern in (alarm.pattern for alarm in alarms):
        for node in {node for node, _, _ in faults}:
            count = sum(pattern in str(fault) for name, _, fault in faults if name == node)
            if count > hits.get(node, {}).get(pattern, 0):
                hits.setdefault(node, {})[pattern] = count
    return hits


def _undecodable(probes: Sequence[Probe], damages: Damages) -> tuple[list[str], list[str]]:
    """Return committed entries that could not be read, on undamaged nodes and on nodes that we damaged."""
    counts = {False: dict[str, int](), True: dict[str, int]()}
    for (node, _), (probe, number) in _per_process(probes, "undecodable").items():
        mine = counts[damages.before(node, probe.time)]
        mine[node] = mine.get(node, 0) + number
    lines = {
        damaged: [unread_text(node, number) for node, number in sorted(by_node.items())]
        for damaged, by_node in counts.items()
    }
    return lines[False], lines[True]


def _by_node(probes: Sequence[Probe], name: str) -> dict[str, int]:
    """Return the sum of a count over the processes of each node that reports it."""
    by_node: dict[str, int] = {}
    for (node, _), (_, number) in _per_process(probes, name).items():
        by_node[node] = by_node.get(node, 0) + number
    return by_node


def _per_process(probes: Sequence[Probe], name: str) -> dict[tuple[str, int], tuple[Probe, int]]:
    """Map each process with a count above 0 to the first such probe and the highest count."""
    first_and_highest: dict[tuple[str, int], tuple[Probe, int]] = {}
    for probe in probes:
        if probe.answered and (number := int(getattr(probe, name))) > 0:
            first, highest = first_and_highest.get((probe.node, probe.pid), (probe, 0))
            first_and_highest[probe.node, probe.pid] = first, max(highest, number)
    return first_and_highest


def _without_decoding(probes: Sequence[Probe], damages: Damages) -> set[str]:
    """Return the undamaged nodes that could not read a committed entry."""
    processes = _per_process(probes, "undecodable").items()
    return {node for (node, _), (probe, _) in processes if not damages.before(node, probe.time)}
