"""Several names as text: n1, n2 and n3."""

from __future__ import annotations

from collections.abc import Iterable


def and_listed(names: Iterable[str]) -> str:
    """Write ``n1``, ``n1 and n2`` or ``n1, n2 and n3``; empty for none."""
    *before, last = [*names] or [""]
    return f"{', '.join(before)} and {last}" if before else last
