"""The track of events next to roles and terms: log lines of nodes and harness, elections, and logs that were cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from history import node_logs
from history.node_logs import LogLine
from reports.analysis.elections import FirstClaim, claims_of, contested_of
from reports.analysis.findings import Drawn
from reports.analysis.invariant_violations import moments_by_check
from reports.analysis.node_timeline import SILENT, NodeTimeline, leader_at
from reports.style.format import one_line

MAX_LINES: Final = 800
MAX_ARROWS: Final = 400
ROOM_S: Final = 2.0
#: Place of the harness, which is not a node.
HARNESS: Final = -1
#: Kinds of arrows.  LOST: a log lost entries that its node had reported as committed; CUT: it lost only others.
ELECTION, LOST, CUT = 0, 1, 2


def track_of(drawn: Drawn) -> dict[str, Any]:
    """Return ``lines`` (second, place of the node, level, text, how often within its second) and ``arrows``.

    An arrow is (kind, second, place it leads from or None, place it leads to, text). Levels: 0 none, 1 a warning, 2
    an error, 3 a change in replication.  ``contested`` (place, from, to) are times when another node also claimed
    to lead.
    """
    places = {timeline.node: place for place, timeline in enumerate(drawn.timelines)}
    lines = drawn.run.notes.attempt_list("track of logs", lambda: _lines(drawn))
    return {
        "lines": [
            [round(line.seconds, 3), places.get(line.node, HARNESS), _level(line), one_line(line.text, 200), line.times]
            for line in lines
        ],
        "arrows": sorted([*_elections(drawn.timelines), *_truncations(drawn.timelines)], key=lambda arrow: arrow[1])[
            :MAX_ARROWS
        ],
        "contested": [
            [places[node], round(start, 4), round(end, 4)] for node, start, end in contested_of(drawn.timelines)
        ],
    }


def _level(line: LogLine) -> int:
    if line.of_replication:
        return 3
    return 2 if line.level == "ERROR" else 1 if line.level == "WARN" else 0


def _lines(drawn: Drawn) -> list[LogLine]:
    """Choose the lines worth a mark: errors and warnings before others, the rarest first."""
    run, end = drawn.run, drawn.run.end / 1e9
    size = sum(path.stat().st_size for _, path in node_logs.log_files(run.files))
    spans = [(0.0, end)] if size <= node_logs.MAX_BYTES else node_logs.merged(_moments(drawn), ROOM_S)
    lines = [line for start, stop in spans for line in node_logs.by_second(run.recording, run.started, start, stop)]
    lines.sort(key=lambda line: (-line.weight, line.times))
    return sorted(lines[:MAX_LINES], key=lambda line: line.seconds)


def _moments(drawn: Drawn) -> list[float]:
    """Return the times of faults, violations and findings, in seconds."""
    moments = [moment for w in drawn.windows for moment in (w.started, w.healed) if moment is not None]
    moments += [violation.since for violation in drawn.violations]
    return moments + [observed[0] for _, every in moments_by_check(drawn) for observed in every]


def _elections(timelines: Sequence[NodeTimeline]) -> Iterator[list[Any]]:
    """Yield an arrow from each leader to its successor; none between two that claimed the same term."""
    places = {timeline.node: place for place, timeline in enumerate(timelines)}
    before: FirstClaim | None = None
    for claim in claims_of(timelines):
        follows = before is not None and before.node != claim.node and (claim.term < 0 or before.term != claim.term)
        after = f" after {before.node}" if before and follows else ""
        others = ", ".join(f"{node}{f' (term {term})' if term >= 0 else ''}" for node, term in claim.rivals)
        also = f"; in the same round of probes, {others} claimed so, too" if others else ""
        text = f"{claim.node} leads{f' in term {claim.term}' if claim.term >= 0 else ''}{after}{also}"
        yield [
            ELECTION,
            round(claim.start, 4),
            places[before.node] if before and follows else None,
            places[claim.node],
            text,
        ]
        before = claim


def _truncations(timelines: Sequence[NodeTimeline]) -> Iterator[list[Any]]:
    """Yield an arrow to each node whose log was seen to shrink, from the leader of that moment.

    A log may lose entries that were not committed: the leader's log replaces them.
    """
    places = {timeline.node: place for place, timeline in enumerate(timelines)}
    for place, timeline in enumerate(timelines):
        rows = np.flatnonzero(timeline.role != SILENT)
        ends, committed = timeline.log_end[rows], np.maximum.accumulate(timeline.committed[rows])
        for row in np.flatnonzero(np.diff(ends) < 0):
            at, end, claim = float(timeline.time[rows[row + 1]]), int(ends[row + 1]), int(committed[row])
            leader = leader_at(timelines, at)
            text = f"the log of {timeline.node} fell from {timeline.index(int(ends[row]))} to {timeline.index(end)}"
            if end < claim:
                text += f", although it had said that {timeline.index(claim)} was committed"
            elif claim >= 0:
                text += f"; it still holds the {timeline.index(claim)} that it had said to be committed"
            source = places[leader] if leader is not None and leader != timeline.node else None
            yield [LOST if end < claim else CUT, round(at, 4), source, place, text]
