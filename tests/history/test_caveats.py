"""What the checker left open about violations, by the reasons that it really gives."""

from __future__ import annotations

from history.records.caveats import caveats_of, is_least, violations_text

MORE = "there may be more than the first 4 violations: the rest was not searched"
LARGE = "a counterexample of 292 operations may not be minimal: 203 of them may not be needed"


def test_reasons_are_given_for_keys_with_violations_alone() -> None:
    keys = [
        {"key": "a", "verdict": "invalid", "violations": 4, "reason": MORE, "more": True},
        {"key": "b", "violations": 0, "reason": "the deadline passed"},
        {"key": "c", "violations": 1},
    ]
    assert caveats_of({"keys": keys}) == [("a", MORE)]
    assert is_least({"keys": keys})
    assert not is_least({"keys": [{"key": "a", "verdict": "invalid", "violations": 1, "reason": LARGE}]})
    assert not is_least({})
    assert caveats_of({"keys": None}) == []


def test_counts_that_may_be_too_low_are_at_least_so_many() -> None:
    assert violations_text(4, least=True) == "at least 4 violations"
    assert violations_text(1, least=True) == "at least 1 violation"
    assert violations_text(1, least=False) == "1 violation"
    assert violations_text(4318, least=False) == "4,318 violations"
    assert violations_text(0, least=True) == "0 violations"
