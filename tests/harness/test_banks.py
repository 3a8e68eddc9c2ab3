"""The total of a bank: every read has it, or shows how it does not."""

from __future__ import annotations

from typing import Any

from harness.workloads import total_check
from harness.workloads.banks import BANK
from history import Operation
from history.records.finding import Contradiction


def read(at: int, *balances: int) -> Operation:
    result: Any = [[account, balance] for account, balance in enumerate(balances)]
    return Operation(at, "read", BANK, None, result, "ok", 2 * at, 2 * at + 1, 2 * at, 2 * at + 1)


def test_the_first_read_with_another_total_is_shown() -> None:
    found = total_check([read(0, 5, -5), read(1, 5, -4), read(2, 9, 9)])
    (shown,) = found.counterexamples
    (wrong,) = found.findings
    assert isinstance(wrong, Contradiction)
    assert (found.verdict, wrong.kind, wrong.count) == ("invalid", "wrong-total", 2)
    assert (shown.suspects, shown.roles[0].says) == ((read(1, 5, -4),), "the balances add up to 1")
    assert total_check([read(0, 5, -5), read(1)]).verdict == "valid"
    assert total_check([]).verdict == "unknown"
