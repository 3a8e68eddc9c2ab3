"""Find out what became of committed entries that logs lost, by where each log ended at different times.

An answer says where a log ends at one moment.  Between two answers of a node, its log may have reached as far as the
longer of them; while the node is silent, as far as its last answer before or its first one after.  So entries
count as lost only if there was a moment at which, even by these bounds, no log can have reached them.  Only the reach
of logs is compared here, not their content.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from harness.judge.answers_by_process import says
from history import Probe
from history.records.finding import EntryFate, Fate


class _Reach:
    """The possible reach of each node's log from each answer to the next; ``ends`` apply from ``times`` (ns) on."""

    def __init__(self, probes: Iterable[Probe]) -> None:
        answers: dict[str, list[Probe]] = {}
        for probe in probes:
            if says(probe, "log_end"):
                answers.setdefault(probe.node, []).append(probe)
        self.nodes = tuple(sorted(answers))
        self.last = {node: answers[node][-1].log_end for node in self.nodes}
        changes: list[tuple[int, str, int]] = []
        for node, ones in answers.items():
            changes.append((0, node, ones[0].log_end))
            changes += [(answer.time, node, max(answer.log_end, after.log_end)) for answer, after in pairwise(ones)]
            changes.append((ones[-1].time, node, ones[-1].log_end))
        self.times: list[int] = []
        self.ends: list[dict[str, int]] = []
        for time, node, end in sorted(changes):
            now = {**self.ends[-1], node: end} if self.ends else {node: end}
            if self.times and self.times[-1] == time:
                self.ends[-1] = now
            else:
                self.times.append(time)
                self.ends.append(now)
        self.longest = [max(ends.values()) for ends in self.ends]
        #: For each row, the least of ``longest`` from there to the end.
        self.least = list(accumulate(reversed(self.longest), min))[::-1]


def entry_fate(probes: Sequence[Probe], indexes: Iterable[int], fell: int) -> EntryFate:
    """Return the fate of the entries up to the highest of these committed indexes that was lost, or of all if none was.

    ``fell`` is when a log was first seen to have lost some of them (ns).  There must be at least one index.  Each must
    have been reported as committed by some answer, and some answer must say where a log ends.
    """
    reach, known = _Reach(probes), _committed(probes)
    highest = sorted(set(indexes), reverse=True)
    # The row that applies when an index is first reported as committed.
    since = {index: max(0, bisect_right(reach.times, known[bisect_left(known, (index,))][1]) - 1) for index in highest}
    for index in highest:
        if reach.least[since[index]] < index:
            longest = reach.least[since[index]]
            row = reach.longest.index(longest, since[index])
            return EntryFate("lost", index, reach.times[row], longest=longest, nodes=len(reach.nodes))
    index = highest[0]
    first = max(since[index], bisect_right(reach.times, fell) - 1)
    held = [
        (time, tuple(node for node in reach.nodes if ends.get(node, -1) >= index))
        for time, ends in zip(reach.times[first:], reach.ends[first:], strict=True)
    ]
    time, holders = min(held, key=lambda moment: len(moment[1]))
    short = {node: end for node, end in reach.last.items() if end < index}
    fate: Fate = "missing" if short else "held"
    return EntryFate(fate, index, time, short=short, holders=holders, nodes=len(reach.nodes))


def _committed(probes: Iterable[Probe]) -> list[tuple[int, int]]:
    """Return each commit index that was the highest reported so far, with its time, in ascending order."""
    highest: list[tuple[int, int]] = []
    for probe in sorted((probe for probe in probes if probe.answered), key=lambda probe: probe.time):
        if not highest or probe.committed > highest[-1][0]:
            highest.append((probe.committed, probe.time))
    return highest
