"""Snapshots that the probes show: saved, loaded by a starting process, or installed into a running one.

Nodes count the snapshots that they saved and loaded since their process started.  A load between two answers of the
same process is not part of a start: the leader sent the snapshot because the follower was too far behind for its log.
A drop in a count or in the applied index reveals a new process.
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
    """Snapshots of one kind on one node, seen at ``time`` (s, up to one probe late).

    ``times`` is how many there were between two probes, and ``applied`` the applied index after them.
    """

    node: str
    time: float
    kind: Kind
    times: int
    applied: int


def snapshots_of(timelines: Sequence[NodeTimeline]) -> list[Snapshot]:
    """Return the snapshots of all nodes, earliest first."""
    snapshots = [snapshot for timeline in timelines for snapshot in _of(timeline)]
    return sorted(snapshots, key=lambda snapshot: (snapshot.time, snapshot.node, snapshot.kind))


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
    snapshots = []
    for counter, kind in ((saved, "saved"), (loaded, "installed")):
        rose = counter[1:] - np.where(restarted, 0, counter[:-1])
        for place in np.nonzero(rose > 0)[0]:
            shown: Kind = "saved" if kind == "saved" else "loaded" if restarted[place] else "installed"
            row = int(place) + 1
            snapshots.append(Snapshot(timeline.node, float(time[row]), shown, int(rose[place]), int(applied[row])))
    return snapshots
