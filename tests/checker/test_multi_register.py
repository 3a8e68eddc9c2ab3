"""RegisterRows on several registers, for the compiled search: rows of numbers, judged as by the definition."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from checker.core.calls import calls_of
from checker.core.definition import is_linearization, linearizable
from checker.core.result import Limits
from checker.models.objects import MultiRegister
from checker.search import compiled as compiled_search
from checker.search import multi_register
from checker.search.compiled import compiled_search as searched
from checker.search.encoding import numbers_of
from checker.search.jit import shapes_of
from checker.search.multi_register import RegisterRows
from history import Operation
from tests.support.checker.oracle_objects import transaction_history
from tests.support.draws import draws

NO_LIMITS = Limits(lambda: 0.0)


def op(f: str, value: Any, result: Any, start: int, end: int, outcome: str = "ok") -> Operation:
    return Operation(0, f, None, value, result, outcome, start, end, start, end)  # type: ignore[arg-type]


@pytest.mark.parametrize("room", [2, 256])
def test_transactions_on_many_registers_with_many_values(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the least room, and interrupted all the time, the verdicts are the definition's, too."""
    monkeypatch.setattr(multi_register, "ROOM", room)
    if room == 2:
        monkeypatch.setattr(compiled_search, "BUDGET", 1)
        monkeypatch.setattr(compiled_search, "ROOM", 2)
        monkeypatch.setattr(compiled_search, "AHEAD", 0)
    random, model, seen = Random(room), MultiRegister(), {"valid": 0, "invalid": 0}
    for _ in range(samples := draws(300, 600)):
        calls = calls_of(transaction_history(random), model)
        answer = searched(calls, model, NO_LIMITS)
        assert answer is not None
        assert (answer.verdict == "valid") == linearizable(calls, model)
        assert answer.order is None or is_linearization(answer.order, calls, model)
        seen[answer.verdict] += 1
    assert min(seen.values()) > samples / 6


@pytest.mark.parametrize(
    ("steps", "plain"),
    [
        ([["r", "x", None], ["w", "x", 3], ["read", "x", 3]], True),
        ([["w", "x", 3], ["r", "x", 4]], True),
        ([["r", "x", 1], ["r", "x", None]], True),
        ([["w", "x", None], ["r", "x", None]], True),
        ([["w", "x", 1], ["w", "x", None], ["r", "x", 1]], True),
        ([["w", "x", 1.5]], False),
        ([["w", "x", True]], False),
        ([["w", "x", number] for number in range(1 << 5)] * 30, True),
        ([["w", number, 1] for number in range(100)], True),
        ([], True),
    ],
)
def test_transactions_are_rows_where_their_values_are_plain(steps: list[Any], plain: bool) -> None:
    model = MultiRegister()
    for outcome in ("ok", "info"):
        calls = calls_of([op("txn", steps, steps, 0, 1, outcome), op("txn", [["w", "y", 1]], None, 2, 3)], model)
        assert isinstance(numbers_of(shapes_of(calls), model), RegisterRows) == plain
        answer = searched(calls, model, NO_LIMITS)
        assert answer is not None
        assert (answer.verdict == "valid") == linearizable(calls, model)
