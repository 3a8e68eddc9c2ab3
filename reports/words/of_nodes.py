"""Checks of nodes in words: what each requires, and what was seen.

The verdict has plain indexes; the page formats them and says what happened at one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from history import Check, Verdict
from history.records.finding import (
    BeyondLog,
    CommitBeyondLog,
    Digest,
    EntriesDeleted,
    EntryFate,
    Fall,
    Finding,
    LeaderLacksCommitted,
    NodeMoment,
    OfNodes,
    ReplicasDiffer,
    ShortLeader,
    StepBack,
    TermForgotten,
    TwoLeaders,
)
from history.records.text import and_listed, counted

#: Formats an index.
Write: TypeAlias = Callable[[int], str]
M = TypeVar("M", bound=NodeMoment)
#: How many characters of a digest the page shows, and the verdict.
DIGEST: Final = 12
_SHORT_DIGEST: Final = 8
_REQUIRED: Final[Mapping[str, str]] = {
    "replicas-agree": "nodes at the same index have the same contents",
    "election-safety": "no term has two leaders",
    "terms-kept": "no node goes back to an earlier term",
    "leader-complete": "a leader has every entry that was committed before it led",
    "log-order": "on every node applied <= committed <= end of the log",
    "committed-kept": "no node removes committed entries from its log",
    "node-logs": "no line in the nodes' logs and no answer is a violation by itself",
}
#: What was seen if that is too little to decide.
_TOO_LITTLE: Final[Mapping[str, str]] = {
    "replicas-agree": "not compared, because the servers report no digest of their contents",
    "election-safety": "no node was seen to lead in any term",
    "terms-kept": "no node reported its term more than once",
    "leader-complete": "no leader answered three times in a row",
    "log-order": "no node answered twice in a row",
    "committed-kept": "no node reported the end of its log twice",
}
#: Why a check is left out if no node reports a figure; without any figure, nodes report nothing.
_UNREPORTED: Final[Mapping[str, str]] = {
    "": "this system's nodes report nothing about themselves",
    "digest": "no digest of the nodes' contents was reported",
    "state_index": "the index of the nodes' contents was not reported",
    "role": "who leads was not reported",
    "term": "terms were not reported",
    "log_end": "where logs end was not reported",
    "committed": "what is committed was not reported",
}


def without_checks_text(names: Sequence[str], figure: str = "") -> str:
    """Say that these checks are left out because no node reports a figure, or nothing at all."""
    return f"{and_listed(names)} {'are' if len(names) > 1 else 'is'} left out: {_UNREPORTED[figure]}"


def silent_check(name: str) -> Check:
    """Return a check of nodes that never answered."""
    return Check(name, "check", "unknown", "what nodes report about themselves", "no node ever answered a probe")


def node_check(name: str, verdict: Verdict, text: str, *findings: Finding) -> Check:
    """Return a check of the nodes, with the words for what it requires."""
    return Check(name, "check", verdict, _REQUIRED[name], text, findings)


def undecided(name: str) -> Check:
    """Return a check of the nodes that saw too little to decide."""
    return node_check(name, "unknown", _TOO_LITTLE[name])


def two_leaders_text(finding: TwoLeaders) -> str:
    """Return text such as "term 7: n1 and n2"."""
    return "; ".join(f"term {term}: {and_listed(nodes)}" for term, nodes in finding.terms.items())


def leaders_text(terms: int, claims: int, excused: Iterable[int]) -> str:
    """Say how many terms had a leader; two in one of the ``excused`` terms follow from damage by a fault."""
    text = f"{counted(terms, 'term')} with a leader"
    if doubled := ", ".join(map(str, sorted(excused))):
        text += f", two in term {doubled} after an injected fault destroyed the file with a vote"
    return f"{text}, {claims} claims to lead" if claims > terms else text


def followed_text(nodes: int, forgetful: Iterable[str] = ()) -> str:
    """Say how many nodes were tracked, and which are excused although they forgot a term."""
    names = ", ".join(sorted(forgetful))
    forgot = f" ({names} forgot a term because an injected fault destroyed its file)" if names else ""
    return f"{counted(nodes, 'node')} tracked{forgot}"


def steps_back_text(finding: TermForgotten) -> str:
    """Describe the first step back of each node."""
    return "; ".join(map(step_back_text, _first_of_each_node(finding.moments)))


def _first_of_each_node(moments: Sequence[M]) -> list[M]:
    return [moment for _, moment in sorted({each.node: each for each in reversed(moments)}.items())]


def left_out_text(number: int, nodes: Iterable[str]) -> str:
    """Say that this many findings on nodes with a cut log do not count; empty if there are none."""
    names = ", ".join(sorted(nodes))
    return f" ({number} left out on {names}: an injected fault had cut the log there)" if number else ""


def deletions_text(finding: EntriesDeleted, left_out: str) -> str:
    """Describe the first fall of a log that proves a violation, when the others were, and which entries are gone."""
    first = next(fall for fall in finding.moments if fall.proves)
    others: dict[str, list[str]] = {}
    for fall in finding.moments:
        if fall is not first:
            others.setdefault(fall.node, []).append(f"{fall.time / 1e9:.1f}")
    when = ", ".join(f"{node} at {and_listed(times)} s" for node, times in sorted(others.items()))
    more = f", and {finding.count - 1} more like it ({when})" if when else ""
    return "; ".join([f"{fall_text(first)}{more}{left_out}", *entries_text(finding.entries)])


def pairs_text(number: int, left_out: str) -> str:
    return counted(number, "pair of answers", "pairs of answers") + left_out


def order_text(finding: CommitBeyondLog, by_node: Mapping[str, int], pairs: str) -> str:
    """Say in how many of the ``pairs`` of answers the order was broken, and how first on each node."""
    parts = (
        f"{number} such answers, the first: {beyond_text(first)}" if number > 1 else beyond_text(first)
        for first in _first_of_each_node(finding.moments)
        for number in (by_node[first.node],)
    )
    return f"broken in {finding.count} of {pairs}: " + "; ".join(parts)


def leaders_followed_text(number: int, cut_at: int | None) -> str:
    """Say how many leaders were tracked, and until when if a fault cut a log."""
    until = "" if cut_at is None else f" until an injected fault damaged a log or a term at {cut_at / 1e9:.1f} s"
    return f"{counted(number, 'leader')} tracked{until}"


def short_leaders_text(finding: LeaderLacksCommitted) -> str:
    return "; ".join(map(short_leader_text, _first_of_each_node(finding.moments)))


def differ_text(of: str, index: int, sides: Sequence[tuple[str, Collection[str]]], others: int, *, alike: bool) -> str:
    """Say how the ``sides`` (digest and nodes) differ at an index, and at how many ``others`` contents differ.

    An example is "at index 120 n3 differs from n1 and n2, and so at 4 more indexes; at index 120 n3 held 9f2c01ab, n1
    and n2 held 77b01d22".  ``alike``: the same nodes differ at all of them.
    """
    digests = [digest[:_SHORT_DIGEST] for digest, _ in sides]
    first, *rest = names = [and_listed(sorted(nodes)) for _, nodes in sides]
    verb, and_from = (" differs from ", " and from ") if len(sides[0][1]) == 1 else (" against ", " against ")
    so = "so" if alike else "contents differ"
    more = f", and {so} at {counted(others, 'more index', 'more indexes')}" if others else ""
    held = ", ".join(f"{nodes} held {digest}" for nodes, digest in zip(names, digests, strict=True))
    return f"at {of} {index} {first}{verb}{and_from.join(rest)}{more}; at {of} {index} {held}"


def digests_text(number: int, common: int | None = None) -> str:
    """Say how many digests were compared, and at how many indexes; None if at none."""
    if common is None:
        return f"{counted(number, 'digest')}, none of an index that several nodes reported: not compared"
    return f"{counted(number, 'digest')}, {counted(common, 'index', 'indexes')} that several nodes reported"


def alone_text(after: str, nodes: Iterable[str]) -> str:
    """Say that contents of nodes could not be compared after an event."""
    return f"after {after} {and_listed(nodes)} reported no index that another node reported: contents not compared"


def fall_text(fall: Fall) -> str:
    """Return text such as "n1's log ended at 218 at 7.3 s although 984 had been committed there"."""
    where = "there before it was restarted" if fall.restarted else "there"
    ended = f"{fall.node}'s log ended at {fall.log_end} at {fall.time / 1e9:.1f} s"
    text = f"{ended} although {fall.committed} had been committed {where}"
    if fall.index_fell is not None:
        text += "; its commit index itself fell from {} to {}".format(*fall.index_fell)
    return text


def beyond_text(answer: BeyondLog) -> str:
    """Return text such as "n4's log ended at 4012 at 31.2 s with 13015 committed"."""
    at = f"at {answer.time / 1e9:.1f} s"
    if answer.above == "committed":
        return f"{answer.node}'s log ended at {answer.bound} {at} with {answer.index} committed"
    return f"{answer.node} had applied {answer.index} {at} with {answer.bound} committed"


def short_leader_text(lead: ShortLeader) -> str:
    """Say that a node led with a log that lacked committed entries.

    An example is "n4 led in term 7 at 31.2 s with a log that ended at 12 although 15 had been committed (on n1)".
    """
    ended = f"a log that ended at {lead.log_end} although {lead.committed} had been committed (on {lead.told_by})"
    return f"{lead.node} led in term {lead.term} at {lead.time / 1e9:.1f} s with {ended}"


def step_back_text(step: StepBack) -> str:
    """Return text such as "n1 was in term 7 at 3.0 s, and in term 0 at 5.0 s"."""
    before = f"{step.node} was in term {step.before} at {step.last / 1e9:.1f} s"
    return f"{before}, and in term {step.term} at {step.time / 1e9:.1f} s"


def entries_text(entries: EntryFate | None, write: Write = str) -> list[str]:
    """Return a clause about entries that were gone from every node's log; an empty list if some log held them.

    An example is "entries 61 to 100, which were committed, were in no node's log at 2.0 s".
    """
    if entries is None or entries.fate != "lost":
        return []
    which = f"entries {write(entries.longest + 1)} to {write(entries.index)}, which were committed"
    return [f"{which}, were in no node's log at {entries.time / 1e9:.1f} s"]


def moment_text(about: OfNodes, moment: NodeMoment, write: Write) -> str | None:
    """Say what a node did at a moment, such as "log ends at 5, 90 had been committed there".

    Returns None for findings that have no such text.
    """
    say = _OF_MOMENTS.get(type(about))
    return say(moment, write) if say else None


def _deletion(moment: Fall, write: Write) -> str:
    before = " before it was restarted" if moment.restarted else ""
    text = f"{_end_of_log(moment.log_end, write)}, {write(moment.committed)} had been committed there{before}"
    if fell := moment.index_fell:
        text += f"; its commit index itself fell from {write(fell[0])} to {write(fell[1])}"
    return text


def _step_back(moment: StepBack, _: Write) -> str:
    return f"in term {moment.term}, after term {moment.before}"


def _beyond(moment: BeyondLog, write: Write) -> str:
    held = _end_of_log(moment.bound, write) if moment.above == "committed" else f"committed at {write(moment.bound)}"
    return f"{held}, {write(moment.index)} {moment.above} there"


def _end_of_log(end: int, write: Write) -> str:
    return f"log ends at {write(end)}" if end >= 0 else "log is empty"


def _short_leader(moment: ShortLeader, write: Write) -> str:
    held = f"{write(moment.log_end)} of {write(moment.committed)}"
    return f"leads in term {moment.term} with {held} committed entries"


def _contents(moment: Digest, write: Write) -> str:
    return f"contents {moment.digest[:DIGEST]} at {moment.of} {write(moment.index)}"


_OF_MOMENTS: Final[Mapping[type, Callable[[Any, Write], str]]] = {
    EntriesDeleted: _deletion,
    TermForgotten: _step_back,
    CommitBeyondLog: _beyond,
    LeaderLacksCommitted: _short_leader,
    ReplicasDiffer: _contents,
}
