"""Expectations: what was asked for passes, everything else is named for what it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from harness.exits import exit_code, worst_code
from harness.judge.known_defects import Defect
from harness.suite.expectation import CODE_OF, Expectation, Outcome, compare
from history.records.violations import Violation
from history.schema import convert, record_of

VALID = Expectation()
PLANTED = Expectation(("invalid",), ("no-recovery", "lost-write"))
FLAKY = Expectation(("valid", "invalid"), ("no-recovery",))
OLD = Defect("old", ("no-recovery",), "a line")
KNOWN = Expectation(("valid", "invalid"), known=(OLD,))


def nothing_is_explained(violations: Sequence[Violation], known: Sequence[Defect]) -> list[Violation]:
    return list(violations)


def all_is_explained(violations: Sequence[Violation], known: Sequence[Defect]) -> list[Violation]:
    assert known == (OLD,)
    return []


@pytest.mark.parametrize(
    ("expected", "verdict", "kinds", "outcome", "words"),
    [
        (VALID, "valid", (), "passed", ""),
        (VALID, "invalid", ("stale-read",), "violation", ""),
        (VALID, "unknown", (), "unknown", ""),
        (PLANTED, "invalid", ("no-recovery",), "passed", "as expected"),
        (PLANTED, "invalid", ("lost-write", "no-recovery"), "passed", "as expected"),
        (PLANTED, "invalid", ("no-recovery", "stale-read"), "violation", "stale-read"),
        (PLANTED, "valid", (), "missing-violation", "the expected violation did not appear"),
        (PLANTED, "unknown", (), "unknown", ""),
        (FLAKY, "valid", (), "passed", "did not show this time"),
        (FLAKY, "invalid", ("no-recovery",), "passed", "as expected"),
        (FLAKY, "invalid", ("lost-write",), "violation", "lost-write"),
        (FLAKY, "unknown", (), "unknown", ""),
        (Expectation(("valid", "unknown")), "unknown", (), "passed", ""),
        (Expectation(("unknown",)), "valid", (), "missing-violation", "valid, but expected otherwise: unknown"),
        (KNOWN, "invalid", ("no-recovery",), "violation", "no-recovery without the marks of old: a new defect"),
        (KNOWN, "invalid", ("lost-write",), "violation", "lost-write"),
        (KNOWN, "valid", (), "passed", "did not show this time"),
    ],
)
def test_outcomes(expected: Expectation, verdict: Any, kinds: tuple[str, ...], outcome: Outcome, words: str) -> None:
    found, said = compare(expected, verdict, [Violation("x", kind) for kind in kinds], nothing_is_explained)
    assert found == outcome
    assert words in said


def test_what_is_undecided_beside_a_known_defect_is_not_as_expected() -> None:
    known = [Violation("recovery", "no-recovery", ("n1",))]
    outcome, words = compare(KNOWN, "invalid", known, all_is_explained, ["linearizable", "read-back"])
    assert (outcome, words.rpartition(": ")[2]) == ("unknown", "linearizable, read-back")
    either = Expectation(("invalid", "unknown"), known=(OLD,))
    assert compare(either, "invalid", known, all_is_explained, ["linearizable"]) == ("passed", "as expected")
    new = [Violation("linearizable", "lost-write")]
    assert compare(KNOWN, "invalid", new, nothing_is_explained, ["read-back"])[0] == "violation"


def test_what_bears_the_marks_of_a_known_defect_is_as_expected() -> None:
    found = [Violation("recovery", "no-recovery", ("n1",))]
    assert compare(KNOWN, "invalid", found, all_is_explained) == ("passed", "as expected")
    assert compare(VALID, "invalid", found, all_is_explained) == ("violation", "")


def test_an_expectation_survives_the_journal() -> None:
    for one in (VALID, PLANTED, FLAKY, KNOWN):
        assert convert(record_of(one), Expectation) == one


def test_a_planted_bug_that_stays_green_fails() -> None:
    outcome, _ = compare(PLANTED, "valid", (), nothing_is_explained)
    assert CODE_OF[outcome] == 1


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([], 0),
        (["passed", "skipped"], 0),
        (["passed", "unknown"], 2),
        (["not-run"], 2),
        (["unknown", "violation"], 1),
        (["missing-violation", "passed"], 1),
        (["unknown", "harness-failure"], 255),
        (["violation", "harness-failure", "unknown"], 1),
    ],
)
def test_the_worst_wins(outcomes: list[Outcome], code: int) -> None:
    assert worst_code(CODE_OF[outcome] for outcome in outcomes) == code


@pytest.mark.parametrize(("codes", "code"), [([0, 254], 254), ([254, 255], 255), ([77], 255), ([1, 130], 130)])
def test_every_code_has_its_rank(codes: list[int], code: int) -> None:
    assert worst_code(codes) == worst_code(reversed(codes)) == code


@pytest.mark.parametrize(
    ("verdict", "failure", "code"),
    [
        ("valid", None, 0),
        ("invalid", None, 1),
        ("unknown", None, 2),
        ("invalid", "disk full", 1),
        ("unknown", "disk full", 255),
        ("valid", "x", 255),
    ],
)
def test_only_a_proven_violation_outranks_our_own_failure(verdict: str, failure: str | None, code: int) -> None:
    assert exit_code(verdict, failure) == code
