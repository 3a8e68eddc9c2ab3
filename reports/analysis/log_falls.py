"""Truncated logs that led to the loss of an entry, searched backwards from the moment when no log held it.

A log that was cut and is full again before that moment has nothing to do with the loss.  So only each node's last fall
below the entry counts, and the loss began with the first of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reports.analysis.elections import leaderships_of
from reports.analysis.lagging_nodes import AGE_S
from reports.analysis.node_timeline import SILENT, NodeTimeline


@dataclass(frozen=True, slots=True)
class LogFall:
    """The log of a ``node`` ended at ``log_end`` by ``at`` (s), below an entry that it still had at ``held`` (s).

    At ``held`` it ended at ``reached``.
    """

    at: float
    node: str
    log_end: int
    held: float
    reached: int


def lost_for_good(timelines: Sequence[NodeTimeline], index: int, until: float) -> list[LogFall]:
    """Return when each log fell below an index and never reached it again, earliest first.

    Only answers until the moment ``until`` (s) count.  Nodes that never held the entry, or do not report where their
    logs end, are left out.
    """
    falls = []
    for timeline in timelines:
        answered = (timeline.role != SILENT) & (timeline.time <= until)
        times, ends = timeline.time[answered], timeline.log_end[answered]
        held = np.flatnonzero(ends >= index)
        if len(held) and (after := int(held[-1]) + 1) < len(times):
            last = after - 1
            falls.append(
                LogFall(float(times[after]), timeline.node, int(ends[after]), float(times[last]), int(ends[last]))
            )
    return sorted(falls, key=lambda fall: (fall.at, fall.node))


def leading_since(timelines: Sequence[NodeTimeline], moment: float) -> tuple[str, float] | None:
    """Return the node elected last by a moment (s), and when it was first seen to lead; None if there was none.

    A leader that was not seen to lead for a while in between was not elected again, unless its term is another one.
    """
    last: tuple[str, int, float] | None = None
    for leadership in leaderships_of(timelines):
        if leadership.start <= moment and (last is None or (leadership.node, leadership.term) != last[:2]):
            last = leadership.node, leadership.term, leadership.start
    return None if last is None else (last[0], last[2])


def short_at_the_end(timelines: Sequence[NodeTimeline]) -> tuple[dict[str, int], int]:
    """Return the ends of logs that lack entries in the last answers, and the highest committed index.

    An entry counts as lacking if some node had committed it a second before.
    """
    short: dict[str, int] = {}
    highest = -1
    for timeline in timelines:
        rows = np.flatnonzero((timeline.role != SILENT) & (timeline.log_end >= 0))
        if not len(rows):
            continue
        before = float(timeline.time[rows[-1]]) - AGE_S
        committed = max(int(other.committed[other.time <= before].max(initial=-1)) for other in timelines)
        highest = max(highest, committed)
        if (held := int(timeline.log_end[rows[-1]])) < committed:
            short[timeline.node] = held
    return short, highest
