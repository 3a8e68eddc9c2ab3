"""Causes that the records prove: the snapshot at which a replica stopped, a majority that included stopped replicas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from history.records.text import and_listed
from reports.analysis.faults import FaultWindow, unreached
from reports.analysis.findings import Drawn
from reports.analysis.lagging_nodes import stand_of
from reports.analysis.node_timeline import ROLES, NodeTimeline, leader_at

#: Seconds after a fault stood in which requests in flight may still have been committed.
_SETTLED_S: Final = 1.0
#: A fault explains an outage only if the outage covers at least this share of it.
_MOST: Final = 0.8


def causes_text(drawn: Drawn, nodes: Sequence[str]) -> str:
    """Say where replicas stopped and which outages follow from it; empty if the records show neither."""
    behind = [timeline for timeline in drawn.timelines if timeline.node in nodes]
    return " ".join(filter(None, (_at_snapshots(drawn, behind), _without_quorum(drawn, behind))))


def _at_snapshots(drawn: Drawn, behind: Sequence[NodeTimeline]) -> str:
    """Name the replicas whose last progress was a snapshot that the leader sent."""
    stopped = at_snapshots(drawn, behind)
    if not stopped:
        return ""
    names, stops = [node for node, _ in stopped], [f"{node} at {stop}" for node, stop in stopped]
    they, them = ("they", "them") if len(stopped) > 1 else ("it", "it")
    where = f"{and_listed(names)} stopped where a snapshot from the leader had put {them} ({', '.join(stops)})"
    return f"{where}: {they} applied no entry after it."


def at_snapshots(drawn: Drawn, behind: Sequence[NodeTimeline]) -> list[tuple[str, str]]:
    """Return the replicas whose last progress was a snapshot that the leader sent, each with its index and time."""
    pairs = []
    for timeline in behind:
        since, held, _ = stand_of(timeline, drawn.timelines)
        pairs += [
            (timeline.node, f"{timeline.index(held)} by {snapshot.time:.1f} s")
            for snapshot in drawn.snapshots
            if snapshot.kind == "installed"
            and (snapshot.node, snapshot.time, snapshot.applied) == (timeline.node, since, held)
        ]
    return pairs


def _without_quorum(drawn: Drawn, behind: Sequence[NodeTimeline]) -> str:
    """Name the faults under which the leader reached a majority only by counting stopped replicas."""
    outages, parts = drawn.total_outages, []
    stands = {timeline.node: stand_of(timeline, drawn.timelines) for timeline in behind}
    stopped = {node: stand.since for node, stand in stands.items() if stand.since is not None and not stand.fell_back}
    for window in drawn.windows:
        if window.stood is None or window.heal_started is None or not window.grudge or not window.leader:
            continue
        stood, healing = window.stood, window.heal_started
        over = max((min(outage.stop, healing) - max(outage.start, stood) for outage in outages), default=0.0)
        if over < _MOST * (healing - stood) or not _led_alone(drawn, window.leader, stood, healing):
            continue
        if text := _reached(drawn, window, window.leader, stopped):
            parts.append(text)
    if not parts:
        return ""
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}: no quorum was left, and nothing was committed meanwhile."


def _reached(drawn: Drawn, window: FaultWindow, leader: str, stopped: Mapping[str, float]) -> str:
    """Say which nodes a leader reached under a fault, if too few of them ran to commit anything."""
    stood, healing, members = window.stood or 0.0, window.heal_started or 0.0, drawn.run.members
    reached = [node for node in members if node != leader and node not in unreached(leader, window.grudge)]
    gone = [node for node in reached if stopped.get(node, stood) < stood]
    quorum = len(members) // 2 + 1
    if not gone or len(reached) + 1 < quorum or len(reached) + 1 - len(gone) >= quorum:
        return ""
    if _committed_by(drawn, stood + _SETTLED_S) != _committed_by(drawn, healing):
        return ""
    applied = f"{and_listed(gone)} no longer applied entries"
    return f"under {window.name} leader {leader} reached only {and_listed(reached)}, and {applied}"


def _committed_by(drawn: Drawn, moment: float) -> int:
    """Return the highest index that any node knew to be committed by a moment (s)."""
    return max((int(node.committed[node.time <= moment].max(initial=-1)) for node in drawn.timelines), default=-1)


def _led_alone(drawn: Drawn, leader: str, start: float, end: float) -> bool:
    """Return whether a node led from one moment to another (s) and no other was seen to lead in between."""
    others = (timeline for timeline in drawn.timelines if timeline.node != leader)
    within = (timeline.role[(timeline.time >= start) & (timeline.time <= end)] for timeline in others)
    led = all(leader_at(drawn.timelines, moment) == leader for moment in (start, end))
    return led and not any(bool(np.any(roles == ROLES.index("leader"))) for roles in within)
