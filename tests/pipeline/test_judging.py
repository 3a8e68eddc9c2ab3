"""How the time for checking is shared."""

from __future__ import annotations

from history import KeyVerdict
from pipeline.judging import Budget, verdict_table, verdicts_of


def test_a_key_gets_what_is_left_and_never_less_than_its_share() -> None:
    now = 100.0
    budget = Budget.of(20, 4, lambda: now)
    assert (budget.until, budget.left()) == (120, 20)
    now = 112.0
    assert budget.left() == 8
    now = 500.0
    assert budget.left() == 5


def test_no_keys() -> None:
    assert Budget.of(20, 0, lambda: 0.0).share == 20


def test_verdicts_come_back_in_the_order_of_their_keys() -> None:
    verdicts = [KeyVerdict(key, "valid", "zones", 1, 0.5) for key in ("b", 10, None, "a", 9)]
    assert [verdict.key for verdict in verdicts_of(verdict_table(verdicts))] == [None, 9, 10, "a", "b"]
