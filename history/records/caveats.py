"""Caveats of the checker about the violations that it found, by the verdicts of the keys in ``results.json``.

A key that is invalid has a ``reason`` where more violations may be there than were looked for, or where a
counterexample may hold more operations than it needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from history.records.violations import OF_KEYS, counts_of


def caveats_of(results: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List (key, reason) of the keys with violations about which something was left open."""
    keys = (key for key in results.get("keys") or () if key.get("violations"))
    return [(str(key.get("key")), str(key["reason"])) for key in keys if key.get("reason")]


def is_least(results: Mapping[str, Any]) -> bool:
    """Whether there may be more violations than the results count."""
    return any(key.get("more") for key in results.get("keys") or () if key.get("verdict") == "invalid")


def violations_text(count: int, *, least: bool) -> str:
    """Write ``4 violations``, or ``at least 4 violations`` where not all were looked for."""
    return f"{'at least ' if least and count else ''}{count:,} violation{'' if count == 1 else 's'}"


def violations_counted(results: Mapping[str, Any]) -> str:
    """Write how many violations there are, or at least are; also by check where several found some."""
    counts = {check: count for check, count in counts_of(results).items() if count}
    least = is_least(results)
    text = violations_text(sum(counts.values()), least=least)
    by_check = (
        f"{check[:40]} {'at least ' if least and check == OF_KEYS else ''}{count:,}" for check, count in counts.items()
    )
    return f"{text} ({', '.join(by_check)})" if len(counts) > 1 else text
