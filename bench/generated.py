"""Tables in the docs that programs generate, each between two markers of its page."""

from __future__ import annotations


def with_table(text: str, begin: str, end: str, table: str) -> str:
    """Return the text of a page with the table between its two markers.  Raises ValueError if it lacks one of them."""
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"expected {begin!r} and {end!r}")
    return f"{before}{begin}\n\n{table}\n\n{end}{after}"
