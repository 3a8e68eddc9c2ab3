"""A number and what it counts."""

from __future__ import annotations

import pytest

from history.records.counted import counted


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ("operation",), "0 operations"),
        (1, ("failed operation",), "1 failed operation"),
        (2, ("operation",), "2 operations"),
        (1, ("entry", "entries"), "1 entry"),
        (3, ("entry", "entries"), "3 entries"),
    ],
)
def test_one_is_not_written_as_several(number: int, words: tuple[str, ...], text: str) -> None:
    assert counted(number, *words) == text
