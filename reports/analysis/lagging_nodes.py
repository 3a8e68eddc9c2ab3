"""Since when a replica has been behind: where it stopped, under which fault, and whether it has moved since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from reports.analysis.faults import FaultWindow
from reports.analysis.node_timeline import SILENT, Track

AGE_S: Final = 1.0
"""A node is behind when it has not applied what some node had committed so long ago."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """A node that was behind at its last word.  Seconds; ``moves`` are the starts of later stretches of progress."""

    node: str
    stopped: float
    applied: int
    moves: tuple[float, ...]
    faults: tuple[FaultWindow, ...]

    def sentence(self) -> str:
        """In words, such as "n4 stopped at 1520 at 8.0 s, in #0 bridge; it moved once since, at 21.7 s"."""
        when = f" in {', '.join(f'#{fault.id} {fault.fault}' for fault in self.faults)}" if self.faults else ""
        moved = "has not moved since"
        if len(self.moves) == 1:
            moved = f"moved once since, at {self.moves[0]:.1f} s"
        elif self.moves:
            moved = f"moved {len(self.moves)} times since, the last time at {self.moves[-1]:.1f} s"
        return (
            f"{self.node} has been behind since {self.stopped:.1f} s{when}, when it stood at {self.applied}; it {moved}"
        )


def stuck_of(tracks: Sequence[Track], windows: Sequence[FaultWindow]) -> list[Stuck]:
    """The nodes that were behind at their last word, in the order of the tracks."""
    told = [(track, track.time[track.role != SILENT], track.committed[track.role != SILENT]) for track in tracks]
    time = np.concatenate([np.empty(0), *(moments for _, moments, _ in told)])
    order = np.argsort(time, kind="stable")
    front = np.maximum.accumulate(np.concatenate([np.empty(0, np.int64), *(c for _, _, c in told)])[order])
    found = [_stuck(track, time[order], front, windows) for track in tracks]
    return [one for one in found if one is not None]


def _stuck(track: Track, time: np.ndarray, front: np.ndarray, windows: Sequence[FaultWindow]) -> Stuck | None:
    answered = track.role != SILENT
    mine, applied = track.time[answered], track.applied[answered]
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
    return Stuck(track.node, stopped, int(applied[stop]), moves, tuple(standing))
