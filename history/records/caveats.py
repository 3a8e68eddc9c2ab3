"""The checker's caveats about the violations that it found, from the verdicts on keys in ``results.json``.

An invalid key has a ``reason`` if the checker stopped looking for more violations, or if a counterexample may contain
more operations than it needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from history.records.violations import OF_KEYS, counts_of


def caveats_of(results: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List (key, reason) for each key whose violations come with a caveat."""
    keys = (key for key in results.get("keys") or () if key.get("violations"))
    return [(str(key.get("key")), str(key["reason"])) for key in keys if key.get("reason")]


def is_least(results: Mapping[str, Any]) -> bool:
    """Return whether there may be more violations than the results say."""
    return any(key.get("more") for key in results.get("keys") or () if key.get("verdict") == "invalid")


def violations_text(count: int, *, least: bool) -> str:
    """Format a count as ``4 violations``, or as ``at least 4 violations`` if the checker may have missed some."""
    return f"{'at least ' if least and count else ''}{count:,} violation{'' if count == 1 else 's'}"


def violations_counted(results: Mapping[str, Any]) -> str:
    """Format the number of violations in the results, also by check if several checks found some."""
    counts = {check: count for check, count in counts_of(results).items() if count}
    least = is_least(results)
    text = violations_text(sum(counts.values()), least=least)
    by_check = (
        f"{check[:40]} {'at least ' if least and check == OF_KEYS else ''}{count:,}" for check, count in counts.items()
    )
    return f"{text} ({', '.join(by_check)})" if len(counts) > 1 else text
