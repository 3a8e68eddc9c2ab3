"""Counts of violations that may be too low, and what else the checker left open about them."""

from __future__ import annotations

from history.records.doubts import doubts_of, is_least, violations_text
from history.records.verdicts import MAX_COUNTEREXAMPLES
from reports.analysis.findings import violation_count
from reports.load.run import Run


def violations_counted(run: Run) -> str:
    """Write how many violations there are, or at least are."""
    return violations_text(violation_count(run), least=is_least(run.results))


def doubts_text(run: Run) -> str:
    """Write what the checker left open about the violations; empty where nothing is."""
    found = doubts_of(run.results)
    named = [f"{key}: {reason}" for key, reason in found[:MAX_COUNTEREXAMPLES]]
    more = [f"and of {len(found) - len(named)} more keys"] if len(found) > len(named) else []
    return "; ".join([*named, *more])
