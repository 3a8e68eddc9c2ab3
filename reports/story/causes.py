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
    behind = [one for one in drawn.timelines if one.node in nodes]
    return " ".join(filter(None, (_at_snapshots(drawn, behind), _without_quorum(drawn, behind))))


def _at_snapshots(drawn: Drawn, behind: Sequence[NodeTimeline]) -> str:
    """Name the replicas whose last progress was a snapshot that the leader sent."""
    found = at_snapshots(drawn, behind)
    if not found:
        return ""
    names, stops = [node for node, _ in found], [f"{node} at {stop}" for node, stop in found]
    they, them = ("they", "them") if len(found) > 1 else ("it", "it")
    where = f"{and_listed(names)} stopped where a snapshot from the leader had put {them} ({', '.join(stops)})"
    return f"{where}: {they} applied no entry after it."


def at_snapshots(drawn: Drawn, behind: Sequence[NodeTimeline]) -> list[tuple[str, str]]:
    """Return the replicas whose last progress was a snapshot that the leader sent, each with its index and time."""
    found = []
    for timeline in behind:
        since, held, _ = stand_of(timeline, drawn.timelines)
        found += [
            (timeline.node, f"{timeline.index(held)} by {one.time:.1f} s")
            for one in drawn.snapshots
            if one.kind == "installed" and (one.node, one.time, one.applied) == (timeline.node, since, held)
        ]
    return found


def _without_quorum(drawn: Drawn, behind: Sequence[NodeTimeline]) -> str:
    """Name the faults under which the leader reached a majority only by counting stopped replicas."""
    outages, parts = drawn.total_outages, []
    stands = {one.node: stand_of(one, drawn.timelines) for one in behind}
    stopped = {node: one.since for node, one in stands.items() if one.since is not None and not one.fell_back}
    for window in drawn.windows:
        if window.stood is None or window.heal_started is None or not window.grudge or not window.leader:
            continue
        stood, healing = window.stood, window.heal_started
        over = max((min(one.stop, healing) - max(one.start, stood) for one in outages), default=0.0)
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
    reached = [one for one in members if one != leader and one not in unreached(leader, window.grudge)]
    gone = [one for one in reached if stopped.get(one, stood) < stood]
    quorum = len(members) // 2 + 1
    if not gone or len(reached) + 1 < quorum or len(reached) + 1 - len(gone) >= quorum:
        return ""
    if _committed_by(drawn, stood + _SETTLED_S) != _committed_by(drawn, healing):
        return ""
    applied = f"{and_listed(gone)} no longer applied entries"
    return f"under {window.name} leader {leader} reached only {and_listed(reached)}, and {applied}"


def _committed_by(drawn: Drawn, moment: float) -> int:
    """Return the highest index that any node knew to be committed by a moment (s)."""
    return max((int(one.committed[one.time <= moment].max(initial=-1)) for one in drawn.timelines), default=-1)


def _led_alone(drawn: Drawn, leader: str, start: float, end: float) -> bool:
    """Return whether a node led from one moment to another (s) and no other was seen to lead in between."""
    others = (one for one in drawn.timelines if one.node != leader)
    within = (one.role[(one.time >= start) & (one.time <= end)] for one in others)
    led = all(leader_at(drawn.timelines, moment) == leader for moment in (start, end))
    return led and not any(bool(np.any(roles == ROLES.index("leader"))) for roles in within)
