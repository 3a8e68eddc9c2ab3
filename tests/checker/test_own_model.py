"""A user's own model: judged as by the definition, however many states it has and whichever engine takes the steps."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from checker import ILLEGAL, UNKNOWN, Model, check_operations
from checker.core.calls import Call, calls_of, freeze, freeze_all
from checker.core.definition import is_linearization, linearizable
from checker.core.model import ModelError
from checker.core.result import Limits
from checker.engines import searches
from checker.engines.searches import decide_operations
from checker.search import lookahead as look_ahead
from checker.search.compiled import compiled_search
from checker.search.jit import search
from history import Operation
from tests.support.checker import oracle_objects
from tests.support.draws import draws

NO_LIMITS = Limits(lambda: 0.0)


@pytest.fixture(autouse=True)
def looking_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first question on, which short histories would not come to."""
    monkeypatch.setattr("checker.search.compiled.MAX_QUESTIONS", 0)


ACCOUNTS = 3


class Bank(Model):
    """Three accounts: transfers [whence, whither, amount] answer whether there was enough, reads all balances."""

    name = "bank"
    initial = (3,) * ACCOUNTS

    def step(self, state: Any, f: str, value: Any, result: Any) -> Any:
        if f == "read":
            return state if result in (state, UNKNOWN) else ILLEGAL
        whence, whither, amount = value
        paid = state[whence] >= amount
        if result is not UNKNOWN and bool(result) != paid:
            return ILLEGAL
        if not paid:
            return state
        after = list(state)
        after[whence] -= amount
        after[whither] += amount
        return tuple(after)


class Stack(Model):
    """Last in, first out."""

    name = "stack"
    initial = ()
    reads: frozenset[str] = frozenset({"top"})

    def step(self, state: Any, f: str, value: Any, result: Any) -> Any:
        if f == "push":
            return (*state, value)
        top = state[-1] if state else None
        if result not in (top, UNKNOWN):
            return ILLEGAL
        return state if f == "top" else state[:-1]


class _Bank:
    functions = ("transfer", "transfer", "read")

    def __init__(self) -> None:
        self.state = Bank.initial

    def ask(self, random: Random, f: str, fresh: int) -> Any:
        return None if f == "read" else [*random.sample(range(ACCOUNTS), 2), random.randint(1, 4)]

    def take(self, f: str, value: Any) -> Any:
        if f == "read":
            return list(self.state)
        paid = self.state[value[0]] >= value[2]
        self.state = Bank().step(self.state, f, value, paid)
        return paid

    def lie(self, random: Random, f: str, result: Any, fresh: int) -> Any:
        return random.sample(result, ACCOUNTS) if f == "read" else not result


class _Stack:
    functions = ("push", "pop", "top")

    def __init__(self) -> None:
        self.items: list[int] = []

    def ask(self, random: Random, f: str, fresh: int) -> Any:
        return random.choice([fresh, fresh, 1]) if f == "push" else None

    def take(self, f: str, value: Any) -> Any:
        if f == "push":
            self.items.append(value)
            return None
        top = self.items[-1] if self.items else None
        if f == "pop" and self.items:
            self.items.pop()
        return top

    def lie(self, random: Random, f: str, result: Any, fresh: int) -> Any:
        return result if f == "push" else random.choice([None, random.randrange(fresh + 1)])


MODELS: dict[str, Any] = {"bank": (Bank, _Bank), "stack": (Stack, _Stack)}


@pytest.fixture(autouse=True)
def objects(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, (_, thing) in MODELS.items():
        monkeypatch.setitem(oracle_objects.OBJECTS, name, thing)


def history(random: Random, name: str, size: int, truth: float) -> list[Operation]:
    return oracle_objects.object_history(random, name, size, random.randint(2, 4), truth)


@pytest.mark.parametrize("idle", [0, 3, 32])
@pytest.mark.parametrize("name", MODELS)
def test_every_small_history_is_judged_as_by_the_definition(
    name: str, idle: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the steps ahead of the search are many, few or none."""
    monkeypatch.setattr(searches, "PLAIN_SEARCH_CALLS", 0)
    monkeypatch.setattr(look_ahead, "IDLE", idle)
    monkeypatch.setattr(look_ahead, "PAYS", min(idle, 4))
    random, model, seen = Random(idle), MODELS[name][0](), {"valid": 0, "invalid": 0}
    for _ in range(samples := draws(250, 700)):
        operations = history(random, name, random.randint(1, 8), random.choice([0.6, 1.0]))
        calls = calls_of(operations, model)
        if not calls:
            continue
        truth = "valid" if linearizable(calls, model) else "invalid"
        found = decide_operations(operations, model, NO_LIMITS)
        assert found is not None
        assert found.result.verdict == truth, operations
        answer = compiled_search(calls, model, NO_LIMITS)
        assert answer is not None
        assert answer.verdict == truth
        if answer.order is not None:
            assert is_linearization(answer.order, calls, model)
        else:
            reported = search(calls, model, NO_LIMITS)
            assert (answer.last, answer.states) == (reported.last, reported.states)
        seen[truth] += 1
    assert min(seen.values()) > samples / 10


def overlapping(random: Random, name: str, size: int) -> list[Operation]:
    """Operations that all took effect one after the other, in spans that overlap."""
    thing, spans, done = MODELS[name][1](), [], []
    for place in range(size):
        f = random.choice(thing.functions)
        asked = thing.ask(random, f, place)
        spans.append((place - random.random() * 3, place + random.random() * 3))
        done.append(Operation(0, f, None, asked, thing.take(f, asked), "ok", 0, 0, 0, 0))
    moments = {moment: rank for rank, moment in enumerate(sorted(end for span in spans for end in span))}
    placed = [
        replace(one, invoke_index=moments[start], return_index=moments[end])
        for one, (start, end) in zip(done, spans, strict=True)
    ]
    return sorted(placed, key=lambda one: one.invoke_index)


@pytest.mark.parametrize("name", MODELS)
def test_long_histories_are_judged_as_by_the_plain_search(name: str) -> None:
    """What a wrong answer needs is looked for in more states than fit in the table that the search begins with."""
    random, model, seen = Random(7), MODELS[name][0](), {"valid": 0, "invalid": 0}
    for number in range(12):
        operations = overlapping(random, name, 600)
        if number % 2:
            place = next(at for at in range(300, 600) if operations[at].f in ("read", "pop"))
            operations[place] = replace(operations[place], result=[9, 0, 0] if name == "bank" else 999)
        found = decide_operations(operations, model, NO_LIMITS)
        reported = search(calls_of(operations, model), model, NO_LIMITS)
        assert found is not None
        assert found.result.verdict == reported.verdict
        seen[reported.verdict] += 1
    assert min(seen.values()) > 4


class Touchy(Stack):
    """Raises for what no history should hold, in one state only."""

    def step(self, state: Any, f: str, value: Any, result: Any) -> Any:
        if f == "pop" and state == (1, 2):
            raise ModelError("no pop of two")
        return super().step(state, f, value, result)


def test_what_a_step_raises_is_reported_if_that_step_is_needed_and_only_then() -> None:
    pushes = [Call("push", 1, None, 0, 1, 0), Call("push", 2, None, 2, 3, 1)]
    with pytest.raises(ModelError, match="no pop of two"):
        compiled_search([*pushes, Call("pop", None, 2, 4, 5, 2)], Touchy(), NO_LIMITS)
    answer = compiled_search([*pushes, Call("pop", None, UNKNOWN, 4, 1 << 62, 2)], Touchy(), NO_LIMITS)
    assert answer is not None
    assert answer.verdict == "valid"


class Forgetful(Stack):
    """Says of a function that changes the state that it does not."""

    reads = frozenset({"pop", "top"})


def test_a_read_that_changes_the_state_is_never_legal() -> None:
    calls = [Call("push", 1, None, 0, 1, 0), Call("pop", None, 1, 2, 3, 1)]
    for proof in (True, False):
        answer = compiled_search(calls, Forgetful(), NO_LIMITS, proof=proof)
        assert answer is not None
        assert answer.verdict == "invalid"


def pushed(size: int) -> list[Operation]:
    return [Operation(0, "push", None, at, None, "ok", at, at + 1, 2 * at, 2 * at + 1) for at in range(size)]


def test_the_memory_cap_and_the_deadline_are_kept() -> None:
    enough = check_operations(pushed(2000), Stack(), proofs=False)
    assert enough.verdict == "valid"
    capped = check_operations(pushed(2000), Stack(), proofs=False, memory_cap=1 << 20)
    assert (capped.verdict, str(capped.reason)[:34]) == ("unknown", "the memory cap of 1 MB was reached")
    ticks = iter(range(10**6))
    late = check_operations(pushed(2000), Stack(), proofs=False, deadline_s=300, clock=lambda: next(ticks))
    assert late.verdict == "unknown"
    found = re.fullmatch(
        r"the deadline passed: (\d+) of 2000 completions explained, (\d+) configurations", str(late.reason)
    )
    assert found is not None
    assert 0 < int(found[2]) <= int(found[1]) < 2000


def test_the_deadline_is_kept_where_a_step_is_long() -> None:
    seconds = [0.0]

    class Slow(Stack):
        def step(self, state: Any, f: str, value: Any, result: Any) -> Any:
            seconds[0] += 1
            return super().step(state, f, value, result)

    late = check_operations(pushed(2000), Slow(), proofs=False, deadline_s=100, clock=lambda: seconds[0])
    assert late.verdict == "unknown"
    assert 100 <= seconds[0] <= 110


@pytest.mark.parametrize(
    "values",
    [
        [1, "a", None, 2.5],
        [[1, 2], (3,), [], 4],
        [[1, [2]], {"a": 1}, True, [False]],
        [UNKNOWN, 1, [2]],
        [UNKNOWN, [True]],
        [],
    ],
)
def test_many_values_are_frozen_as_each_is(values: list[Any]) -> None:
    found = freeze_all(values)
    assert found == [one if one is UNKNOWN else freeze(one) for one in values]
    assert [type(one) for one in found] == [type(one if one is UNKNOWN else freeze(one)) for one in values]
    hash(tuple(found))


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(ModelError, match="must be JSON"):
        freeze_all([1, object()])
