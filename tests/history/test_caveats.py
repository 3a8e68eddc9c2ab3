"""What the checker left open about violations, by the reasons that it really gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.counterexamples import counters, kv, one_register
from checker.counterexamples import enumerate as enumerated
from history.records.caveats import caveats_of, is_least, leaves_more, violations_text

MORE = "there may be more than the first 4 violations: the rest was not looked for"
LARGE = "a counterexample of 292 operations may not be minimal: of 203 of them it was not decided whether"


def test_reasons_are_given_for_keys_with_violations_alone() -> None:
    keys = [
        {"key": "a", "violations": 4, "reason": MORE},
        {"key": "b", "violations": 0, "reason": "the deadline passed"},
        {"key": "c", "violations": 1},
    ]
    assert caveats_of({"keys": keys}) == [("a", MORE)]
    assert is_least({"keys": keys})
    assert not is_least({"keys": [{"key": "a", "violations": 1, "reason": LARGE}]})
    assert not is_least({})
    assert caveats_of({"keys": None}) == []


def test_counts_that_may_be_too_low_are_at_least_so_many() -> None:
    assert violations_text(4, least=True) == "at least 4 violations"
    assert violations_text(1, least=True) == "at least 1 violation"
    assert violations_text(1, least=False) == "1 violation"
    assert violations_text(4318, least=False) == "4,318 violations"
    assert violations_text(0, least=True) == "0 violations"


@pytest.mark.parametrize("module", [counters, enumerated, kv, one_register])
def test_every_note_of_the_checker_about_further_violations_is_known(module: object) -> None:
    """The words are the checker's own: a note that is put otherwise there has to be known here too."""
    source = Path(str(module.__file__)).read_text()  # type: ignore[attr-defined]
    notes = [line for line in source.splitlines() if "the first {counted(" in line or "not looked for" in line]
    assert notes, "the checker's own words are somewhere else"
    assert all(leaves_more([line]) for line in notes)
