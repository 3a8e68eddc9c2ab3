"""Sentences about a cluster that did not recover: nothing committed, no client served, or replicas behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from history.records.finding import Comeback
from history.records.probes import last_commit
from history.records.text import and_listed
from reports.analysis.faults import when
from reports.analysis.findings import Drawn
from reports.analysis.node_timeline import leader_at, silent_since
from reports.analysis.outages import unserved
from reports.load.cut_record import is_cut
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
    starts = tuple(start for start in drawn.failed_starts if start.lines and start.node in named)
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
        words = str(row["seen"])
        silent = unserved(drawn.run, about)
        if silent is None:
            return _kinds_unserved(drawn, about) or Break(about.severity, words, None, "recovery", ("recovery",))
        since, until = silent
        span = f"to the end ({end - since:.1f} s later)" if until is None else f"to {until:.1f} s"
        text = f"No operation succeeded from {when(since, drawn.windows)}, {span}"
        return Break("no commits", text, since, "recovery", ("recovery",), detail=f"{words[:1].upper()}{words[1:]}.")
    text, clauses, onset = behind_text(drawn, behind)
    part = drawn.run.notes.attempt
    details = (
        part("causes", lambda: causes_text(drawn, nodes), ""),
        part("when they fell behind", lambda: fell_text(drawn, nodes), ""),
        part("repeated", lambda: stuck_text(drawn, nodes), ""),
    )
    detail = " ".join(filter(None, details)) if onset is not None else ""
    checks = ("recovery",)
    return Break("replica behind", text, onset, "recovery", checks, nodes, starts, detail=detail, clauses=clauses)


def _kinds_unserved(drawn: Drawn, about: Comeback) -> Break | None:
    """Say since when no operation of some kinds succeeded; None if the history does not show it."""
    operations, end = drawn.run.operations, drawn.run.end / 1e9
    last = {
        kind: float(operations.applied_at(code).max(initial=0)) / 1e9 for code, kind in enumerate(operations.f.names)
    }
    kinds = [kind for kind in about.unserved if kind in last]
    if not kinds or is_cut(drawn.run):
        return None
    since = max(last[kind] for kind in kinds)
    began = f"after {when(since, drawn.windows)}"
    moments = drawn.run.state.get("moments")
    restarted = moments.get("restarted") if isinstance(moments, Mapping) else None
    if isinstance(restarted, int) and since < restarted / 1e9:
        since = restarted / 1e9
        began = f"after all servers had been restarted, at {since:.1f} s"
    elif since > about.healed_ns / 1e9 + 1:
        return None
    text = f"No {' or '.join(kinds)} succeeded {began}, to the end ({end - since:.1f} s later)"
    served = [kind for kind, at in last.items() if at > since]
    clauses = (Clause((f"; {and_listed(served)} did",)),) if served else ()
    return Break(about.severity, text, since, "recovery", ("recovery",), clauses=clauses)
