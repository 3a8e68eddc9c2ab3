"""Tables of what faults cost: by kind of operation, by node, and by fault over a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from history.metrics.recovery import never_recovered, too_few
from reports.analysis.findings import Drawn
from reports.load.cut_record import is_cut
from reports.style.format import index, milliseconds, number, one_line, seconds

Rows = list[tuple[str, ...]]

NEVER: Final = "never"
TOO_FEW: Final = "too few to tell"


def costs_of(drawn: Drawn) -> list[tuple[str, Rows]]:
    """Return what faults cost, by kind of operation, by node and by fault: (title, rows including a head)."""
    run = drawn.run
    windows = [window for window in run.results.get("windows", ()) if "fault" in window]
    figures = run.results.get("fault_figures")
    known = {} if is_cut(run) or not isinstance(figures, Mapping) else figures
    tables = [
        ("By kind of operation", kinds_of([asdict(window) for window in drawn.windows])),
        (
            "Time from a heal until each node had applied what was committed at the heal, in ms",
            nodes_of(windows, run.epoch_bits),
        ),
        ("By fault, over its windows: least / median / most", faults_of(known)),
    ]
    return [(title, rows) for title, rows in tables if rows]


def way_back(row: Mapping[str, Any], *, asked: bool | None = None) -> tuple[str, str]:
    """Say when an operation first succeeded after a heal, and when the rate recovered.

    Each is a time in ms, *never*, or the reason why it is unknown.

    ``row`` holds ``state``, the figures, and ``healed`` (None: not healed; absent: healed). ``asked`` says whether
    clients began an operation after the heal (None: unknown). Both are dashes if the fault was skipped or the history
    was ``cut``.
    """
    if row.get("state") == "skipped" or row.get("cut"):
        return "–", "–"
    if row.get("healed", 0) is None:
        return "not healed", "not healed"
    first, back = row.get("first_ok_ms"), row.get("recovered_ms")
    gone = "none" if asked is None else NEVER if asked else "not asked"
    first_text = milliseconds(first) if first is not None else gone
    if back is not None and too_few(row.get("rate_before")):
        return first_text, TOO_FEW if row["rate_before"] else "no rate before"
    if back is not None:
        return first_text, milliseconds(back)
    if never_recovered(row) or first_text == NEVER:
        return first_text, NEVER
    lacks = [name for name in ("before", "after") if row.get(f"rate_{name}") is None]
    return first_text, f"no rate {lacks[0]}" if lacks else "not back"


def kinds_of(windows: Sequence[Mapping[str, Any]]) -> Rows:
    """Return a header and a row for each fault and kind of operation; empty if the results hold no such figures."""
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
    requested = window.get("asked")
    row = {**figures, **{name: window[name] for name in ("state", "healed") if name in window}}
    first, back = way_back(row, asked=None if requested is None else kind in requested)
    return (
        str(window.get("id", "")),
        one_line(window.get("fault", ""), 32),
        one_line(kind, 12),
        number(figures.get("rate_before")),
        number(figures.get("rate_during")),
        number(figures.get("rate_after")),
        seconds(gap / 1e3 if isinstance(gap, int | float) else None),
        first,
        back,
    )


def nodes_of(windows: Sequence[Mapping[str, Any]], epoch_bits: int = 0) -> Rows:
    """Return a header and, for each fault, how long after the heal each node had caught up; empty if not recorded."""
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
                index(target, epoch_bits) if isinstance(target, int) else str(target),
                *cells,
            )
        )
    return lines


def faults_of(figures: Mapping[str, Any]) -> Rows:
    """Return a header and a row for each fault: the distribution over its windows, as least / median / most."""
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


def _spread(spread: object) -> str:
    if not isinstance(spread, Mapping):
        return "–"
    return " / ".join(milliseconds(spread.get(name)) for name in ("least", "median", "most"))
