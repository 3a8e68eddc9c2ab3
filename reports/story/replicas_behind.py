"""What is said of replicas that did not catch up: since when each stands where, by its own answers to probes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reports.analysis.faults import when
from reports.analysis.findings import Drawn
from reports.analysis.node_timeline import ROLES, SILENT, NodeTimeline, last_progress, left_at
from reports.style.format import number

GONE_S: Final = 3.0
"""A node without an answer for so many seconds at the end of the record is called silent."""


def behind_text(drawn: Drawn, behind: Sequence[NodeTimeline]) -> tuple[str, float | None]:
    """Say of replicas that are behind where they stand, or that they do not answer; and since when (s, if known).

    A node is dated by what its own answers show of it.  One that never answered, or never said where its log stands,
    has no beginning.
    """
    end, windows = drawn.run.end / 1e9, drawn.windows
    silent = {one.node: since for one in behind if (since := silent_since(one, end)) is not None}
    apart = [one for one in behind if one.node not in silent and not one.reports]
    stopped = {one.node: _stands(one) for one in behind if one.node not in silent and one.reports}
    known = [*silent.values(), *(moment for one in apart if (moment := _left(one)) is not None)]
    onset = min([*(one for one in known if one), *(moment for moment, _ in stopped.values() if moment)], default=None)
    parts = []
    total, target = len(drawn.timelines), max(int(one.committed.max(initial=-1)) for one in drawn.timelines)
    logs_end = max((int(one.log_end[one.role != SILENT][-1]) for one in drawn.timelines if _answered(one)), default=-1)
    of_all = f"of {number(target)} that were committed by the end"
    if level := [name for name, (_, index) in stopped.items() if 0 <= logs_end <= index < target]:
        stand = ", ".join(f"{name} at {number(stopped.pop(name)[1])}" for name in sorted(level))
        parts.append(f"At the end {stand}, where every log ends, {of_all}")
    if moving := [name for name, (moment, _) in stopped.items() if moment and end - moment < GONE_S]:
        stand = ", ".join(f"{name} at {number(stopped.pop(name)[1])}" for name in sorted(moving))
        parts.append(
            f"At the end {stand} {'was' if len(moving) == 1 else 'were'} behind {number(target)}, still applying"
        )
    if never := [name for name, (moment, _) in stopped.items() if moment is None]:
        stood = ", ".join(_stand(name, stopped.pop(name)[1], "stood at") for name in sorted(never))
        parts.append(f"{stood} in all answers that it gave, {of_all}")
    if stopped:
        moments = [moment for moment, _ in stopped.values() if moment]
        span = when(min(moments), windows)
        span += f", the last at {max(moments):.1f} s" if max(moments) - min(moments) > 1 else ""
        stand = ", ".join(_stand(name, index) for name, (_, index) in sorted(stopped.items()))
        parts.append(
            f"{len(stopped)} of {total} replicas stopped applying at {span}, and never resumed: {stand}, {of_all}"
        )
    for one in sorted(apart, key=lambda one: one.node):
        left = _left(one)
        led = (
            f"has neither led nor known a leader since {when(left, windows)}" if left else "named neither role nor log"
        )
        parts.append(f"{one.node} answers, and {led}")
    for name, last in sorted(silent.items()):
        gone = f"gave its last answer at {when(last, windows)}" if last else "never answered a probe"
        parts.append(f"{name} {gone}")
    return "; ".join(parts) + ".", onset


def silent_since(timeline: NodeTimeline, end: float) -> float | None:
    """Return when a node that is silent at the end gave its last answer (s), 0 if it never did; None if it answers."""
    answers = timeline.time[timeline.role != SILENT]
    last = float(answers[-1]) if len(answers) else 0.0
    return last if end - last >= GONE_S else None


def _stands(timeline: NodeTimeline) -> tuple[float | None, int]:
    """When a node came to where it stands (s; None if no answer shows it), and where that is."""
    rows = timeline.role != SILENT
    place = last_progress(timeline.applied[rows])
    return None if place is None else float(timeline.time[rows][place]), int(timeline.applied[rows][-1])


def _left(timeline: NodeTimeline) -> float | None:
    """Since when a node neither leads nor follows (s); None if it was never seen to do so."""
    return left_at(timeline) if (timeline.role <= ROLES.index("follower")).any() else None


def _answered(timeline: NodeTimeline) -> bool:
    return bool((timeline.role != SILENT).any())


def _stand(node: str, index: int, stands: str = "at") -> str:
    return f"{node} {stands} {number(index)}" if index >= 0 else f"{node} with nothing applied"
