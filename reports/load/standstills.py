"""Sentences about the times when the harness itself was stalled or probed no node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from history.metrics.awake_clock import AwakeClock, Span, gaps
from reports.load.run import LoadedRun


def standstill_text(state: Mapping[str, Any]) -> str:
    """Say when the harness was stalled, according to ``run.json``; empty if it never was."""
    spans = AwakeClock.recorded(state).spans
    if not spans:
        return ""
    return f"The harness itself was stalled {_listed(spans)}: it sent and saw nothing, so figures omit that time."


def still_texts(run: LoadedRun) -> list[str]:
    """Return the sentences about standstills and missing probes; for most runs there are none."""
    return [text for text in (standstill_text(run.state), _unprobed_text(run)) if text]


def _unprobed_text(run: LoadedRun) -> str:
    """Say when no node was probed although no standstill was recorded; empty if that never happened."""
    spans = unprobed_in(run)
    if not spans:
        return ""
    return (
        f"No node was probed {_listed(spans)}, and no standstill of the harness is recorded there: what nodes did "
        f"then is unknown, and figures treat it like any other time."
    )


def unprobed_in(run: LoadedRun) -> list[Span]:
    """Return the times, up to the end of the load, with neither probes nor a recorded standstill."""
    if not run.probes:
        return []
    clock, ended = run.clock, (run.state.get("moments") or {}).get("main-end")
    times = [clock.at(probe.time) for probe in run.probes]
    end = max(times[-1], clock.at(ended) if isinstance(ended, int) else 0)
    return [(clock.back(begin), clock.back(until)) for begin, until in gaps(times, times[0], end)]


def _listed(spans: Sequence[Span]) -> str:
    begin, end = max(spans, key=lambda span: span[1] - span[0])
    longest = f"from {begin / 1e9:.1f} to {end / 1e9:.1f} s"
    if len(spans) == 1:
        return f"for {(end - begin) / 1e9:.1f} s, {longest}"
    return (
        f"for {sum(end - begin for begin, end in spans) / 1e9:.1f} s in all ({len(spans)} times), the longest {longest}"
    )
