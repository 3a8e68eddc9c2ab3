"""Numbers and lists of names as text."""

from __future__ import annotations

import pytest

from history.records.text import and_listed, counted


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


@pytest.mark.parametrize("names", [[], ["n1"], ["n1", "n2"], ["n1", "n2", "n3"]])
def test_the_last_of_several_names_follows_an_and(names: list[str]) -> None:
    expected = ("", "n1", "n1 and n2", "n1, n2 and n3")[len(names)]
    assert and_listed(names) == and_listed(name for name in names) == expected
