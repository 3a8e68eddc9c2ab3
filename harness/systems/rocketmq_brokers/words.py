"""Findings of the brokers' checks, as data and in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from checker.core.wording import who
from history import Counterexample, Operation
from history.records.finding import Finding
from history.records.text import and_listed, counted
from history.records.verdicts import KeyVerdict

#: What each check requires.
REQUIRED: Final[Mapping[str, str]] = {
    "queues": "each queue is one log: an acknowledged message is at its offset on every replica, once, and no offset "
    "ever shows two messages; no replica has a hole, a message at the wrong place, or an end that goes back",
    "logs": "the commit logs of all replicas are the same, byte by byte, up to the smallest end",
    "replication": "an epoch has one start in all logs; controllers grant an epoch once, with the master in its set; "
    "what is acknowledged is on every broker of the set",
}
LOST: Final = "lost-message"
QUEUE_KINDS: Final[Mapping[str, str]] = {
    LOST: "at the end, no replica has a message that was acknowledged or read",
    "missing-on-replica": "at the end, a replica that has caught up lacks a message that was acknowledged or read",
    "hole": "a replica has no message at an offset below the end of its queue",
    "misplaced": "a message is at a different offset of its queue than the one stored in the message",
    "end-went-back": "the end of a queue moved back while its process kept running",
}
LOG_KINDS: Final[Mapping[str, str]] = {
    "logs-differ": "two replicas have different bytes at one position of the commit log, below the ends of both",
}
REPLICATION_KINDS: Final[Mapping[str, str]] = {
    "epoch-moved": "one epoch has two different starts",
    "two-states-of-one-epoch": "controllers report two sets, or two masters, with one epoch",
    "master-outside-set": "a controller reports a set of brokers in sync without its master",
    "acknowledged-without-member": "a message was acknowledged although a broker in sync lacked it",
}
#: Explanations of the words that readers of a run's results meet.
WORDS: Final = {
    "send": "a message with a unique number, acknowledged with its offset in the queue",
    "pull": "a read of one replica, from an offset of a queue onwards; it may be stale",
    "in doubt": "a send whose answer does not prove its outcome: the message may or may not be in the queue",
    "kept": "sends in doubt whose messages a reader found",
}


# -- queues -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """The first operation that showed a payload at a place: the send that was acknowledged there, or a read."""

    place: int
    payload: Any
    by: Operation


def end(read: Operation) -> int:
    return int(read.result["end"])


def queues_seen(
    lost: int, examples: Sequence[Counterexample], unknown: Iterable[str], sends: tuple[int, int, int]
) -> str:
    """Say what is wrong and what is undecided; ``sends`` are those acknowledged, in doubt, and in doubt but kept."""
    gone = [f"{counted(lost, 'message')} lost"] if lost else []
    wrong = [f"{len(examples)} wrong: {examples[0].sentence}"] if examples else []
    acknowledged, doubted, kept = sends
    of_sends = f"{counted(acknowledged, 'send')} acknowledged, {doubted} in doubt of which {kept} kept"
    return "; ".join([*gone, *wrong, *unknown, of_sends])


def undecided(key: object, judged: KeyVerdict) -> str:
    return f"{key}: {judged.failure or judged.reason}"


def unread(key: object, nodes: Iterable[str]) -> str:
    return f"{key} was not read at the end on {', '.join(nodes)}"


def says(one: Operation) -> str:
    """Return what an operation on the model of a log did, in a few words."""
    if one.f == "append":
        return f"{one.value} acknowledged at offset {one.result}" if one.outcome == "ok" else f"sends {one.value}"
    return f"reads {one.result} at offset {one.value}"


def shows(one: ShownMessage) -> str:
    did = f"{one.payload} acknowledged" if one.by.f == "send" else f"reads {one.payload}"
    return f"{did} at offset {one.place}"


def _saw(one: ShownMessage) -> str:
    did = "was acknowledged at" if one.by.f == "send" else "was read at"
    return f"{one.payload} {did} {one.place} ({who(one.by)})"


def ends(read: Operation) -> str:
    return f"ends at {end(read)}"


def lacks(payload: object) -> str:
    return f"lacks {payload}, like every replica"


def lost(one: ShownMessage, number: int) -> str:
    """Describe the first of ``number`` lost messages."""
    return f"{_saw(one)}, and at the end no replica holds it" + (f" (and {number - 1} more)" if number > 1 else "")


def missing(one: ShownMessage, read: Operation, furthest: int) -> str:
    other = f"that of another replica at {furthest}"
    return f"{_saw(one)}, and at the end the queue of {read.node} ends at {end(read)}, {other}"


def hole(node: str, place: int, ended: int) -> tuple[str, str]:
    """Return the sentence, and the part of the read."""
    text = f"{node} holds nothing at {place}, and names {ended} as the end of the queue"
    return text, f"nothing at {place}, although the queue ends at {ended}"


def misplaced(read: Operation, payload: object, place: int, offset: int) -> tuple[str, str]:
    """Return the sentence, and the part of the read."""
    text = f"{who(read)} read {payload} at {place}, and the message says that its offset is {offset}"
    return text, f"reads {payload} at {place}, stored as offset {offset}"


def went_back(earlier: Operation, later: Operation) -> str:
    return f"{who(earlier)} was told that it ends at {end(earlier)}, and later {who(later)} at {end(later)}"


# -- logs -------------------------------------------------------------------------------------------------------------

FEW_LOGS: Final = "fewer than two replicas caught up and left a log behind"
EMPTY_LOG: Final = "a replica reported an empty log"


class LogsDiffer(Finding, frozen=True, kw_only=True):
    """Two logs have different bytes at ``place``; a leader's log is the one that others are compared ``against``."""

    check: str = "logs"
    kind: str = "logs-differ"
    place: int
    against: str


def logs_differ(one: LogsDiffer, limit: int) -> str:
    return f"{one.against} and {one.nodes[-1]} have different bytes at {one.place} of {limit}"


def same_logs(limit: int, nodes: Iterable[str]) -> str:
    return f"the same {limit} bytes on {and_listed(nodes)}"


def logs_seen(text: str, missing: Sequence[str]) -> str:
    """Add which nodes' logs were not compared."""
    return text + (f"; {and_listed(missing)} not compared" if missing else "")


# -- replication ------------------------------------------------------------------------------------------------------


class EpochMoved(Finding, frozen=True, kw_only=True):
    """Two reports give an epoch two starts: the first of the nodes the first, the last of them the other."""

    check: str = "replication"
    kind: str = "epoch-moved"
    epoch: str
    starts: tuple[str, str]


class TwoStates(Finding, frozen=True, kw_only=True):
    """A ``figure`` of one epoch (``of``) was reported in two states: first by ``first_node``, then by the node."""

    check: str = "replication"
    kind: str = "two-states-of-one-epoch"
    figure: str
    of: str
    first_node: str
    states: tuple[str, str]


class MasterOutside(Finding, frozen=True, kw_only=True):
    """A controller reported a ``master`` that is not among the ``members`` of its set."""

    check: str = "replication"
    kind: str = "master-outside-set"
    master: str
    members: str


class MemberLacks(Finding, frozen=True, kw_only=True):
    """A message at ``place`` was acknowledged, and the log of a member of the set ended at ``end`` afterwards."""

    check: str = "replication"
    kind: str = "acknowledged-without-member"
    place: int
    end: int


def replication_seen(wrong: Iterable[Finding], epochs: int, sets: int, total: int, longest: int) -> str:
    """Describe what is wrong, count epochs and sets, and say how long their sizes were in dispute (ns)."""
    sizes = f"for {total / 1e9:.1f} s, at most {longest / 1e9:.1f} s at a time"
    about = f"the master and the controller disagreed about the size of the set {sizes}"
    return "; ".join([*map(_replication, wrong), f"{counted(epochs, 'epoch')}, {counted(sets, 'set')}", about])


def _replication(one: Finding) -> str:
    match one:
        case EpochMoved(nodes=nodes, epoch=epoch, starts=(first, second)):
            return f"epoch {epoch} starts at {first} on {nodes[0]}, and at {second} on {nodes[-1]}"
        case TwoStates(states=(first, second)):
            return f"{one.of} has {one.figure} {first} on {one.first_node} and {second} on {one.nodes[0]}"
        case MasterOutside():
            return f"master {one.master} is not in the set {one.members}"
        case MemberLacks():
            acknowledged = f"a message at {one.place} of the log was acknowledged"
            return f"{acknowledged}, and the log of {one.nodes[0]}, which is in the set, ends at {one.end}"
    raise AssertionError(one)
