"""Check election safety from the probes: no term has two leaders, and no node returns to an earlier term."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from harness.judge.damage import NONE, Damages
from history import Check, Probe
from history.records.finding import Claim, StepBack, TermForgotten, TwoLeaders
from history.records.text import and_listed, counted
from reports.words.of_nodes import step_back_text


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
    leaders = sum(len(nodes) for nodes in claims.values())
    asked = "no term has two leaders"
    if double:
        seen = "; ".join(f"term {term}: {and_listed(nodes)}" for term, nodes in sorted(double.items()))
        moments = [
            Claim(node, first[term, node], term)
            for term, nodes in sorted(double.items())
            for node in sorted(nodes, key=lambda node: first[term, node])
        ]
        second = min(sorted(first[term, node] for node in nodes)[1] for term, nodes in double.items())
        led = {term: tuple(nodes) for term, nodes in double.items()}
        finding = TwoLeaders(since=second, terms=led, moments=tuple(moments))
        return Check("election-safety", "check", "invalid", asked, seen, (finding,))
    if not claims:
        return Check("election-safety", "check", "unknown", asked, "no node was seen to lead in any term")
    seen = f"{counted(len(claims), 'term')} with a leader"
    if every:
        terms = ", ".join(map(str, sorted(every)))
        seen += f", two in term {terms} after an injected fault destroyed the file with a vote"
    if leaders > len(claims):
        seen += f", {leaders} claims to lead"
    return Check("election-safety", "check", "valid", asked, seen)


def check_terms(probes: Sequence[Probe], damages: Damages = NONE) -> Check:
    """Check that no node returns to an earlier term, even across restarts of its process or machine.

    Raft requires a node to put the term and its vote on stable storage before it answers under them (figure 2 of the
    Raft paper: "updated on stable storage before responding to RPCs").  A node that forgets them may vote a second time
    in the same term, which can give one term two leaders.  If we destroyed the file with the term, the step back is
    left out.
    """
    asked = "no node goes back to an earlier term"
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
        return Check("terms-kept", "check", "unknown", asked, "no node reported its term more than once")
    if not moments:
        seen = f"{counted(len(newest), 'node')} followed"
        if excused:
            seen += f" ({', '.join(sorted(excused))} forgot a term because an injected fault destroyed its file)"
        return Check("terms-kept", "check", "valid", asked, seen)
    nodes = {moment.node: moment for moment in reversed(moments)}  # the first moment of each node
    seen = "; ".join(step_back_text(first) for _, first in sorted(nodes.items()))
    finding = TermForgotten(
        nodes=tuple(sorted(nodes)), since=moments[0].time, count=len(moments), moments=tuple(moments)
    )
    return Check("terms-kept", "check", "invalid", asked, seen, (finding,))
