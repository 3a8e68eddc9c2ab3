"""Texts that are too long for their place."""

from __future__ import annotations

import pytest

from reports.style.format import milliseconds, one_line, sentence, short

WARNING = (
    "not healed: kill on n2: the last lines of its log: ERROR ShutdownHook - shutdown hook callback invoked failure"
)


@pytest.mark.parametrize("limit", range(60, len(WARNING)))
def test_a_sentence_is_cut_at_the_end_of_a_word(limit: int) -> None:
    text = one_line(WARNING, limit)
    assert len(text) <= limit
    assert len(text) > 0.75 * limit
    assert set(text.removesuffix("…").split()) <= set(WARNING.split())


@pytest.mark.parametrize("limit", [8, 20, 39])
def test_a_word_without_an_end_in_reach_is_cut_where_its_place_ends(limit: int) -> None:
    assert (
        short("partition-majorities-ring-of-all-members", limit)
        == "partition-majorities-ring-of-all-members"[: limit - 1] + "…"
    )


def test_what_has_room_is_whole() -> None:
    assert one_line("two\n words", 9) == "two words"


def test_a_sentence_ends_once_and_not_after_an_ellipsis() -> None:
    assert sentence("as it is") == sentence("as it is.") == "as it is."
    assert sentence("and curr is 1355", 12) == "and curr is…"


def test_milliseconds_are_whole() -> None:
    assert [milliseconds(one) for one in (None, 0.0, 0.4, 7.4, 1234.5)] == ["–", "0", "< 1", "7", "1,234"]
