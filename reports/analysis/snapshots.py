"""Snapshots as the probes show them: saved, loaded by a process that started, installed into one that was running.

The nodes count what they saved and loaded since their process started.  A load between two answers of the same process
was no part of a start: the leader sent the snapshot, because the follower was too far behind for its log.  Another
process is known by a count or an applied index that fell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from reports.analysis.node_timeline import SILENT, NodeTimeline

Kind: TypeAlias = Literal["saved", "loaded", "installed"]
KINDS: Final[tuple[Kind, ...]] = ("saved", "loaded", "installed")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Seen at ``time`` (seconds, at most one probe late); ``times``: how many between two probes; ``applied`` after."""

    node: str
    time: float
    kind: Kind
    times: int
    applied: int


def snapshots_of(timelines: Sequence[NodeTimeline]) -> list[Snapshot]:
    """List the snapshots of all nodes, earliest first."""
    found = [snapshot for timeline in timelines for snapshot in _of(timeline)]
    return sorted(found, key=lambda snapshot: (snapshot.time, snapshot.node, snapshot.kind))


def counts_of(snapshots: Sequence[Snapshot]) -> dict[str, dict[Kind, int]]:
    """Count snapshots by node and kind, for nodes that have any."""
    counts: Counter[tuple[str, Kind]] = Counter()
    for snapshot in snapshots:
        counts[snapshot.node, snapshot.kind] += snapshot.times
    return {node: {kind: counts[node, kind] for kind in KINDS} for node in sorted({node for node, _ in counts})}


def _of(timeline: NodeTimeline) -> list[Snapshot]:
    rows = np.nonzero(timeline.role != SILENT)[0]
    time, saved = timeline.time[rows], timeline.saved[rows]
    loaded, applied = timeline.loaded[rows], timeline.applied[rows]
    fell = [np.diff(column) < 0 for column in (saved, loaded, applied)]
    restarted = fell[0] | fell[1] | fell[2]
    found = []
    for counter, kind in ((saved, "saved"), (loaded, "installed")):
        rose = counter[1:] - np.where(restarted, 0, counter[:-1])
        for place in np.nonzero(rose > 0)[0]:
            shown: Kind = "saved" if kind == "saved" else "loaded" if restarted[place] else "installed"
            row = int(place) + 1
            found.append(Snapshot(timeline.node, float(time[row]), shown, int(rose[place]), int(applied[row])))
    return found
