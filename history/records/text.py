"""Numbers and lists of names as text: ``1 operation``, ``2 operations``; ``n1, n2 and n3``."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, what: str, several: str = "") -> str:
    """Write ``1 operation`` or ``2 operations``; ``several`` is the plural where it is not made by an s at the end."""
    return f"{number} {what}" if number == 1 else f"{number} {several or what + 's'}"


def and_listed(names: Iterable[str]) -> str:
    """Write ``n1``, ``n1 and n2`` or ``n1, n2 and n3``; empty for none."""
    *before, last = [*names] or [""]
    return f"{', '.join(before)} and {last}" if before else last
