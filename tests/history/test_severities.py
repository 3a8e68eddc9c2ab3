"""How bad a violation is: what the check that found it declares, else what is known of its kind."""

from __future__ import annotations

from typing import Any

import pytest

from history import Check, Counterexample, Operation
from history.records.violations import Severity, details_of, severity_of, violations_of

ADD = Operation(0, "push", "q", 7, 7, "ok", 10, 20, 0, 1, node="n1")


def broken(kind: str) -> Counterexample:
    return Counterexample.of_promise(kind, f"q: {kind}", (ADD, "pushes 7"))


def results_of(*checks: Check) -> dict[str, Any]:
    return {"checks": [{"name": one.name, "verdict": one.verdict, "details": one.details} for one in checks]}


def check(name: str, kinds: tuple[str, ...], severities: dict[str, Severity]) -> Check:
    return Check(name, "check", "invalid", "asked", "seen", details_of([broken(kind) for kind in kinds], severities))


def test_a_kind_of_a_check_of_its_own_is_as_bad_as_the_check_declares() -> None:
    found = violations_of(
        results_of(
            check("other", ("reordered",), {}),
            check("queue", ("shuffled", "lost-push"), {"lost-push": "data lost", "late": "alarm"}),
        )
    )
    assert [(one.kind, one.severity) for one in found] == [
        ("lost-push", "data lost"), ("reordered", "inconsistent"), ("shuffled", "inconsistent"),
    ]  # fmt: skip


def test_only_severities_of_kinds_that_were_found_are_recorded() -> None:
    assert check("queue", ("lost-push",), {"lost-push": "data lost", "late": "alarm"}).details["severities"] == {
        "lost-push": "data lost"
    }
    assert "severities" not in check("queue", ("shuffled",), {"late": "alarm"}).details


def test_a_declaration_goes_before_what_is_known_of_a_kind() -> None:
    assert severity_of("queue", "lost-element", {"severities": {"lost-element": "alarm"}}) == "alarm"


@pytest.mark.parametrize("declared", [None, "data lost", ["lost-push"], {"lost-push": "awful"}, {"lost-push": ["x"]}])
def test_what_is_no_declaration_counts_as_none(declared: object) -> None:
    assert severity_of("queue", "lost-push", {"severities": declared}) == "inconsistent"


@pytest.mark.parametrize("kind", ["lost-add", "acknowledged-beyond-end", "unreadable-entry", "ledger-gone"])
def test_recordings_that_declare_nothing_read_as_before(kind: str) -> None:
    assert severity_of("ledgers", kind, {"kind": kind}) == "data lost"
