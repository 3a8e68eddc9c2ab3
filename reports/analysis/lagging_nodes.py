"""Replicas that are behind: where and in which fault each stopped, and whether it has moved since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from reports.analysis.faults import FaultWindow
from reports.analysis.node_timeline import SILENT, NodeTimeline

AGE_S: Final = 1.0
"""Seconds: a node is behind when it has not applied what some node had committed that long ago."""


@dataclass(frozen=True, slots=True)
class LaggingNode:
    """A node that was behind at its last answer.  Seconds; ``moves``: the starts of later periods of progress."""

    node: str
    stopped: float
    applied: int
    moves: tuple[float, ...]
    faults: tuple[FaultWindow, ...]

    def sentence(self) -> str:
        """Write "n4 has been behind since 8.0 s in #0 bridge, when it stood at 1520; it has not moved since"."""
        when = f" in {', '.join(f'#{fault.id} {fault.fault}' for fault in self.faults)}" if self.faults else ""
        moved = "has not moved since"
        if len(self.moves) == 1:
            moved = f"moved once since, at {self.moves[0]:.1f} s"
        elif self.moves:
            moved = f"moved {len(self.moves)} times since, the last time at {self.moves[-1]:.1f} s"
        return (
            f"{self.node} has been behind since {self.stopped:.1f} s{when}, when it stood at {self.applied}; it {moved}"
        )


def lagging_nodes(timelines: Sequence[NodeTimeline], windows: Sequence[FaultWindow]) -> list[LaggingNode]:
    """List the nodes that were behind at their last answer, in the order of the timelines."""
    answered = [(timeline, timeline.role != SILENT) for timeline in timelines]
    time = np.concatenate([np.empty(0), *(timeline.time[rows] for timeline, rows in answered)])
    order = np.argsort(time, kind="stable")
    committed = [np.empty(0, np.int64), *(timeline.committed[rows] for timeline, rows in answered)]
    front = np.maximum.accumulate(np.concatenate(committed)[order])
    found = [_lagging_node(timeline, time[order], front, windows) for timeline in timelines]
    return [one for one in found if one is not None]


def _lagging_node(
    timeline: NodeTimeline, time: np.ndarray, front: np.ndarray, windows: Sequence[FaultWindow]
) -> LaggingNode | None:
    answered = timeline.role != SILENT
    mine, applied = timeline.time[answered], timeline.applied[answered]
    place = np.searchsorted(time, mine - AGE_S, side="right") - 1
    behind = (place >= 0) & (applied < front[np.maximum(place, 0)]) if len(mine) else np.zeros(0, bool)
    if not len(behind) or not behind[-1]:
        return None
    kept_up = np.flatnonzero(~behind)
    since = int(kept_up[-1]) if len(kept_up) else 0
    rises = np.flatnonzero(np.diff(applied) > 0) + 1
    before = rises[rises <= since]
    stop = int(before[-1]) if len(before) else 0
    later = [0, *(int(rise) for rise in rises if rise > max(stop, since))]
    moves = tuple(float(mine[b]) for a, b in pairwise(later) if b != a + 1)
    stopped = float(mine[stop])
    upto = float(mine[min(stop + 1, len(mine) - 1)])
    standing = [w for w in windows if w.state != "skipped" and w.started <= upto and (w.healed or upto) >= stopped]
    return LaggingNode(timeline.node, stopped, int(applied[stop]), moves, tuple(standing))
