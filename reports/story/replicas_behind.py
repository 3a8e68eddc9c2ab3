"""Sentences about replicas that did not catch up: where each is and since when, according to its own answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from history.records.text import and_listed
from reports.analysis.failed_starts import FailedStart
from reports.analysis.faults import FaultWindow, about_to_strike, fault_of, since_fault, when
from reports.analysis.findings import Drawn
from reports.analysis.lagging_nodes import CaughtUp, LaggingNode, caught_up, stand_of
from reports.analysis.log_falls import leading_since
from reports.analysis.node_timeline import GONE_S, ROLES, SILENT, NodeTimeline, left_at, silent_since
from reports.story.breaks import Clause
from reports.story.causes import at_snapshots
from reports.style.format import number, one_line, undated

_State: TypeAlias = Literal[
    "at the logs' end", "caught up", "moving", "never moved", "stopped", "fell back", "apart", "silent"
]

#: At most this many replicas are named in a headline; more are counted.
_FEW: Final = 3
#: A replica that stopped within this many seconds of falling behind fell behind because it stopped.
_SOON_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Behind:
    """A replica that is behind, and the time since which it is (s; None if no answer shows it).

    ``held`` is its index; ``cut``: that is where its log ends, below what it had applied.
    """

    node: str
    state: _State
    since: float | None
    held: int = -1
    cut: bool = False
    caught_up: CaughtUp | None = None


class BehindHeadline(NamedTuple):
    """The text and clauses of a break's headline, and since when it is true (s)."""

    text: str
    clauses: tuple[Clause, ...]
    onset: float | None


def behind_text(drawn: Drawn, behind: Sequence[NodeTimeline]) -> BehindHeadline:
    """Say where the replicas that are behind are, or that they do not answer or start; and from what time on (s).

    A node is dated by its own answers.  One that never answered, or never reported its log, has no beginning.
    """
    end = drawn.run.end / 1e9
    starts = [start for start in drawn.failed_starts if start.node in {timeline.node for timeline in behind}]
    nodes = classified(drawn, behind)
    onset = min(
        [since for since in (*(node.since for node in nodes), *(start.last for start in starts)) if since], default=None
    )
    parts = [starts_text(starts, drawn.windows, end)] if starts else []
    for state, sentences in _SENTENCES.items():
        if alike := [node for node in nodes if node.state == state]:
            parts += sentences(drawn, alike)
    text, *others = parts
    clauses = [Clause((f"; {part}",), part) for part in others]
    if not starts and (stopped := [node for node in nodes if node.state == "stopped"]):
        clauses = [*_why_stopped(drawn, stopped), *clauses]
    if not starts and (back := [node for node in nodes if node.state == "fell back"]) and len(back) == len(nodes):
        clauses = [*_led(drawn, min(node.since or 0.0 for node in back)), *clauses]
    return BehindHeadline(text, tuple(clauses), onset)


def classified(drawn: Drawn, behind: Sequence[NodeTimeline]) -> list[Behind]:
    """Classify these replicas by how they are behind, except those that do not start again."""
    failed = {start.node for start in drawn.failed_starts}
    return [_classified(drawn, node) for node in sorted(behind, key=lambda node: node.node) if node.node not in failed]


def fell_text(drawn: Drawn, nodes: Sequence[str]) -> str:
    """Say when replicas fell behind that still applied entries for a while; empty if none did."""
    by_text: dict[str, list[LaggingNode]] = {}
    for node in drawn.stopped.lagging if drawn.stopped else ():
        if node.node in nodes and node.fell_first and not node.fell_back:
            by_text.setdefault(node.fell_text(), []).append(node)
    parts = [
        f"{and_listed(node.node for node in alike)} fell behind earlier, "
        f"{alike[0].fell_text('them' if len(alike) > 1 else 'it')}"
        for alike in by_text.values()
    ]
    return f"{'; '.join(parts)}." if parts else ""


def _classified(drawn: Drawn, timeline: NodeTimeline) -> Behind:
    node, end = timeline.node, drawn.run.end / 1e9
    if (silent := silent_since(timeline, end)) is not None:
        return Behind(node, "silent", silent)
    if not timeline.reports:
        return Behind(node, "apart", _left(timeline))
    if caught := caught_up(timeline, drawn.timelines):
        return Behind(node, "caught up", caught.since, caught_up=caught)
    since, held, back = stand_of(timeline, drawn.timelines)
    if 0 <= _logs_end(drawn) <= held < _target(drawn):
        return Behind(node, "at the logs' end", since, held)
    cut = held < int(timeline.applied[timeline.role != SILENT][-1])
    if since is None or back:
        return Behind(node, "fell back" if back else "never moved", since, held, cut)
    return Behind(node, "moving" if end - since < GONE_S else "stopped", since, held, cut)


def _at_the_logs_end(drawn: Drawn, nodes: Sequence[Behind]) -> list[str]:
    return [f"At the end {_stand(drawn, nodes)}, where every log ends, {_of_all(drawn)}"]


def _caught_up(drawn: Drawn, nodes: Sequence[Behind]) -> list[str]:
    return [_caught(drawn, replica.node, replica.caught_up) for replica in nodes if replica.caught_up]


def _moving(drawn: Drawn, nodes: Sequence[Behind]) -> list[str]:
    was, target = "was" if len(nodes) == 1 else "were", _writer(drawn)(_farthest(drawn))
    return [f"At the end {_stand(drawn, nodes)} {was} behind {target}, still applying"]


def _never_moved(drawn: Drawn, nodes: Sequence[Behind]) -> list[str]:
    return [f"{_stand(drawn, nodes, 'was at')} in all answers that it gave, {_of_all(drawn)}"]


def _stopped(drawn: Drawn, nodes: Sequence[Behind]) -> list[str]:
    moments = sorted((replica.since, replica.node) for replica in nodes if replica.since is not None)
    cut = any(replica.cut for replica in nodes)
    did, word = ("stalled", "from") if cut else ("stopped applying", "at")
    first, last = moments[0][0], moments[-1][0]
    if f"{first:.1f}" == f"{last:.1f}":
        stopped = f"{_named(drawn, nodes)} {did} {word} {when(first, drawn.windows)}"
    elif len(nodes) <= _FEW:
        dated: dict[str, list[str]] = {}
        for since, node in moments:
            dated.setdefault(f"{since:.1f} s", []).append(node)
        (_, leading), *others = dated.items()
        later = "".join(f", {and_listed(names)} {word} {since}" for since, names in others)
        stopped = f"{and_listed(leading)} {did} {word} {when(first, drawn.windows)}{later}"
    else:
        stopped = f"{_named(drawn, nodes)} {did} from {when(first, drawn.windows)}, to {last:.1f} s"
    return [stopped, f"{_stand(drawn, nodes, since=True)}, {_of_all(drawn)}"]


def _fell_back(drawn: Drawn, nodes: Sequence[Behind]) -> list[str]:
    since = min(replica.since for replica in nodes if replica.since is not None)
    fell = f"{_named(drawn, nodes)} never caught up after {when(since, drawn.windows)}"
    return [fell, f"{_stand(drawn, nodes, since=True)}, {_of_all(drawn)}"]


def _named(drawn: Drawn, nodes: Sequence[Behind]) -> str:
    """Name the nodes if they are few; else count them."""
    few = len(nodes) <= _FEW
    return and_listed(replica.node for replica in nodes) if few else f"{len(nodes)} of {len(drawn.timelines)} replicas"


def _why_stopped(drawn: Drawn, nodes: Sequence[Behind]) -> list[Clause]:
    """Say where replicas stopped or since when they had been behind, if the records show it, and who led."""
    names, since = {peer.node for peer in nodes}, min(peer.since for peer in nodes if peer.since is not None)
    if names == {node for node, _ in at_snapshots(drawn, [peer for peer in drawn.timelines if peer.node in names])}:
        them = "it" if len(names) == 1 else "them"
        return [Clause((f", where the leader's snapshot had put {them}",)), *_led(drawn, since)]
    lagging = [peer for peer in drawn.stopped.lagging if peer.node in names] if drawn.stopped else []
    fell = [peer for peer in lagging if peer.fell_first and since - peer.fell > _SOON_S]
    if not fell or len(fell) < len(nodes):
        return _led(drawn, since)
    first = min(fell, key=lambda peer: peer.fell)
    who = (
        f"{first.node} "
        if len({f"{peer.fell:.1f}" for peer in fell}) > 1
        else {1: "", 2: "both "}.get(len(fell), "all ")
    )
    if (struck := about_to_strike(first.node, first.fell, drawn.windows)) is not None:
        them = "it" if len(names) == 1 or who.startswith(first.node) else "them"
        forms = [f", {who}behind since {struck.name} struck {them}", f", {who}behind since {first.fell:.1f} s"]
    else:
        fault = fault_of(first.fell, drawn.windows)
        then = f", {who}behind since {first.fell:.1f} s"
        forms = [f"{then}{since_fault(first.fell, drawn.windows)[-1]}"]
        if fault and fault.stands(first.fell, first.fell) and fault == fault_of(since, drawn.windows):
            forms = [f"{then}, during #{fault.id}"]
        forms.append(then)
    return [Clause(tuple(forms)), *_led(drawn, since)]


def _led(drawn: Drawn, moment: float) -> list[Clause]:
    led = leading_since(drawn.timelines, moment)
    return [] if led is None else [Clause((f"; leader {led[0]} since {led[1]:.1f} s",))]


def _apart(drawn: Drawn, nodes: Sequence[Behind]) -> list[str]:
    return [
        f"{replica.node} answers, and has neither led nor known a leader since {when(replica.since, drawn.windows)}"
        if replica.since
        else f"{replica.node} answers, and named neither role nor log"
        for replica in nodes
    ]


def _silent(drawn: Drawn, nodes: Sequence[Behind]) -> list[str]:
    return [
        f"{replica.node} gave its last answer at {when(replica.since, drawn.windows, replica.node)}"
        if replica.since
        else f"{replica.node} never answered a probe"
        for replica in nodes
    ]


#: Sentences about the replicas in each state, in this order.
_SENTENCES: Final[Mapping[_State, Callable[[Drawn, Sequence[Behind]], list[str]]]] = {
    "at the logs' end": _at_the_logs_end,
    "caught up": _caught_up,
    "moving": _moving,
    "never moved": _never_moved,
    "stopped": _stopped,
    "fell back": _fell_back,
    "apart": _apart,
    "silent": _silent,
}


def _writer(drawn: Drawn) -> Callable[[int], str]:
    return drawn.timelines[0].index if drawn.timelines else number


def _target(drawn: Drawn) -> int:
    """Return the highest index that any node knew to be committed."""
    return max(int(timeline.committed.max(initial=-1)) for timeline in drawn.timelines)


def _farthest(drawn: Drawn) -> int:
    """Return the highest index known to be committed, or that a node had applied if none says what is committed."""
    target = _target(drawn)
    return target if target >= 0 else max(int(timeline.applied.max(initial=-1)) for timeline in drawn.timelines)


def _logs_end(drawn: Drawn) -> int:
    """Return the end of the longest log in the last answers; -1 if no node reports one."""
    answered = [(timeline, timeline.role != SILENT) for timeline in drawn.timelines]
    return max((int(timeline.log_end[rows][-1]) for timeline, rows in answered if rows.any()), default=-1)


def _of_all(drawn: Drawn) -> str:
    reached = "were committed by the end" if _target(drawn) >= 0 else "another node had applied"
    unit = drawn.run.environment.get("index_unit")
    return f"of {_writer(drawn)(_farthest(drawn))}{f' {unit}' if unit else ''} that {reached}"


def starts_text(starts: Sequence[FailedStart], windows: Sequence[FaultWindow], end: float) -> str:
    """Say which nodes do not start again, how long each has been silent, and what the end of its log says.

    Servers may start after the ``end`` of the record (s); the text notes if a log line is that late.
    """
    names = [start.node for start in starts]
    parts, previous = [], ""
    for start in starts:
        gone = (
            f"{start.node} gave its last answer at {when(start.last, windows, start.node)}"
            if start.last
            else f"{start.node} never answered"
        )
        reason = reason_of(start)
        says = " the same" if reason == previous else f": {reason}"
        parts.append(gone + (f"; the end of its log{_dated(start, end)} says{says}" if reason else ""))
        previous = reason
    return f"{and_listed(names)} {'do' if len(names) > 1 else 'does'} not start again: {'; '.join(parts)}"


def _dated(start: FailedStart, end: float) -> str:
    if start.logged is None:
        return ""
    return f" ({start.logged:.1f} s{', after the end of the record' if start.logged > end else ''})"


def reason_of(start: FailedStart) -> str:
    """Return the log line that says why a server died, without its timestamp and cut to 160 characters."""
    return one_line(undated(start.line), 160)


def _caught(drawn: Drawn, node: str, span: CaughtUp) -> str:
    """Say from what time on a node that caught up by the end had been behind, and whether a restart came before."""
    moments = drawn.run.state.get("moments")
    again = moments.get("restarting") if isinstance(moments, Mapping) else None
    restarted = isinstance(again, int) and span.since < again / 1e9 < span.until
    was = "applied nothing" if span.still else "was behind"
    then = "after the restart at the end" if restarted else "by the end"
    return f"{node} {was} from {when(span.since, drawn.windows)}, until {span.until:.1f} s; it caught up {then}"


def _left(timeline: NodeTimeline) -> float | None:
    """Return the time since which a node neither leads nor follows (s); None if it was never seen to do so."""
    return left_at(timeline) if (timeline.role <= ROLES.index("follower")).any() else None


def _stand(drawn: Drawn, nodes: Sequence[Behind], stands: str = "at", *, since: bool = False) -> str:
    """Say where each node is and, with ``since``, from what time on (s)."""
    write = _writer(drawn)
    return ", ".join(
        (
            f"{node.node} {stands} {write(node.held)}{', where its log ends' if node.cut else ''}"
            if node.held >= 0
            else f"{node.node} with nothing applied"
        )
        + (f" since {node.since:.1f} s" if since and node.since is not None and node.state == "stopped" else "")
        for node in nodes
    )
