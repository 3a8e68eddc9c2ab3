"""Replicas that are behind: when each fell behind and last moved, which faults were active, and what was logged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from history import node_logs
from history.columns.operations import Floats, Ints
from reports.analysis.faults import FaultWindow, about_to_strike, when
from reports.analysis.node_timeline import SILENT, NodeTimeline, late_nodes, left_at, logs
from reports.load.run import LoadedRun
from reports.style.format import number

#: A node is behind if it has not applied, or no longer holds, what some node had committed this many seconds ago.
AGE_S: Final = 1.0
#: Lines logged this often soon after a replica stopped are counted over the whole run; they may have begun earlier.
REPEATED: Final = 100
#: Seconds of log lines shown before and after the first node that did not recover stopped.
BEFORE_S: Final = 1.0
RECOVERY_S: Final = 8.0


@dataclass(frozen=True, slots=True)
class LaggingNode:
    """A node that was behind at its last answer: when it fell behind and last moved (s), and its index then.

    ``moved`` is None if no answer shows that it moved.  ``cut``: its log ends below what it had applied, so that
    end counts as its index.  ``highest`` is the highest index that it held after it fell behind; if that is more than
    it ``held`` at the end, it kept falling back, and then no moment is the one at which it stopped.
    """

    node: str
    fell: float
    at: int
    moved: float | None
    held: int
    windows: tuple[FaultWindow, ...]
    index: Callable[[int], str] = number
    cut: bool = False
    highest: int = -1

    @property
    def since(self) -> float | None:
        """When it stopped; if it kept falling back, when it fell behind for good (s)."""
        return self.fell if self.fell_back else self.moved

    @property
    def fell_back(self) -> bool:
        """Whether it held more after it fell behind than in the end."""
        return self.highest > self.held

    def sentence(self) -> str:
        """Return "n4 stopped applying at 8.0 s, 1.2 s into #0 bridge: it is at 1,520; it fell behind at …, at …".

        The stop comes first, because it is what needs an explanation.  A log that was cut below what was applied may
        grow for a while although nothing is applied.
        """
        stands = f"it is at {self.index(self.held)}" if self.held >= 0 else "its process has applied nothing"
        if self.cut:
            stands = f"it ends at {self.index(self.held)}, below what had been applied"
        which = f"{self.node}'s log" if self.cut else self.node
        if self.fell_back:
            back = f"{self.node} fell behind {self.fell_text()}, at {self.index(self.at)}, and never caught up"
            return f"{back}: {stands.replace('it ', f'{which} ', 1)}, and was at {self.index(self.highest)} at most"
        if self.moved is None:
            return f"{which} has not moved in any of its answers: {stands}"
        moment = when(self.moved, self.windows, self.node)
        stopped = f"{which} {'last grew' if self.cut else 'stopped applying'} at {moment}: {stands}"
        it = self.node if self.cut else "it"
        fell = f"; {it} fell behind {self.fell_text()}, at {self.index(self.at)}" if self.fell_first else ""
        return stopped + fell

    @property
    def fell_first(self) -> bool:
        """Whether the node fell behind before it stopped."""
        return self.moved is not None and self.moved > self.fell

    def fell_text(self, them: str = "it") -> str:
        """Say when the node fell behind; if a fault struck it right then, name that fault."""
        if (fault := about_to_strike(self.node, self.fell, self.windows)) is not None:
            return f"when {fault.name} struck {them}, at {fault.started:.1f} s"
        return f"at {when(self.fell, self.windows, self.node)}"


def held_of(timeline: NodeTimeline) -> tuple[Floats, Ints]:
    """Return the times of a node's answers (s), and how many of its applied entries it still held then.

    It cannot hold more than its log, if the end of that is known.
    """
    held = np.minimum(timeline.applied, timeline.log_end) if logs(timeline) else timeline.applied
    answered = timeline.role != SILENT
    return timeline.time[answered], held[answered]


class Stand(NamedTuple):
    """Where a node is in the end (``held``, -1: nothing), and since when (s; None if no answer shows it).

    ``fell_back``: it kept falling back below what it had held since it fell behind; then ``since`` is when that was.
    """

    since: float | None
    held: int
    fell_back: bool = False


def stand_of(timeline: NodeTimeline, timelines: Sequence[NodeTimeline]) -> Stand:
    """Return where a node is in the end and since when, among all ``timelines``."""
    times, held = held_of(timeline)
    if not len(held):
        return Stand(None, -1)
    if (lagging := _lagging_node(timeline, *_front(timelines), ())) is not None:
        return Stand(lagging.since, lagging.held, lagging.fell_back)
    place = last_progress(held, 0)
    return Stand(None if place is None else float(times[place]), int(held[-1]))


def last_progress(held: Ints, behind: int) -> int | None:
    """Return the place of the answer in which a node reached its final index; None if no answer shows it.

    ``behind`` is the first place since which it never again had what the others had.  An index that goes up and down
    after that is no progress, so the first time that it was as high counts, not the last.  A restarted process applies
    the same entries again, which is not progress either.
    """
    rises = np.flatnonzero(np.diff(held) > 0) + 1
    if not len(rises):
        return None
    if held.max() == held[-1]:
        return int(np.argmax(held >= held[-1])) or None
    reached = behind + int(np.argmax(held[behind:] >= held[-1]))
    before = rises[rises <= reached]
    return int(before[-1]) if len(before) else None


def lagging_nodes(timelines: Sequence[NodeTimeline], windows: Sequence[FaultWindow]) -> list[LaggingNode]:
    """Return the nodes that were behind at their last answer, in the order of the timelines."""
    time, front = _front(timelines)
    nodes = [_lagging_node(timeline, time, front, windows) for timeline in timelines]
    return [node for node in nodes if node is not None]


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """The last time that a node was behind before it caught up, from ``since`` to ``until`` (s).

    ``still``: it applied nothing in between.
    """

    since: float
    until: float
    still: bool


def caught_up(timeline: NodeTimeline, timelines: Sequence[NodeTimeline]) -> CaughtUp | None:
    """Return the last time that a node was behind and caught up; None if it is still behind or never was."""
    behind = _behind(timeline, *_front(timelines))
    late = np.flatnonzero(behind)
    if not len(late) or behind[-1]:
        return None
    last = int(late[-1])
    before = np.flatnonzero(~behind[:last])
    first = int(before[-1]) + 1 if len(before) else 0
    mine, held = held_of(timeline)
    still = bool(held[first : last + 1].max() <= held[first])
    return CaughtUp(float(mine[first]), float(mine[last + 1]), still)


def _front(timelines: Sequence[NodeTimeline]) -> tuple[np.ndarray, np.ndarray]:
    """Return the times of all answers, in order, and the highest index committed by any node by then.

    If no node ever says what is committed, the highest index that a node holds at that time counts.
    """
    answered = [(timeline, timeline.role != SILENT) for timeline in timelines]
    time = np.sort(np.concatenate([np.empty(0), *(timeline.time[rows] for timeline, rows in answered)]))
    committed = any(int(timeline.committed.max(initial=-1)) >= 0 for timeline in timelines)
    front = np.full(len(time), -1, np.int64)
    for timeline, rows in answered:
        times, indexes = (timeline.time[rows], timeline.committed[rows]) if committed else held_of(timeline)
        known = np.concatenate((np.array([-1], np.int64), indexes))
        front = np.maximum(front, known[np.searchsorted(times, time, side="right")])
    return time, np.maximum.accumulate(front) if committed else front


def _behind(timeline: NodeTimeline, time: np.ndarray, front: np.ndarray) -> np.ndarray:
    """Return a mask of the answers in which a node was behind (see :data:`AGE_S`)."""
    mine, held = held_of(timeline)
    place = np.searchsorted(time, mine - AGE_S, side="right") - 1
    return (place >= 0) & (held < front[np.maximum(place, 0)]) if len(mine) else np.zeros(0, bool)


def _lagging_node(
    timeline: NodeTimeline, time: np.ndarray, front: np.ndarray, windows: Sequence[FaultWindow]
) -> LaggingNode | None:
    if not timeline.reports:
        return None
    behind = _behind(timeline, time, front)
    if not len(behind) or not behind[-1]:
        return None
    mine, held = held_of(timeline)
    kept_up = np.flatnonzero(~behind)
    since = int(kept_up[-1]) if len(kept_up) else 0
    first = since + 1 if len(kept_up) else 0
    moved = last_progress(held, first)
    rises = np.flatnonzero(np.diff(held) > 0) + 1
    before = rises[rises <= since]
    fell = min(int(before[-1]) if len(before) else 0, moved or 0)
    # The node only became behind once some node had committed more than it held, however long it had stood there.
    more = np.flatnonzero((time >= mine[fell]) & (front > held[fell]))
    late = float(mine[first])
    return LaggingNode(
        timeline.node,
        min(float(time[more[0]]), late) if len(more) else late,
        int(held[fell]),
        None if moved is None else float(mine[moved]),
        int(held[-1]),
        tuple(windows),
        timeline.index,
        cut=int(held[-1]) < int(timeline.applied[timeline.role != SILENT][-1]),
        highest=int(held[first:].max()),
    )


@dataclass(frozen=True, slots=True)
class Stopped:
    """The time (``at``, s) since which nodes did not recover, and what all nodes logged from ``start`` to ``end``.

    Lines repeated often (:data:`REPEATED`) are counted and dated over the whole run.
    """

    at: float
    start: float
    end: float
    lines: list[node_logs.LogLine]
    lagging: list[LaggingNode]


def stopped_at(
    run: LoadedRun,
    timelines: Sequence[NodeTimeline],
    windows: Sequence[FaultWindow],
    named: Sequence[str],
    unserved: float | None = None,
) -> Stopped:
    """Find when the first node that did not recover stopped, and the important log lines of that time.

    Each node's last probe answers decide which nodes did not recover or, if those show no node behind, the nodes that
    the check ``named``.  ``unserved`` is the time since which no client was served (s), if the check judged recovery by
    clients.
    """
    late = late_nodes(timelines) or named
    behind = run.notes.attempt_list("replica progress", lambda: lagging_nodes(timelines, windows))
    lagging = [node for node in behind if node.node in late]
    apart = [timeline for timeline in timelines if timeline.node in named and len(timeline.time) and not lagging]
    left = [back.since if (back := caught_up(timeline, timelines)) else left_at(timeline) for timeline in apart]
    moved = [*(node.since for node in lagging if node.since is not None), *left]
    since = unserved if unserved is not None else min(moved, default=last_heal(windows))
    start, end = max(since - BEFORE_S, 0.0), since + RECOVERY_S
    lines = node_logs.excerpt(run.recording, run.started, start, end, limit=40)
    shown = [line for line in lines if line.weight] or lines
    often = [line for line in shown if line.times >= REPEATED]
    whole = iter(node_logs.over_the_run(run.recording, run.started, often))
    return Stopped(since, start, end, [next(whole) if line.times >= REPEATED else line for line in shown], lagging)


def last_heal(windows: Sequence[FaultWindow]) -> float:
    """Return when the last fault was healed (s); 0 if none was."""
    return max((window.healed for window in windows if window.healed is not None), default=0.0)
