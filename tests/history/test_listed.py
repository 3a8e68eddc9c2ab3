"""Names in a sentence."""

from __future__ import annotations

import pytest

from history.records.listed import and_listed


@pytest.mark.parametrize("names", [[], ["n1"], ["n1", "n2"], ["n1", "n2", "n3"]])
def test_the_last_of_several_names_follows_an_and(names: list[str]) -> None:
    expected = ("", "n1", "n1 and n2", "n1, n2 and n3")[len(names)]
    assert and_listed(names) == and_listed(name for name in names) == expected
