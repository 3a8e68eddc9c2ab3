"""Sentences about a cluster that did not recover: nothing committed, no client served, or replicas behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from history.records.finding import Comeback
from history.records.probes import last_commit
from reports.analysis.faults import when
from reports.analysis.findings import Drawn
from reports.analysis.node_timeline import leader_at, silent_since
from reports.analysis.outages import unserved
from reports.story.breaks import Break, Clause
from reports.story.causes import causes_text
from reports.story.repeated_lines import stuck_text
from reports.story.replicas_behind import behind_text, fell_text, starts_text


def no_recovery(drawn: Drawn, row: Mapping[str, Any], about: Comeback) -> Break:
    """Describe what the failed recovery check found."""
    end = drawn.run.end / 1e9
    moment = last_commit(drawn.run.probes)
    last = None if moment is None else moment / 1e9
    answered = [timeline.node for timeline in drawn.timelines if silent_since(timeline, end) is None]
    # If clients decided, no probe shows how far a node is.
    named = set[str]() if about.by_clients else set(about.behind)
    behind = [timeline for timeline in drawn.timelines if timeline.node in named]
    nodes = tuple(timeline.node for timeline in behind)
    starts = tuple(one for one in drawn.failed_starts if one.lines and one.node in named)
    if last is not None and about.is_outage:
        leader = leader_at(drawn.timelines, end)
        led = f"{leader} led" if leader else "no node led"
        text = f"Nothing was committed from {when(last, drawn.windows)}, to the end ({end - last:.1f} s later)"
        detail = f"{len(answered)} of {len(drawn.timelines)} nodes answered at the end, where {led}."
        if starts:
            detail += f" {starts_text(starts, drawn.windows, end)}."
        return Break(
            "no commits",
            text,
            last,
            "recovery",
            ("recovery",),
            nodes,
            starts,
            detail=detail,
            clauses=(Clause((f"; at the end {led}",)),),
        )
    if not behind:
        seen = str(row["seen"])
        silent = unserved(drawn.run, about)
        if silent is None:
            return Break(about.severity, seen, None, "recovery", ("recovery",))
        since, until = silent
        span = f"to the end ({end - since:.1f} s later)" if until is None else f"to {until:.1f} s"
        text = f"No operation succeeded from {when(since, drawn.windows)}, {span}"
        return Break("no commits", text, since, "recovery", ("recovery",), detail=f"{seen[:1].upper()}{seen[1:]}.")
    text, clauses, onset = behind_text(drawn, behind)
    part = drawn.run.notes.attempt
    found = (
        part("causes", lambda: causes_text(drawn, nodes), ""),
        part("when they fell behind", lambda: fell_text(drawn, nodes), ""),
        part("repeated", lambda: stuck_text(drawn, nodes), ""),
    )
    detail = " ".join(filter(None, found)) if onset is not None else ""
    checks = ("recovery",)
    return Break("replica behind", text, onset, "recovery", checks, nodes, starts, detail=detail, clauses=clauses)
