"""Tables of what faults cost: by kind of operation, by node, and by fault over a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from history.metrics.recovery import never_recovered
from history.records.indexes import index_text
from reports.style.format import milliseconds, number, one_line, seconds

Rows = list[tuple[str, ...]]


def kinds_of(windows: Sequence[Mapping[str, Any]]) -> Rows:
    """List a row for each fault and kind of operation; empty where the results hold no such figures."""
    lines: Rows = []
    for window in windows:
        kinds = window.get("kinds")
        for kind, figures in (kinds if isinstance(kinds, Mapping) else {}).items():
            if isinstance(figures, Mapping) and figures:
                lines.append(_kind_line(window, kind, figures))
    if not lines:
        return []
    head = ("#", "fault", "kind", "before", "during", "after", "gap s", "first ok ms", "rate back ms")
    return [head, *lines]


def _kind_line(window: Mapping[str, Any], kind: object, figures: Mapping[str, Any]) -> tuple[str, ...]:
    gap = figures.get("longest_gap_ms")
    never = never_recovered({**figures, "state": window.get("state")})
    return (
        str(window.get("id", "")),
        one_line(window.get("fault", ""), 32),
        one_line(kind, 12),
        number(figures.get("rate_before")),
        number(figures.get("rate_during")),
        number(figures.get("rate_after")),
        seconds(gap / 1e3 if isinstance(gap, int | float) else None),
        milliseconds(figures.get("first_ok_ms")),
        "never" if never else milliseconds(figures.get("recovered_ms")),
    )


def nodes_of(windows: Sequence[Mapping[str, Any]], epoch_bits: int = 0) -> Rows:
    """List for each fault how long after the heal each node had caught up."""
    recorded = [window for window in windows if (window.get("caught_up") or {}).get("nodes")]
    names = list(dict.fromkeys(node for window in recorded for node in window["caught_up"]["nodes"]))
    if not recorded:
        return []
    lines: Rows = [("#", "fault", "to index", *(one_line(name, 12) for name in names))]
    for window in recorded:
        took, target = window["caught_up"]["nodes"], window["caught_up"].get("target", "")
        late = {*(window.get("behind") or ()), *(window.get("silent") or ())}
        cells = ("behind" if name in late else milliseconds(took.get(name)) for name in names)
        lines.append(
            (
                str(window.get("id", "")),
                one_line(window.get("fault", ""), 32),
                index_text(target, epoch_bits) if isinstance(target, int) else str(target),
                *cells,
            )
        )
    return lines


def faults_of(figures: Mapping[str, Any]) -> Rows:
    """List for each fault the distribution over its windows, as least / median / most."""
    lines: Rows = []
    for fault, record in figures.items():
        if isinstance(record, Mapping):
            spreads = (
                _spread(record.get(name)) for name in ("longest_gap_ms", "first_ok_ms", "recovered_ms", "caught_up_ms")
            )
            never = f"{record.get('never_recovered', 0)}, {record.get('never_caught_up', 0)}"
            lines.append((one_line(fault, 32), str(record.get("windows", "")), *spreads, never))
    if not lines:
        return []
    head = ("fault", "windows", "gap ms", "first ok ms", "rate back ms", "caught up ms", "not back: rate, nodes")
    return [head, *lines]


def _spread(found: object) -> str:
    if not isinstance(found, Mapping):
        return "–"
    return " / ".join(milliseconds(found.get(name)) for name in ("least", "median", "most"))
