"""What the checker left open about the violations of a run."""

from __future__ import annotations

from history.records.doubts import doubts_of
from history.records.verdicts import MAX_COUNTEREXAMPLES
from reports.load.run import Run


def doubts_text(run: Run) -> str:
    """Write what the checker left open about the violations; empty where nothing is."""
    found = doubts_of(run.results)
    named = [f"{key}: {reason}" for key, reason in found[:MAX_COUNTEREXAMPLES]]
    more = [f"and of {len(found) - len(named)} more keys"] if len(found) > len(named) else []
    return "; ".join([*named, *more])
