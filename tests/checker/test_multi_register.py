"""RegisterRows on several registers, for the compiled search: rows of numbers, judged as by the definition."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from checker import ModelError, check
from checker.core.calls import calls_of
from checker.core.definition import is_linearization, linearizable
from checker.core.result import Limits
from checker.models.objects import MultiRegister
from checker.search import compiled as compiled_search
from checker.search import multi_register
from checker.search.compiled import compiled_search as searched
from checker.search.compiled import useful
from checker.search.encoding import numbers_of
from checker.search.jit import shapes_of
from checker.search.multi_register import RegisterRows
from history import Operation
from history.records.operations import contradiction
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


@pytest.mark.parametrize(
    ("asked", "answered", "right"),
    [
        ([["w", "x", 1]], [["w", "x", 1]], True),
        ([["w", "x", 1]], None, True),
        ([["r", "x", None], ["w", "x", 1]], [["r", "x", 7], ["w", "x", 1]], True),
        ([["w", "x", 1]], [["w", "x", 2]], False),
        ([["w", "x", 1]], [["w", "y", 1]], False),
        ([["w", "x", 1]], [["r", "x", 1]], False),
        ([["w", "x", 1]], [["w", "x", True]], False),
        ([["w", "x", 1]], [], False),
        ([["w", "x", 1], ["w", "y", 1]], [["w", "y", 1], ["w", "x", 1]], False),
        ([["r", "x", None]], [["r", "y", None]], False),
        ([["r", "x", None]], None, False),
        ([["r", "x", None]], [["r", "x", None], ["r", "x", None]], False),
        ([["w", "x", 1]], {"x": 1}, False),
    ],
)
@pytest.mark.parametrize("proofs", [True, False])
@pytest.mark.parametrize("beside", [0, 500])
def test_an_answer_repeats_what_was_asked(asked: Any, answered: Any, right: bool, proofs: bool, beside: int) -> None:
    others = [op("txn", [["w", n, n]], [["w", n, n]], 10 * n + 20, 10 * n + 25) for n in range(beside)]
    operations = [op("txn", [["w", "x", 7]], None, 0, 1), op("txn", asked, answered, 2, 3), *others]
    if right:
        assert check(operations, "multi-register", proofs=proofs).verdict == "valid"
    else:
        with pytest.raises(ModelError, match=r"was completed as|lacks what it read|is a list of"):
            check(operations, "multi-register", proofs=proofs)
    assert (contradiction("txn", asked, answered) is None) == right


def test_pending_transactions_that_nothing_read_are_left_out_by_the_definition() -> None:
    """The rule against brute force, on histories where much is in doubt."""
    random, model, dropped = Random(3), MultiRegister(), 0
    for _ in range(draws(120, 4000)):
        operations = [
            replace(one, outcome="info", result=None) if random.random() < 0.4 else one
            for one in transaction_history(random)
        ]
        calls = calls_of(operations, model)
        kept = useful(calls, model)
        dropped += len(calls) - len(kept)
        assert linearizable(kept, model) == linearizable(calls, model)
    assert dropped > 30


@pytest.mark.parametrize("seen", [False, True])
def test_hundreds_of_transactions_in_doubt_cost_nothing_unless_they_were_seen(seen: bool) -> None:
    doubts = [op("txn", [["w", f"d{n}", n]], None, n, 10**6, "info") for n in range(300)]
    reads = [
        op("txn", [["r", "d7", None]], [["r", "d7", 7 if seen else None]], 1000 + 2 * n, 1001 + 2 * n)
        for n in range(200)
    ]
    assert check([*doubts, *reads], "multi-register", proofs=False).verdict == "valid"
    late = op("txn", [["r", "d7", None]], [["r", "d7", None]], 5000, 5001)
    assert check([*doubts, *reads, late], "multi-register", proofs=False).verdict == ("invalid" if seen else "valid")
