"""A number and what it counts, as text: one operation, two operations."""

from __future__ import annotations


def counted(number: int, what: str, several: str = "") -> str:
    """Write ``1 operation`` or ``2 operations``; ``several`` is the plural where it is not made by an s at the end."""
    return f"{number} {what}" if number == 1 else f"{number} {several or what + 's'}"
