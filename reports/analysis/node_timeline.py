"""Roles, terms and indexes of the nodes over time, from their probes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from history import Probe, Receipt
from history.columns.operations import Floats, Ints
from history.records.indexes import between
from history.records.probes import LeadershipClaim, leader_by
from reports.style.format import index as index_of

ROLES: Final = ("leader", "follower", "candidate", "unknown", "silent")
SILENT: Final = 4
_EVER: Final = 2**62
#: A probe counts until the node's next one, but at most for this many seconds (six probes at four a second).
STALE_S: Final = 1.5
#: Seconds between rounds of probes; probes of two nodes at most half of that apart belong to the same round.
ROUND_S: Final = 0.25
#: A node without an answer for this many seconds at the end of the record is called silent.
GONE_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class NodeTimeline:
    """One node's probes as arrays of equal length: ``time`` in seconds, ``role`` as index into :data:`ROLES`.

    Indexes are -1 if not reported.  ``named`` is the node that it takes for the leader.  Only a ``member`` may
    lead, and only members count in majorities.  ``without`` are intervals (s) in which a fault had killed its
    server but it answered, so another process did.
    """

    node: str
    time: Floats
    role: Ints
    term: Ints
    log_end: Ints
    committed: Ints
    applied: Ints
    saved: Ints
    loaded: Ints
    named: tuple[str | None, ...] = ()
    member: bool = True
    epoch_bits: int = 0
    without: tuple[tuple[float, float], ...] = ()

    def index(self, index: int) -> str:
        """Format one of the node's indexes."""
        return index_of(index, self.epoch_bits)

    @property
    def reports(self) -> bool:
        """Whether the node ever reported an index; without one its progress is unknown."""
        return any(bool((column >= 0).any()) for column in (self.log_end, self.committed, self.applied))


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time from ``start`` to ``end`` (seconds) in which a node kept one role in one term."""

    node: str
    role: str
    term: int
    start: float
    end: float


def timelines_of(
    probes: Sequence[Probe],
    nodes: Sequence[str],
    receipts: Sequence[Receipt] = (),
    members: Sequence[str] = (),
    epoch_bits: int = 0,
) -> list[NodeTimeline]:
    """Return a timeline for each node, in the order of ``nodes``; a node that was never probed has an empty one.

    If ``members`` is empty, all nodes are members.  A killed node is silent from the moment when the fault saw that
    it was gone, not only from its next probe.
    """
    by_node: dict[str, list[Probe]] = {node: [] for node in nodes}
    for probe in probes:
        by_node.setdefault(probe.node, []).append(probe)
    without: dict[str, list[tuple[float, float]]] = {}
    for node, pid, gone, back in _kills(receipts):
        rows = by_node.get(node, [])
        if any(row.answered and not row.pid and gone <= row.time < back for row in rows):
            without.setdefault(node, []).append((gone / 1e9, back / 1e9))
        elif rows and not any(row.answered and row.pid == pid and row.time >= gone for row in rows):
            rows.append(Probe(gone, node, error="killed"))
            rows.sort(key=lambda row: row.time)
    return [
        replace(
            _timeline(node, rows, member=not members or node in members),
            epoch_bits=epoch_bits,
            without=tuple(without.get(node, ())),
        )
        for node, rows in by_node.items()
    ]


def _kills(receipts: Sequence[Receipt]) -> Iterator[tuple[str, int, int, int]]:
    """Yield (node, process, gone by, gone until) for each process that a fault saw die; times in ns.

    Until the fault is healed, no other process takes its place.
    """
    for receipt in receipts:
        gone = receipt.witness.get("pids_gone") if isinstance(receipt.witness, dict) else None
        if isinstance(gone, dict) and receipt.stood is not None:
            for node, pid in gone.items():
                yield str(node), pid, receipt.stood, receipt.heal_started or receipt.healed or _EVER


def _timeline(node: str, rows: list[Probe], *, member: bool) -> NodeTimeline:
    def column(name: str) -> Ints:
        return np.array([getattr(row, name) for row in rows], dtype=np.int64)

    return NodeTimeline(
        node=node,
        time=column("time") / 1e9,
        role=np.array([_role(row) for row in rows], dtype=np.int64),
        term=column("term"),
        log_end=column("log_end"),
        committed=column("committed"),
        applied=column("applied"),
        saved=column("snapshots_saved"),
        loaded=column("snapshots_loaded"),
        named=tuple(row.leader for row in rows),
        member=member,
    )


def _role(probe: Probe) -> int:
    return ROLES.index(probe.role) if probe.answered and probe.role in ROLES else SILENT


def _counts_until(timeline: NodeTimeline, place: int) -> float:
    """Return until when a probe counts (s): until the node's next probe, but at most :data:`STALE_S`.

    An answer before silence counts for one round only: the node was probed again then, and the failed probe is late
    only by its timeout.
    """
    start = float(timeline.time[place])
    if place + 1 == len(timeline.time):
        return start + STALE_S
    unanswered = timeline.role[place] != SILENT and timeline.role[place + 1] == SILENT
    return min(float(timeline.time[place + 1]), start + (ROUND_S if unanswered else STALE_S))


def stretches(timeline: NodeTimeline) -> list[Stretch]:
    """Merge probes with the same role and term; a gap longer than :data:`STALE_S` ends a stretch.

    Silence begins when the answer before it stops counting.
    """
    merged: list[Stretch] = []
    for place in range(len(timeline.time)):
        start = float(timeline.time[place])
        end = _counts_until(timeline, place) if place + 1 < len(timeline.time) else start + ROUND_S
        role, term = ROLES[int(timeline.role[place])], int(timeline.term[place])
        last = merged[-1] if merged else None
        if last and role == "silent" != last.role and start - float(timeline.time[place - 1]) <= STALE_S:
            start = last.end
        if last and (last.role, last.term) == (role, term) and abs(last.end - start) < 1e-9:
            merged[-1] = Stretch(timeline.node, role, term, last.start, end)
        else:
            merged.append(Stretch(timeline.node, role, term, start, end))
    return merged


def leader_at(timelines: Sequence[NodeTimeline], seconds: float) -> str | None:
    """Return the leader according to each node's newest probe before a moment; None if there is none.

    ``history.records.probes.leader_by`` decides between claims.
    """
    claims = [
        LeadershipClaim(
            peer.node, int(peer.role[place]) == 0, int(peer.term[place]), peer.named[place] if peer.named else None
        )
        for peer, place in _answering(timelines, seconds)
    ]
    return leader_by(claims, [timeline.node for timeline in timelines if timeline.member])


def _leading(timelines: Sequence[NodeTimeline], seconds: float) -> Iterator[tuple[NodeTimeline, int]]:
    """Yield the timelines of all nodes that called themselves leader then, with the place of that probe."""
    return (pair for pair in _answering(timelines, seconds) if pair[0].role[pair[1]] == 0)


def _answering(timelines: Sequence[NodeTimeline], seconds: float) -> Iterator[tuple[NodeTimeline, int]]:
    """Yield the timelines of all nodes that answered then, with the place of that probe."""
    for timeline in timelines:
        place = int(np.searchsorted(timeline.time, seconds, side="right")) - 1
        if place >= 0 and timeline.role[place] != SILENT and seconds <= _counts_until(timeline, place):
            yield timeline, place


def have_roles(timelines: Sequence[NodeTimeline]) -> bool:
    """Return whether any node ever said that it leads, follows or stands for election.

    Some systems have no leaders.
    """
    return any(bool((timeline.role <= ROLES.index("candidate")).any()) for timeline in timelines)


def have_indexes(timelines: Sequence[NodeTimeline]) -> bool:
    """Return whether any node ever reported an index of its log."""
    return any(timeline.reports for timeline in timelines)


def role_at(timelines: Sequence[NodeTimeline], node: str | None, seconds: float) -> str | None:
    """Return a node's role by its newest probe up to a moment; None if it was silent or the probe is too old."""
    timeline = next((timeline for timeline in timelines if timeline.node == node), None)
    place = int(np.searchsorted(timeline.time, seconds, side="right")) - 1 if timeline else -1
    if timeline is None or place < 0 or timeline.role[place] == SILENT or seconds > _counts_until(timeline, place):
        return None
    return ROLES[int(timeline.role[place])]


def term_at(timelines: Sequence[NodeTimeline], seconds: float) -> int:
    """Return the leader's term at a moment; without a leader, the highest term reported so far, or -1."""
    if led := [int(timeline.term[place]) for timeline, place in _leading(timelines, seconds)]:
        return max(led)
    terms = [
        int(timeline.term[: int(np.searchsorted(timeline.time, seconds, side="right"))].max(initial=-1))
        for timeline in timelines
    ]
    return max(terms, default=-1)


@dataclass(frozen=True, slots=True)
class LastStatus:
    """The last answer of a node.

    ``behind``: number of entries from its applied index to the highest commit index known at the time.  If no log
    reaches that index any more, it counts to the end of the longest log, because nobody can catch up with lost
    entries.  If the node's log ends before its applied index (``cut``), it counts from the end of the log, because
    the node holds no more.  None if unknown: no node ever reported what it applied or committed, or the two indexes
    are of different epochs.

    ``earlier``: the epochs differ, and the node's own is the earlier one.

    ``late``: the node is behind by more than the cluster committed in its last second, so the age of the answer
    does not explain it.

    ``silent_s``: time from this answer, which arrived at ``at`` (s), to the last probe of any node.
    """

    node: str
    role: str
    term: int
    log_end: int
    applied: int
    committed: int
    behind: int | None
    late: bool
    silent_s: float
    at: float
    earlier: bool
    cut: bool
    log_end_text: str
    committed_text: str
    applied_text: str


def last_statuses(timelines: Sequence[NodeTimeline]) -> list[LastStatus]:
    """Return the last answers of all nodes that ever answered, in the order of the timelines."""
    lasts = [(timeline, rows[-1]) for timeline in timelines if len(rows := np.nonzero(timeline.role != SILENT)[0])]
    front = max((int(timeline.committed[last]) for timeline, last in lasts), default=-1)
    allowed = max((_recently_committed(timeline, int(last)) for timeline, last in lasts), default=0) + 1
    end = max((float(timeline.time[-1]) for timeline, _ in lasts), default=0.0)
    compared = front >= 0 and any(bool((timeline.applied >= 0).any()) for timeline, _ in lasts)
    ends = [int(timeline.log_end[last]) if logs(timeline) else front for timeline, last in lasts]
    held_anywhere = max(ends, default=front)
    statuses = []
    for timeline, last in lasts:
        # If other nodes report indexes, a node that reports only its role has applied nothing.  If it reports neither,
        # nothing is known.
        known = compared and (timeline.reports or bool((timeline.role <= ROLES.index("candidate")).any()))
        applied, log_end = int(timeline.applied[last]), int(timeline.log_end[last])
        cut = logs(timeline) and log_end < applied
        held, at = log_end if cut else applied, float(timeline.time[last])
        # The node may also hold what others committed after its answer.  One that fell silent gives no later answer.
        target = min(_known_by(timelines, at) if end - at < GONE_S else front, held_anywhere)
        away = between(target, max(held, 0), timeline.epoch_bits) if known else None
        behind = None if away is None else max(away, 0)
        earlier = known and away is None and target > held
        statuses.append(
            LastStatus(
                node=timeline.node,
                role=ROLES[int(timeline.role[last])],
                term=int(timeline.term[last]),
                log_end=log_end,
                applied=applied,
                committed=int(timeline.committed[last]),
                behind=behind,
                late=earlier or (behind is not None and behind > allowed),
                earlier=earlier,
                cut=cut,
                log_end_text=timeline.index(log_end),
                committed_text=timeline.index(int(timeline.committed[last])),
                applied_text=timeline.index(applied),
                silent_s=end - at,
                at=at,
            )
        )
    return statuses


def late_nodes(timelines: Sequence[NodeTimeline]) -> list[str]:
    """Return the nodes that are behind in their last answers."""
    return [last.node for last in last_statuses(timelines) if last.late]


def _known_by(timelines: Sequence[NodeTimeline], moment: float) -> int:
    """Return the highest index that the last answers until a moment (s) report as committed; -1 if none does."""
    known = []
    for timeline in timelines:
        rows = np.flatnonzero((timeline.role != SILENT) & (timeline.time <= moment))
        known += [int(timeline.committed[rows[-1]])] if len(rows) else []
    return max(known, default=-1)


def silent_since(timeline: NodeTimeline, end: float) -> float | None:
    """Return when a node that is silent at the end last answered (s), 0 if it never did.

    Returns None if the node still answers at the end.
    """
    answers = timeline.time[timeline.role != SILENT]
    last = float(answers[-1]) if len(answers) else 0.0
    return last if end - last >= GONE_S else None


def logs(timeline: NodeTimeline) -> bool:
    """Return whether a node ever reported where its log ends."""
    return bool((timeline.log_end >= 0).any())


def left_at(timeline: NodeTimeline) -> float:
    """Return the time after which a node was never seen to lead or follow again (s)."""
    rows = np.flatnonzero(timeline.role <= ROLES.index("follower"))
    return float(timeline.time[min(rows[-1] + 1, len(timeline.time) - 1) if len(rows) else 0])


def _recently_committed(timeline: NodeTimeline, last: int) -> int:
    before = int(np.searchsorted(timeline.time, timeline.time[last] - 1.0))
    count = between(int(timeline.committed[last]), int(timeline.committed[before]), timeline.epoch_bits)
    return count or 0
