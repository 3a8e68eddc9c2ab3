"""Check election safety from the probes: no term has two leaders, and no node returns to an earlier term."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from harness.judge.damage import NONE, Damages
from history import Check, Probe
from history.records.finding import Claim, StepBack, TermForgotten, TwoLeaders
from reports.words.of_nodes import followed_text, leaders_text, node_check, steps_back_text, two_leaders_text, undecided


def election_safety(probes: Sequence[Probe], damages: Damages = NONE) -> Check:
    """Check that every term has at most one leader.

    A node counts as leader of a term only if two probes show its claim, because one status answer consists of several
    reads rather than one instant.  A second leader is not a violation if a vote in that term may have been forgotten
    because we destroyed its file.
    """
    claims: dict[int, Counter[str]] = defaultdict(Counter)
    first: dict[tuple[int, str], int] = {}
    for probe in probes:
        if probe.answered and probe.role == "leader" and probe.term >= 0:
            claims[probe.term][probe.node] += 1
            first.setdefault((probe.term, probe.node), probe.time)
    every = {
        term: sorted(node for node, times in nodes.items() if times >= 2)
        for term, nodes in claims.items()
        if sum(times >= 2 for times in nodes.values()) > 1
    }
    double = {
        term: nodes
        for term, nodes in every.items()
        if not damages.double_vote(term, sorted(first[term, node] for node in nodes)[1], probes)
    }
    if double:
        moments = [
            Claim(node, first[term, node], term)
            for term, nodes in sorted(double.items())
            for node in sorted(nodes, key=lambda node: first[term, node])
        ]
        second = min(sorted(first[term, node] for node in nodes)[1] for term, nodes in double.items())
        led = {term: tuple(nodes) for term, nodes in sorted(double.items())}
        finding = TwoLeaders(since=second, terms=led, moments=tuple(moments))
        return node_check("election-safety", "invalid", two_leaders_text(finding), finding)
    if not claims:
        return undecided("election-safety")
    return node_check("election-safety", "valid", leaders_text(len(claims), sum(map(len, claims.values())), every))


def check_terms(probes: Sequence[Probe], damages: Damages = NONE) -> Check:
    """Check that no node returns to an earlier term, even across restarts of its process or machine.

    Raft requires a node to put the term and its vote on stable storage before it answers under them (figure 2 of the
    Raft paper: "updated on stable storage before responding to RPCs").  A node that forgets them may vote a second time
    in the same term, which can give one term two leaders.  If we destroyed the file with the term, the step back is
    left out.
    """
    newest: dict[str, Probe] = {}
    answers: Counter[str] = Counter()
    moments: list[StepBack] = []
    excused: set[str] = set()
    for probe in probes:
        if not probe.answered or probe.term < 0:
            continue
        answers[probe.node] += 1
        before = newest.get(probe.node, probe)
        if probe.term < before.term and damages.forgot_term(probe.node, before.time, probe.time):
            excused.add(probe.node)
        elif probe.term < before.term:
            moments.append(StepBack(probe.node, probe.time, probe.term, before.term, before.time))
        newest[probe.node] = probe
    if max(answers.values(), default=0) < 2:
        return undecided("terms-kept")
    if not moments:
        return node_check("terms-kept", "valid", followed_text(len(newest), excused))
    nodes = tuple(sorted({moment.node for moment in moments}))
    finding = TermForgotten(nodes=nodes, since=moments[0].time, count=len(moments), moments=tuple(moments))
    return node_check("terms-kept", "invalid", steps_back_text(finding), finding)
