"""Check Leader Completeness: a leader holds every committed entry (figure 3 of the Raft paper).

If a leader's log ends below what had been committed, it writes other entries in place of acknowledged ones.  Those are
lost, and the nodes that still hold them will have to truncate them.

No healthy node is accused, although a status answer consists of several reads in no promised order.  Suppose a node
reports the commit index c and, in its next answer, the term u.  Terms never fall within a process, so c was committed
in term u or before.  Suppose that later a node reports in two successive answers that it leads in a term t >= u.  Its
term was t all the time between them, so it did lead in t at the instant when the second answer read its role.  Its log
therefore held c at that time, by Leader Completeness or because it committed c itself, and a committed entry is never
removed.  The second answer's log end e was read later than c.  So if e < c, and the log's start (which never falls) is
at most c even in the answer after that, then an entry that a leader must hold is missing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from harness.judge.answers_by_process import answers_by_process, of_reporting
from harness.judge.damage import LOG, Damages
from harness.judge.logs.entry_fate import entry_fate
from history import Check, Probe
from history.records.finding import LeaderLacksCommitted, ShortLeader, Skipped
from reports.words.of_nodes import leaders_followed_text, node_check, short_leaders_text, undecided

#: At most this many moments are listed, plus the first of each node; all are counted.
MOMENTS: Final = 100


@dataclass(frozen=True, slots=True)
class _Known:
    """A fact: at ``time``, this many entries were ``committed``, in ``term`` or before, as ``node`` reported."""

    time: int
    committed: int
    term: int
    node: str


def short_leaders(probes: Sequence[Probe]) -> list[ShortLeader]:
    """Return every answer of a leader whose log is too short, in order of time."""
    known = [
        _Known(probe.time, probe.committed, after.term, probe.node)
        for stretch in answers_by_process(probes)
        for probe, after in pairwise(stretch)
        if probe.committed >= 0
    ]
    highest = _Highest(known)
    short = [
        ShortLeader(second.node, second.time, second.term, second.log_end, most.committed, most.node)
        for first, second, after in _leading(probes)
        if (most := highest.before(first.time, second.term)) is not None
        if second.log_end < most.committed and after.holds_from <= most.committed
    ]
    return sorted(short, key=lambda leader: (leader.time, leader.node))


def _leading(probes: Sequence[Probe]) -> list[tuple[Probe, Probe, Probe]]:
    """Return each two successive answers in which a node leads in one term, with the answer after them.

    Only nodes that report their log are included.
    """
    return [
        (first, second, after)
        for stretch in answers_by_process(of_reporting(probes, "log_end"))
        for first, second, after in zip(stretch, stretch[1:], stretch[2:], strict=False)
        if first.role == second.role == "leader" and first.term == second.term >= 0
    ]


class _Highest:
    """The highest commit index known before a moment, of terms up to a given one."""

    def __init__(self, known: Sequence[_Known]) -> None:
        self._by_term: dict[int, tuple[list[int], list[_Known]]] = {}
        for fact in sorted(known, key=lambda fact: fact.time):
            times, best = self._by_term.setdefault(fact.term, ([], []))
            if not best or fact.committed > best[-1].committed:
                times.append(fact.time)
                best.append(fact)

    def before(self, time: int, term: int) -> _Known | None:
        candidates = [
            best[place - 1]
            for known_in, (times, best) in self._by_term.items()
            if known_in <= term and (place := bisect_left(times, time))
        ]
        return max(candidates, key=lambda known: known.committed, default=None)


def leader_complete(probes: Sequence[Probe], damages: Damages) -> Check:
    """Check that no leader lacked committed entries (see the module).

    Nothing is checked after an injected fault cut a log or destroyed a term, because an entry on a bare majority may be
    gone.
    """
    cut_at = damages.first(*LOG, "term")
    short = [leader for leader in short_leaders(probes) if cut_at is None or leader.time < cut_at]
    if not short:
        leading = [(second.node, second.term, second.time) for _, second, _ in _leading(probes)]
        if not leading:
            return undecided("leader-complete")
        leaders = {(node, term) for node, term, time in leading if cut_at is None or time < cut_at}
        summary = leaders_followed_text(len(leaders), cut_at)
        skipped = () if leaders else (Skipped(check="leader-complete", why=summary),)
        return node_check("leader-complete", "valid", summary, *skipped)
    first = {leader.node: leader for leader in reversed(short)}
    listed = sorted({*short[:MOMENTS], *first.values()}, key=lambda leader: (leader.time, leader.node))
    entries = entry_fate(probes, (leader.committed for leader in short), short[0].time)
    finding = LeaderLacksCommitted(
        severity=entries.severity, nodes=tuple(sorted(first)), since=short[0].time, count=len(short),
        moments=tuple(listed), entries=entries,
    )  # fmt: skip
    return node_check("leader-complete", "invalid", short_leaders_text(finding), finding)
