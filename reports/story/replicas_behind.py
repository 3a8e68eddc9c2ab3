"""What is said of replicas that did not catch up: since when each stands where, by its own answers to probes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from reports.analysis.failed_starts import FailedStart
from reports.analysis.faults import FaultWindow, when
from reports.analysis.findings import Drawn
from reports.analysis.lagging_nodes import CaughtUp, caught_up
from reports.analysis.node_timeline import GONE_S, ROLES, SILENT, NodeTimeline, last_progress, left_at, silent_since
from reports.style.format import number, one_line

_PREFIX: Final = re.compile(r"^(?:\W{0,2}\d{4}-\d\d-\d\d[ T][\d:.,]+\s?(?:Z|[+-]\d\d:?\d\d)?\s*)|^Caused by: ")


def behind_text(drawn: Drawn, behind: Sequence[NodeTimeline]) -> tuple[str, float | None]:
    """Say of replicas that are behind where they stand, or do not answer, or do not start; since when (s).

    A node is dated by what its own answers show of it.  One that never answered, or never said where its log stands,
    has no beginning.
    """
    end, windows = drawn.run.end / 1e9, drawn.windows
    write = drawn.timelines[0].index if drawn.timelines else number
    starts = [one for one in drawn.failed_starts if one.node in {timeline.node for timeline in behind}]
    behind = [one for one in behind if one.node not in {start.node for start in starts}]
    silent = {one.node: since for one in behind if (since := silent_since(one, end)) is not None}
    apart = [one for one in behind if one.node not in silent and not one.reports]
    stopped = {one.node: _stands(one) for one in behind if one.node not in silent and one.reports}
    known = [
        *silent.values(),
        *(one.last for one in starts),
        *(moment for one in apart if (moment := _left(one)) is not None),
    ]
    caught = {one.node: found for one in behind if one.node in stopped and (found := caught_up(one, drawn.timelines))}
    stopped = {name: stand for name, stand in stopped.items() if name not in caught}
    known += [one.since for one in caught.values()]
    onset = min([*(one for one in known if one), *(moment for moment, _ in stopped.values() if moment)], default=None)
    parts = [starts_text(starts, windows, end)] if starts else []
    total, target = len(drawn.timelines), max(int(one.committed.max(initial=-1)) for one in drawn.timelines)
    logs_end = max((int(one.log_end[one.role != SILENT][-1]) for one in drawn.timelines if _answered(one)), default=-1)
    of_all = f"of {write(target)} that were committed by the end"
    if level := [name for name, (_, index) in stopped.items() if 0 <= logs_end <= index < target]:
        stand = ", ".join(f"{name} at {write(stopped.pop(name)[1])}" for name in sorted(level))
        parts.append(f"At the end {stand}, where every log ends, {of_all}")
    parts += [_caught(drawn, name, one) for name, one in sorted(caught.items())]
    if moving := [name for name, (moment, _) in stopped.items() if moment and end - moment < GONE_S]:
        stand = ", ".join(f"{name} at {write(stopped.pop(name)[1])}" for name in sorted(moving))
        parts.append(
            f"At the end {stand} {'was' if len(moving) == 1 else 'were'} behind {write(target)}, still applying"
        )
    if never := [name for name, (moment, _) in stopped.items() if moment is None]:
        stood = ", ".join(_stand(name, stopped.pop(name)[1], write, "stood at") for name in sorted(never))
        parts.append(f"{stood} in all answers that it gave, {of_all}")
    if stopped:
        moments = [moment for moment, _ in stopped.values() if moment]
        span = when(min(moments), windows)
        span += f", the last at {max(moments):.1f} s" if max(moments) - min(moments) > 1 else ""
        stand = ", ".join(_stand(name, index, write) for name, (_, index) in sorted(stopped.items()))
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
        gone = f"gave its last answer at {when(last, windows, name)}" if last else "never answered a probe"
        parts.append(f"{name} {gone}")
    return "; ".join(parts) + ".", onset


def starts_text(starts: Sequence[FailedStart], windows: Sequence[FaultWindow], end: float) -> str:
    """Say of nodes that they do not start again, since when each is silent, and what the end of its log says.

    Servers may be started after the ``end`` of the record (s), and what they log then is no word of their last answer.
    """
    names = [one.node for one in starts]
    named = ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
    parts, said = [], ""
    for one in starts:
        gone = (
            f"{one.node} gave its last answer at {when(one.last, windows, one.node)}"
            if one.last
            else f"{one.node} never answered"
        )
        reason = reason_of(one)
        parts.append(gone + (f"; the end of its log{_dated(one, end)} says{_says(reason, said)}" if reason else ""))
        said = reason
    return f"{named} {'do' if len(names) > 1 else 'does'} not start again: {'; '.join(parts)}"


def _dated(start: FailedStart, end: float) -> str:
    if start.logged is None:
        return ""
    return f" ({start.logged:.1f} s{', after the end of the record' if start.logged > end else ''})"


def _says(reason: str, said: str) -> str:
    return " the same" if reason == said else f": {reason}"


def reason_of(start: FailedStart, limit: int = 160) -> str:
    """Write the line with the reason why a server ended, without its date."""
    return one_line(_PREFIX.sub("", start.line), limit)


def _stands(timeline: NodeTimeline) -> tuple[float | None, int]:
    """When a node came to where it stands (s; None if no answer shows it), and where that is."""
    rows = timeline.role != SILENT
    place = last_progress(timeline.applied[rows])
    return None if place is None else float(timeline.time[rows][place]), int(timeline.applied[rows][-1])


def _caught(drawn: Drawn, node: str, one: CaughtUp) -> str:
    """Say of a node that had caught up by the end since when it had been behind, and whether a restart came before."""
    moments = drawn.run.state.get("moments")
    again = moments.get("restarting") if isinstance(moments, Mapping) else None
    restarted = isinstance(again, int) and one.since < again / 1e9 < one.until
    was = "applied nothing" if one.still else "was behind"
    then = "after the restart at the end" if restarted else "by the end"
    return f"{node} {was} from {when(one.since, drawn.windows)}, until {one.until:.1f} s; it caught up {then}"


def _left(timeline: NodeTimeline) -> float | None:
    """Since when a node neither leads nor follows (s); None if it was never seen to do so."""
    return left_at(timeline) if (timeline.role <= ROLES.index("follower")).any() else None


def _answered(timeline: NodeTimeline) -> bool:
    return bool((timeline.role != SILENT).any())


def _stand(node: str, index: int, write: Callable[[int], str], stands: str = "at") -> str:
    return f"{node} {stands} {write(index)}" if index >= 0 else f"{node} with nothing applied"
