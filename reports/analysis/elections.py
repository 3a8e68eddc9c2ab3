"""Claims to leadership over time: first claims, contested claims, and the number of leaders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from history.columns.operations import Floats, Ints
from reports.analysis.node_timeline import ROLES, ROUND_S, SILENT, NodeTimeline, leader_at, stretches, term_at


@dataclass(frozen=True, slots=True)
class FirstClaim:
    """A node's first claim to lead in a term, at the probe that saw it first (``start``, in seconds).

    ``rivals`` are (node, term) of other claims in the same round of probes, whose order is unknown.
    """

    node: str
    term: int
    start: float
    rivals: tuple[tuple[str, int], ...]


def claims_of(timelines: Sequence[NodeTimeline]) -> list[FirstClaim]:
    """Return the first claim of each node in each term, ordered by time, and by term within a round of probes.

    In a system without terms, two nodes may both claim to lead, so a claim counts only if a majority names the
    node.
    """
    leading = {timeline.node: _claims(timeline) for timeline in timelines}
    claims = []
    for node, (times, terms) in leading.items():
        for term in np.unique(terms):
            moments = times[terms == term].tolist()
            start = next((at for at in moments if term >= 0 or leader_at(timelines, at) == node), None)
            if start is None:
                continue
            rivals = [
                (other, int(theirs[place]))
                for other, (moments, theirs) in leading.items()
                if other != node and (place := _nearest(moments, start)) is not None
            ]
            claims.append(FirstClaim(node, int(term), start, tuple(rivals)))
    claims.sort(key=lambda claim: (claim.start, claim.term, claim.node))
    ordered: list[FirstClaim] = []
    for claim in claims:
        place = len(ordered)
        while place and claim.start - ordered[place - 1].start <= ROUND_S and claim.term < ordered[place - 1].term:
            place -= 1
        ordered.insert(place, claim)
    return ordered


@dataclass(frozen=True, slots=True)
class Leadership:
    """A time from ``start`` to ``end`` (s) when ``node`` led in ``term``, by :func:`node_timeline.leader_at`."""

    node: str
    term: int
    start: float
    end: float


def leaderships_of(timelines: Sequence[NodeTimeline]) -> list[Leadership]:
    """Return the leaders over time.

    For any single moment this agrees with :func:`node_timeline.leader_at`, so everything drawn is consistent.
    """
    moments = {moment for timeline in timelines for one in stretches(timeline) for moment in (one.start, one.end)}
    moments |= {
        float(timeline.time[place])
        for timeline in timelines
        for place in range(1, len(timeline.named))
        if timeline.named[place] != timeline.named[place - 1]
    }
    leaderships: list[Leadership] = []
    for start, end in pairwise(sorted(moments)):
        node, term = leader_at(timelines, (start + end) / 2), term_at(timelines, (start + end) / 2)
        last = leaderships[-1] if leaderships else None
        if node is not None and last and (last.node, last.term, last.end) == (node, term, start):
            leaderships[-1] = Leadership(node, term, last.start, end)
        elif node is not None:
            leaderships.append(Leadership(node, term, start, end))
    return leaderships


def contested_of(timelines: Sequence[NodeTimeline]) -> list[tuple[str, float, float]]:
    """Return (node, from, to) for times when another node claimed to lead in the same round of probes."""
    leading = {timeline.node: _claims(timeline)[0] for timeline in timelines}
    contested: list[tuple[str, float, float]] = []
    for node, times in leading.items():
        others = [moments for other, moments in leading.items() if other != node]
        for time in times.tolist():
            if not any(_nearest(moments, time) is not None for moments in others):
                continue
            if contested and contested[-1][0] == node and time - contested[-1][2] <= ROUND_S:
                contested[-1] = (node, contested[-1][1], time + ROUND_S / 2)
            else:
                contested.append((node, time - ROUND_S / 2, time + ROUND_S / 2))
    return contested


def _claims(timeline: NodeTimeline) -> tuple[Floats, Ints]:
    led = timeline.role == ROLES.index("leader")
    return timeline.time[led], timeline.term[led]


def _nearest(moments: Floats, seconds: float) -> int | None:
    """Return the place of the nearest moment in the same round of probes; None if there is none."""
    if not len(moments):
        return None
    after = int(np.searchsorted(moments, seconds))
    around = [place for place in (after - 1, after) if 0 <= place < len(moments)]
    place = min(around, key=lambda candidate: abs(float(moments[candidate]) - seconds))
    return place if abs(float(moments[place]) - seconds) <= ROUND_S / 2 else None


@dataclass(frozen=True, slots=True)
class Elections:
    """Counts of leaders and terms over the whole run, from its probes; each term's leader counts once.

    ``since``: when the first leader was seen (s). ``again`` holds (node, term, start in s) for nodes that led
    again in a term that they had led before.  In between they had another role, as after a restart and an election
    with the votes that were on disk.
    """

    leader_changes: int
    since: float | None
    first_term: int
    last_term: int
    again: tuple[tuple[str, int, float], ...] = ()


def elections_of(timelines: Sequence[NodeTimeline]) -> Elections:
    """Count the leaders and terms of a run."""
    claims = claims_of(timelines)
    terms = [int(term) for timeline in timelines for term in timeline.term[timeline.term >= 0]]
    return Elections(
        leader_changes=max(len(claims) - 1, 0),
        since=claims[0].start if claims else None,
        first_term=min(terms, default=-1),
        last_term=max(terms, default=-1),
        again=tuple(
            sorted((lead for timeline in timelines for lead in _led_again(timeline)), key=lambda lead: lead[2])
        ),
    )


def _led_again(timeline: NodeTimeline) -> list[tuple[str, int, float]]:
    """Return (node, term, seconds) for each time a node led a term again; silence alone does not end a leadership."""
    leads: list[tuple[str, int, float]] = []
    led: set[int] = set()
    leading = -1
    for time, role, term in zip(timeline.time.tolist(), timeline.role.tolist(), timeline.term.tolist(), strict=True):
        if role == SILENT:
            continue
        if role != 0:
            leading = -1
        elif leading != term:
            if term in led:
                leads.append((timeline.node, term, time))
            led.add(term)
            leading = term
    return leads
