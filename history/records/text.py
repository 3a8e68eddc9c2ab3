"""Format counts and lists of names: ``1 operation``, ``2 operations``; ``n1, n2 and n3``."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, noun: str, several: str = "") -> str:
    """Format a count, such as ``1 operation`` or ``2 operations``; ``several`` is an irregular plural of ``noun``."""
    return f"{number} {noun}" if number == 1 else f"{number} {several or noun + 's'}"


def and_listed(names: Iterable[str]) -> str:
    """Format a list of names as ``n1``, ``n1 and n2`` or ``n1, n2 and n3``; empty for none."""
    *before, last = [*names] or [""]
    return f"{', '.join(before)} and {last}" if before else last


def quoted(text: str) -> str:
    """Quote a text for a shell, so that a command with a stranger's text in it can be pasted."""
    return "'" + text.replace("'", "'\\''") + "'"
