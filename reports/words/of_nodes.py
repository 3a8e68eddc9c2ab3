"""Findings about nodes in words: for the verdict, with plain indexes, and for the page, at one moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from history.records.finding import (
    BeyondLog,
    CommitBeyondLog,
    Digest,
    EntriesDeleted,
    EntryFate,
    Fall,
    LeaderLacksCommitted,
    NodeMoment,
    OfNodes,
    ReplicasDiffer,
    ShortLeader,
    StepBack,
    TermForgotten,
)

#: Formats an index.
Write: TypeAlias = Callable[[int], str]
#: How many characters of a digest are shown.
DIGEST: Final = 12


def fall_text(fall: Fall) -> str:
    """Return text such as "n1's log ended at 218 at 7.3 s although 984 had been committed there"."""
    where = "there before it was restarted" if fall.restarted else "there"
    ended = f"{fall.node}'s log ended at {fall.log_end} at {fall.time / 1e9:.1f} s"
    text = f"{ended} although {fall.committed} had been committed {where}"
    if fall.index_fell is not None:
        text += "; its commit index itself fell from {} to {}".format(*fall.index_fell)
    return text


def beyond_text(one: BeyondLog) -> str:
    """Return text such as "n4's log ended at 4012 at 31.2 s with 13015 committed"."""
    at = f"at {one.time / 1e9:.1f} s"
    if one.above == "committed":
        return f"{one.node}'s log ended at {one.bound} {at} with {one.index} committed"
    return f"{one.node} had applied {one.index} {at} with {one.bound} committed"


def short_leader_text(one: ShortLeader) -> str:
    """Say that a node led with a log that lacked committed entries.

    An example is "n4 led in term 7 at 31.2 s with a log that ended at 12 although 15 had been committed (on n1)".
    """
    ended = f"a log that ended at {one.log_end} although {one.committed} had been committed (on {one.told_by})"
    return f"{one.node} led in term {one.term} at {one.time / 1e9:.1f} s with {ended}"


def step_back_text(one: StepBack) -> str:
    """Return text such as "n1 was in term 7 at 3.0 s, and in term 0 at 5.0 s"."""
    before = f"{one.node} was in term {one.before} at {one.last / 1e9:.1f} s"
    return f"{before}, and in term {one.term} at {one.time / 1e9:.1f} s"


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
