"""The open questions that the checker left about a run's violations, as text."""

from __future__ import annotations

from history.records.caveats import caveats_of
from history.records.verdicts import MAX_COUNTEREXAMPLES
from reports.load.run import LoadedRun


def caveats_text(run: LoadedRun) -> str:
    """Say what the checker left open about the violations; empty if nothing."""
    caveats = caveats_of(run.results)
    named = [f"{key}: {reason}" for key, reason in caveats[:MAX_COUNTEREXAMPLES]]
    more = [f"and of {len(caveats) - len(named)} more keys"] if len(caveats) > len(named) else []
    return "; ".join([*named, *more])
