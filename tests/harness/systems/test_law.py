"""A law of outcomes: the rules of a system, and those that no system may soften."""

from __future__ import annotations

import pytest

from harness.systems.law import LOST, NOT_SENT, Law, Rule
from harness.workloads import Invocation

LAW = Law(Rule("failed", "an error after the append", "info", read="fail"), reads=("read",))


@pytest.mark.parametrize(
    ("case", "f", "outcome"),
    [
        (NOT_SENT, "write", "fail"),
        (NOT_SENT, "read", "fail"),
        (LOST, "write", "info"),
        (LOST, "read", "fail"),
        ("failed", "cas", "info"),
        ("failed", "read", "fail"),
    ],
)
def test_an_outcome_is_that_of_its_case(case: str, f: str, outcome: str) -> None:
    assert LAW.type_of(case, f) == outcome


def test_a_law_cannot_soften_what_a_lost_request_proves() -> None:
    with pytest.raises(ValueError, match="more than one rule for lost"):
        Law(Rule(LOST, "sent, no answer", "fail"))


def test_a_write_keeps_its_value_and_a_read_has_only_one_that_was_answered() -> None:
    assert LAW.outcome(LOST, Invocation("write", "x", 3), "n1").value == 3
    assert LAW.outcome(LOST, Invocation("read", "x", None), "n1").value is None
    assert LAW.outcome("failed", Invocation("read", "x", None), "n1", value=7).value == 7
