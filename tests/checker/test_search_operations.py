"""Operations go to the compiled search by columns: the same verdicts as the definition's, and the same refusals."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from checker import MODELS, Model, ModelError, check_operations
from checker.core.calls import Call, calls_of
from checker.core.definition import is_linearization, linearizable
from checker.core.model import ILLEGAL, UNKNOWN, State
from checker.core.result import Limits
from checker.engines import searches
from checker.engines.searches import decide_operations
from checker.models.objects import Counter, MultiRegister
from checker.search.compiled import compiled_search, useful
from checker.search.encoding import Numbers, Sums, numbers_of
from checker.search.jit import shapes_of
from checker.search.multi_register import RegisterRows
from checker.search.transition_table import TransitionTable
from history import Operation
from tests.support.checker.oracle_objects import object_history
from tests.support.draws import draws

NO_LIMITS = Limits(lambda: 0.0)


class Account(Model):
    """A user's own: a sum that is never below zero; ``pay`` is refused by failing."""

    name = "account"
    initial = 0

    def admit(self, f: str, value: Any, result: Any) -> None:
        if f == "add" and value == 13:
            raise ModelError("thirteen")

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f == "add":
            return state + value if state + value >= 0 else ILLEGAL
        return state if result in (UNKNOWN, state) else ILLEGAL


def history(random: Random, name: str) -> list[Operation]:
    operations = object_history(random, name, random.randint(1, 9), random.randint(2, 4), random.choice([0.7, 1.0]))
    return operations if name != "counter" else signed(random, operations)


def signed(random: Random, operations: list[Operation]) -> list[Operation]:
    """Most counters go in one direction only: answers are as if they had."""
    sign = random.choice([1, 1, -1, 0])
    if not sign:
        return operations

    def turned(number: int | None) -> int | None:
        return None if number is None else sign * abs(number)

    return [replace(one, value=turned(one.value), result=turned(one.result)) for one in operations]


def agree(name: str, model: Model, samples: int, seed: int) -> None:
    random, seen = Random(seed), {"valid": 0, "invalid": 0}
    for _ in range(samples):
        operations = history(random, name)
        calls = calls_of(operations, model)
        found = decide_operations(operations, model, NO_LIMITS)
        if not useful(calls, model):
            # Nothing is left that an answer could contradict.
            assert found is None
            assert linearizable(calls, model)
            continue
        assert found is not None
        assert found.result.verdict == ("valid" if linearizable(calls, model) else "invalid"), operations
        assert found.operations == len(calls)
        seen[found.result.verdict] += 1
    assert min(seen.values()) > samples / 20


@pytest.mark.parametrize("name", ["counter", "mutex", "multi-register", "account"])
def test_every_small_history_is_judged_as_by_the_definition(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "PLAIN_SEARCH_CALLS", 0)
    model = Account() if name == "account" else MODELS[name]()
    agree("counter" if name == "account" else name, model, draws(800, 2500), 1)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["counter", "mutex", "multi-register"])
def test_a_million_small_histories(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "PLAIN_SEARCH_CALLS", 0)
    agree(name, MODELS[name](), 1_000_000, 2)


@pytest.mark.parametrize(
    ("name", "kind"), [("counter", Sums), ("multi-register", RegisterRows), ("mutex", TransitionTable)]
)
def test_orders_are_linearizations_and_invalid_ends_are_invalid(name: str, kind: type[Numbers]) -> None:
    random, model, seen = Random(3), MODELS[name](), {"valid": 0, "invalid": 0}
    for _ in range(samples := draws(500, 1500)):
        calls = calls_of(history(random, name), model)
        assert isinstance(numbers_of(shapes_of(calls), model), kind)
        answer = compiled_search(calls, model, NO_LIMITS)
        assert answer is not None
        assert (answer.order is not None) == (answer.verdict == "valid")
        assert answer.order is None or is_linearization(answer.order, calls, model)
        assert answer.last in (None, *(call.ret for call in calls))
        seen[answer.verdict] += 1
    assert min(seen.values()) > samples / 15


def op(f: str, value: Any, result: Any, start: int, end: int | None, outcome: str = "ok") -> Operation:
    return Operation(0, f, None, value, result, outcome, start, end, start, end)  # type: ignore[arg-type]


def test_a_sum_out_of_its_bounds_is_reported_with_them() -> None:
    calls = [Call("add", 5, None, 0, 1, 0), Call("add", 2, None, 2, 9, 1), Call("read", None, 6, 3, 4, 2)]
    good = [*calls[:2], replace(calls[2], result=7)]
    answer = compiled_search(good, Counter(), NO_LIMITS)
    assert answer is not None
    assert answer.verdict == "valid"
    for strange, states in ((4, ("5 to 7",)), (8, ("5 to 7",))):
        answer = compiled_search([*calls[:2], replace(calls[2], result=strange)], Counter(), NO_LIMITS)
        assert answer is not None
        assert (answer.verdict, answer.last, answer.states) == ("invalid", 4, states)
    answer = compiled_search(calls, Counter(), NO_LIMITS)
    assert answer is not None
    assert (answer.verdict, answer.states) == ("invalid", ())


@pytest.mark.parametrize("answered", [1 << 31, 1 << 70, -(1 << 31), -(1 << 70)])
@pytest.mark.parametrize("added", [1, -1])
def test_answers_that_no_column_holds(added: int, answered: int) -> None:
    calls = [Call("add", added, None, 0, 1, 0), Call("read", None, answered, 2, 3, 1)]
    answer = compiled_search(calls, Counter(), NO_LIMITS)
    assert answer is not None
    assert (answer.verdict, answer.last) == ("invalid", 3)


def test_a_read_knows_what_another_had_seen() -> None:
    """Both adds are open all the time, so only the reads contradict each other."""
    adds = [Call("add", -1, None, place, 20 + place, place) for place in range(2)]
    reads = [Call("read", None, -2, 5, 6, 2), Call("read", None, -1, 7, 8, 3)]
    answer = compiled_search([*adds, *reads], Counter(), NO_LIMITS)
    assert answer is not None
    assert (answer.verdict, answer.last, answer.states) == ("invalid", 8, ("-2",))


def test_the_registers_are_written_as_the_model_writes_them() -> None:
    model = MultiRegister()
    first = op("txn", [["w", "x", 3], ["w", "y", "a"]], None, 0, 1)
    calls = calls_of([first, op("txn", [["r", "y", None]], [["r", "y", "b"]], 2, 3)], model)
    answer = compiled_search(calls, model, NO_LIMITS)
    assert answer is not None
    assert (answer.verdict, answer.states) == ("invalid", ("{x: 3, y: a}",))


@pytest.mark.parametrize(
    ("model", "wrong"),
    [
        (Counter(), op("add", "1", None, 2, 3)),
        (Counter(), op("add", 1, object(), 2, 3)),
        (Counter(), op("read", None, None, 2, 3)),
        (Counter(), op("pop", 1, None, 2, 3)),
        (Counter(), op("add", 1, None, 3, 2)),
        (Counter(), op("add", 1, None, 2, None)),
        (MultiRegister(), op("txn", [["r", "x", object()]], None, 2, 3)),
        (MultiRegister(), op("txn", None, None, 2, 3)),
        (MultiRegister(), op("txn", None, [["r", "x", 1]], 2, 3)),
        (MultiRegister(), op("txn", [["r", "x"]], [["r", "x"]], 2, 3)),
        (MultiRegister(), op("txn", [["s", "x", 1]], [["s", "x", 1]], 2, 3)),
        (MultiRegister(), op("txn", [["s", "x", 1]], None, 2, None, "info")),
        (MultiRegister(), op("swap", [["w", "x", 1]], None, 2, None, "info")),
        (MultiRegister(), op("swap", None, [], 2, 3)),
        (MODELS["mutex"](), op("grab", None, None, 2, 3)),
        (Account(), op("add", 13, None, 2, 3)),
    ],
)
def test_what_is_no_operation_of_the_model_is_refused_by_both(
    model: Model, wrong: Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "PLAIN_SEARCH_CALLS", 0)
    operations = [op("read" if isinstance(model, Counter) else "add", 0, 0, 0, 1), wrong]
    operations = operations if isinstance(model, (Counter, Account)) else operations[1:]
    refusals = []
    for asked in (True, False):
        with pytest.raises(ModelError) as refused:
            check_operations(operations, model, proofs=False, engine=None if asked else "search")
        refusals.append(str(refused.value))
    assert refusals[0] == refusals[1]


def test_the_deadline_and_other_models() -> None:
    adds = [op("add", 1, None, 2 * place, 2 * place + 1) for place in range(500)]
    late = check_operations(adds, "counter", deadline_s=0.0, proofs=False)
    assert (late.verdict, late.reason) == ("unknown", "the deadline passed: 0 of 500 operations examined")
    assert decide_operations(adds[:300], Counter(), NO_LIMITS) is None
    assert decide_operations(adds[::-1], Counter(), NO_LIMITS) is None
    assert check_operations(adds[::-1], "counter", proofs=False).verdict == "valid"


def test_a_transaction_that_is_wrong_is_one_violation_whatever_is_open_beside_it() -> None:
    """What returns after it is in the counterexample as it was recorded, and is not what completed it."""
    steps = [[["r", "x", place or None], ["w", "x", place + 1]] for place in range(13)]
    chain = [op("txn", one, one, 2 * place, 2 * place + 1) for place, one in enumerate(steps)]
    beside = replace(chain[-1], return_index=30, returned=30)
    found = check_operations(
        [*chain[:-1], beside, op("txn", [["r", "x", 3]], [["r", "x", 3]], 26, 27)], "multi-register"
    )
    assert (found.verdict, found.violations) == ("invalid", 1)


@pytest.mark.parametrize("name", ["register", "cas-register"])
def test_a_function_that_a_register_lacks_is_refused_wherever_it_stands(name: str) -> None:
    calls = [Call("write", 1, UNKNOWN, 0, 1, 0), Call("steal", 1, UNKNOWN, 2, 3, 1)]
    with pytest.raises(ModelError, match="no operation 'steal'"):
        numbers_of(shapes_of(calls), MODELS[name]())
