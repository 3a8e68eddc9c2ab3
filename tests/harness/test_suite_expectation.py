"""Expectations: what was asked for passes, everything else is named for what it is."""

from __future__ import annotations

from typing import Any

import pytest

from harness.exits import worst_code
from harness.suite.expectation import CODE_OF, Expectation, Outcome, compare, kinds_of

VALID = Expectation()
KNOWN = Expectation(("invalid",), ("no-recovery", "lost-write"))
FLAKY = Expectation(("valid", "invalid"), ("no-recovery",))


@pytest.mark.parametrize(
    ("expected", "verdict", "kinds", "outcome", "words"),
    [
        (VALID, "valid", (), "passed", ""),
        (VALID, "invalid", ("stale-read",), "violation", ""),
        (VALID, "unknown", (), "unknown", ""),
        (KNOWN, "invalid", ("no-recovery",), "passed", "as expected"),
        (KNOWN, "invalid", ("lost-write", "no-recovery"), "passed", "as expected"),
        (KNOWN, "invalid", ("no-recovery", "stale-read"), "violation", "stale-read beside what is expected"),
        (KNOWN, "valid", (), "missing-violation", "the expected violation did not appear"),
        (KNOWN, "unknown", (), "unknown", ""),
        (FLAKY, "valid", (), "passed", "did not show this time"),
        (FLAKY, "invalid", ("no-recovery",), "passed", "as expected"),
        (FLAKY, "invalid", ("lost-write",), "violation", "lost-write beside"),
        (FLAKY, "unknown", (), "unknown", ""),
        (Expectation(("valid", "unknown")), "unknown", (), "passed", ""),
    ],
)
def test_outcomes(expected: Expectation, verdict: Any, kinds: tuple[str, ...], outcome: Outcome, words: str) -> None:
    found, said = compare(expected, verdict, kinds)
    assert found == outcome
    assert words in said


def test_a_canary_that_stays_green_fails() -> None:
    outcome, _ = compare(KNOWN, "valid", ())
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
        (["violation", "harness-failure", "unknown"], 255),
    ],
)
def test_the_worst_wins(outcomes: list[Outcome], code: int) -> None:
    assert worst_code(CODE_OF[outcome] for outcome in outcomes) == code


def check(name: str, verdict: str, **details: Any) -> dict[str, Any]:
    return {"name": name, "verdict": verdict, "details": details}


def test_kinds_are_of_counterexamples_and_of_checks() -> None:
    keys = [{"counterexamples": [{"kind": "stale-read"}, {"kind": "lost-write"}]}, {"counterexamples": []}]
    checks = [
        check("linearizable", "invalid"), check("recovery", "invalid", kind="no-recovery"),
        check("election-safety", "valid", kind="two-leaders"), check("node-logs", "invalid"),
    ]  # fmt: skip
    found = kinds_of({"checks": checks, "keys": keys})
    assert found == ("lost-write", "no-recovery", "node-logs", "stale-read")


def test_a_violation_without_an_example_has_a_kind_all_the_same() -> None:
    assert kinds_of({"checks": [check("linearizable", "invalid")], "keys": [{}]}) == ("not-linearizable",)


def test_examples_of_a_valid_run_count_for_nothing() -> None:
    keys = [{"counterexamples": [{"kind": "stale-read"}]}]
    assert kinds_of({"checks": [check("linearizable", "valid")], "keys": keys}) == ()
    assert kinds_of({}) == ()
