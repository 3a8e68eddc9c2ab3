"""Check in the probes that no log is ever cut below its node's commit index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from harness.judge.answers_by_process import of_reporting, same_process
from harness.judge.damage import NONE, Damages
from harness.judge.logs.entry_fate import entry_fate
from history import Check, Probe
from history.records.finding import EntriesDeleted, Fall
from reports.words.of_nodes import deletions_text, followed_text, left_out_text, node_check, undecided


@dataclass(slots=True)
class _Node:
    """The state of one node so far: its newest answer, and its highest reported commit index.

    ``silent`` says that a probe has failed since, so the next answer may come from another process.
    """

    answer: Probe
    highest: int
    answers: list[Probe]
    fell: bool = False
    silent: bool = False


def falls(probes: Sequence[Probe]) -> list[Fall]:
    """Return every fall of every node that reports where its log ends, in the order of the probes.

    A fall is a log that ends below its node's commit index.  The commit index of an earlier answer is compared with the
    log's end in a later one; ``harness.judge.logs.log_order`` proves that this never accuses a healthy node.  A
    restarted process has forgotten its commit index, so it is compared with what the node had reported before.
    """
    seen_falls: list[Fall] = []
    probes = of_reporting(probes, "log_end")
    nodes: dict[str, _Node] = {}
    after = _next_begins(probes)
    for number, probe in enumerate(probes):
        node = nodes.get(probe.node)
        if not probe.answered:
            if node is not None:
                node.silent = True
            continue
        if node is None:
            nodes[probe.node] = _Node(probe, probe.committed, [probe])
            continue
        if fall := _fall(node, probe, after.get(number)):
            seen_falls.append(fall)
            node.fell, node.highest = True, probe.log_end
        node.answer, node.highest, node.silent = probe, max(node.highest, probe.committed), False
        node.answers.append(probe)
    return seen_falls


def _next_begins(probes: Sequence[Probe]) -> dict[int, int]:
    """Map the position of a probe to where the log begins in the same node's next answer, if there is one."""
    last: dict[str, int] = {}
    begins: dict[int, int] = {}
    for number, probe in enumerate(probes):
        before = last.pop(probe.node, None)
        if probe.answered:
            if before is not None:
                begins[before] = probe.holds_from
            last[probe.node] = number
    return begins


def _fall(node: _Node, probe: Probe, begin_after: int | None) -> Fall | None:
    before = node.answer
    shorter, same = probe.log_end < before.log_end, not node.silent and same_process(before, probe)
    # Entries below the log's start are in a snapshot.
    held = begin_after is None or begin_after > before.committed
    # Within one process, the log ends below the commit index of its own earlier answer.
    if same and not held and probe.log_end < before.committed and (shorter or not node.fell):
        return Fall(probe.node, probe.time, probe.log_end, before.committed)
    forgot = max(before.committed, probe.committed) < node.highest or probe.committed < before.committed
    # A process that forgot its commit index is compared with what its node had reported, as far as the log reached.
    if shorter and forgot and probe.log_end < min(node.highest, before.log_end):
        committed = min(node.highest, before.log_end)
        # Some answer of the node reported at least this commit index, because ``highest`` comes from its answers.
        known = next(answer for answer in reversed(node.answers) if answer.committed >= committed)
        restarted = bool(known.pid and probe.pid) and known.pid != probe.pid
        fell = None if restarted else (known.committed, probe.committed)
        return Fall(probe.node, probe.time, probe.log_end, committed, restarted, fell)
    return None


def check_committed_prefix(probes: Sequence[Probe], damages: Damages = NONE) -> Check:
    """Check that no node removes committed entries from its log. A single fall within one process is a violation.

    A log that one of our faults cut is left out until it is whole again.
    """
    every, excused = falls(probes), damages.excused_logs(probes)
    counting = [fall for fall in every if not excused.covers(fall.node, fall.time)]
    left_out = left_out_text(len(every) - len(counting), excused.spans)
    answers = Counter(probe.node for probe in of_reporting(probes, "log_end") if probe.answered)
    first = next((fall for fall in counting if fall.proves), None)
    if first is None:
        if max(answers.values(), default=0) < 2:
            return undecided("committed-kept")
        return node_check("committed-kept", "valid", followed_text(len(answers)) + left_out)
    nodes = sorted({fall.node for fall in counting})
    entries = entry_fate(probes, (fall.committed for fall in counting), min(fall.time for fall in counting))
    finding = EntriesDeleted(
        severity=entries.severity, nodes=tuple(nodes), since=first.time, count=len(counting), moments=tuple(counting),
        entries=entries,
    )  # fmt: skip
    return node_check("committed-kept", "invalid", deletions_text(finding, left_out), finding)
