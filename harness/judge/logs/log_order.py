"""Check the order of a node's indexes: applied <= committed <= log end.

A node whose log is cut below its own commit index has lost acknowledged entries, and serves a state that does not
follow from its log.  One status answer consists of several reads at different instants, in no promised order, so even a
healthy node may show a commit index beyond the end of its log.  For this reason two answers of one process are compared
(``harness.judge.answers_by_process``): a claim of the earlier one with a bound of the later one.  This cannot accuse a
healthy node, whatever the order of the reads:

committed <= log end Suppose an earlier answer reports the commit index c, read at some t1, and a later one the log's
    end e, read at t2 > t1.  The commit index of a process never falls, so at t2 it is at least c.  At t2 the node holds
    its log up to e and, below the log's start, whatever its snapshot holds. The start never falls either, so the start
    b of an answer after that is at least what it was at t2.  If c > e and c >= b, then at the instant t2 the node did
    not hold an entry that it knew to be committed.

applied <= committed
    Suppose an earlier answer reports the applied index a (t1), and a later one the commit index c (t2).  At t1 the
    commit index was at most c.  If a > c, then at t1 something was applied that the node did not know to be committed.
    There are two exceptions.  The content of a snapshot was committed, but a server need not raise its commit index for
    it.  If a process loaded a snapshot, an applied index therefore counts only if it exceeds all earlier ones and the
    count of loads stayed the same from two answers before it to one after it.  And an index does not count if another
    node had reported it as committed by then: a follower may pass its leader's commit index to its state machine before
    it stores its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from harness.judge.answers_by_process import answers_by_process, of_reporting, reporting
from harness.judge.damage import Damages
from harness.judge.logs.entry_fate import entry_fate
from history import Check, Probe
from history.records.finding import BeyondLog, CommitBeyondLog
from reports.words.of_nodes import left_out_text, node_check, order_text, pairs_text, undecided

#: At most this many violations are listed, plus the first of each node; all are counted.
MOMENTS: Final = 100


def order_violations(probes: Sequence[Probe]) -> list[BeyondLog]:
    """Return every violation by every node that reports both its log's end and its commit index, in order of time."""
    known = _highest_committed(probes)
    violations = [violation for stretch in _stretches(probes) for violation in _of_process(stretch, known)]
    return sorted(violations, key=lambda violation: (violation.time, violation.node))


def _stretches(probes: Sequence[Probe]) -> list[list[Probe]]:
    nodes = reporting(probes, "committed")
    return [stretch for stretch in answers_by_process(of_reporting(probes, "log_end")) if stretch[0].node in nodes]


def _of_process(stretch: Sequence[Probe], known: dict[int, int]) -> list[BeyondLog]:
    violations: list[BeyondLog] = []
    committed = applied = highest = -1
    for number, (probe, after) in enumerate(pairwise([*stretch, None])):
        assert probe is not None
        reached = stretch[number - 1].applied if number else -1
        if reached > highest and _without_load(stretch, number):
            applied = reached
        highest = max(highest, reached)
        if after is not None and committed > probe.log_end and committed >= after.holds_from:
            violations.append(BeyondLog(probe.node, probe.time, "committed", committed, probe.log_end))
        elif applied > max(probe.committed, known[probe.time]):
            violations.append(BeyondLog(probe.node, probe.time, "applied", applied, probe.committed))
        committed = max(committed, probe.committed)
    return violations


def _without_load(stretch: Sequence[Probe], number: int) -> bool:
    """Return whether the previous answer's applied index, a new highest, was certainly not loaded with a snapshot."""
    loaded = stretch[number].snapshots_loaded
    return not loaded or (number > 2 and stretch[number - 3].snapshots_loaded == loaded)


def _highest_committed(probes: Sequence[Probe]) -> dict[int, int]:
    """Return the highest commit index that any node had reported, by the time of each probe."""
    highest, known = -1, {}
    for probe in probes:
        if probe.answered:
            highest = max(highest, probe.committed)
            known[probe.time] = highest
    return known


def log_order(probes: Sequence[Probe], damages: Damages) -> Check:
    """Check the order of indexes (see the module).

    On a node whose log we cut, violations are mentioned but not counted.
    """
    every = order_violations(probes)
    excused = damages.excused_logs(probes)
    violations = [violation for violation in every if not excused.covers(violation.node, violation.time)]
    number = sum(len(stretch) - 1 for stretch in _stretches(probes))
    pairs = pairs_text(number, left_out_text(len(every) - len(violations), excused.spans))
    if not number:
        return undecided("log-order")
    if not violations:
        return node_check("log-order", "valid", pairs)
    counts = Counter(violation.node for violation in violations)
    first = {violation.node: violation for violation in reversed(violations)}
    cut = [violation.index for violation in violations if violation.above == "committed"]
    listed = sorted({*violations[:MOMENTS], *first.values()}, key=lambda violation: (violation.time, violation.node))
    entries = entry_fate(probes, cut, violations[0].time) if cut else None
    finding = CommitBeyondLog(
        severity=entries.severity if entries else "inconsistent", nodes=tuple(sorted(first)), since=violations[0].time,
        count=len(violations), moments=tuple(listed), entries=entries,
    )  # fmt: skip
    return node_check("log-order", "invalid", order_text(finding, counts, pairs), finding)
