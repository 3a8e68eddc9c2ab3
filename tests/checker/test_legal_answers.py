"""Every answer that an operation could have had, held against trying each of all answers by the definition."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker import check
from checker.core.calls import Call, freeze
from checker.core.definition import linearizable
from checker.core.model import UNKNOWN, CasRegister, Model, Register
from checker.explain.legal_answers import DOUBTED, NO_ORDER, TOO_MANY, UNBOUNDED, answers_of
from checker.models.bank import Bank
from checker.models.fenced_lock import FencedLock
from checker.models.objects import Counter, FifoQueue, GrowSet, KeyValue, Log
from history.codes import NEVER

FEW = (0, 1, 2)
LISTS = [list(one) for n in range(4) for one in itertools.product(FEW, repeat=n)]
ORDERED = [sorted(one) for n in range(4) for one in itertools.combinations(FEW, n)]
TOKENS = [None, *FEW]
TEXTS = ["", *("".join(one) for n in (1, 2, 3) for one in itertools.product("ab", repeat=n))]
BALANCES = [
    [[a, b] for a, b in (("x", x), ("y", y)) if b] for x in range(-6, 7) for y in range(-6, 7) if x + y == 0
]  # fmt: skip

#: Of each model: its operations with what they ask and all that they might be answered; the first are suspects.
OBJECTS: dict[str, tuple[Model, dict[str, tuple[Sequence[Any], Sequence[Any]]], tuple[str, ...]]] = {
    "register": (Register(), {"read": ([None], TOKENS), "write": (FEW, [None])}, ("read",)),
    "cas-register": (
        CasRegister(),
        {"read": ([None], TOKENS), "write": (FEW, [None]), "cas": ([[0, 1], [1, 2], [2, 0]], [None])},
        ("read",),
    ),
    "set": (GrowSet(), {"read": ([None], ORDERED), "add": (FEW, [None])}, ("read",)),
    "log": (
        Log(),
        {"append": (FEW, [0, 1, 2, 3, 4, 5]), "get": (FEW, TOKENS), "list": ([None], LISTS)},
        ("append", "get", "list"),
    ),
    "kv": (KeyValue(), {"get": ([None], TEXTS), "put": (["a", "b"], [None]), "append": (["a"], [None])}, ("get",)),
    "counter": (Counter(), {"read": ([None], range(-1, 12)), "add": ([1, 2], [None])}, ("read",)),
    "queue": (FifoQueue(), {"dequeue": ([None], TOKENS), "enqueue": (FEW, [None])}, ("dequeue",)),
    "bank": (Bank(), {"read": ([None], BALANCES), "transfer": ([["x", "y", 1], ["y", "x", 2]], [None])}, ("read",)),
}


@st.composite
def histories(draw: st.DrawFn) -> tuple[str, list[Call], Call]:
    """A few overlapping calls, and one that returned."""
    name = draw(st.sampled_from(sorted(OBJECTS)))
    _, functions, suspects = OBJECTS[name]
    count = draw(st.integers(1, 6))
    ranks = draw(st.permutations(range(2 * count)))
    calls = []
    for place in range(count):
        f = draw(st.sampled_from(suspects if place == 0 else sorted(functions)))
        asked, answered = functions[f]
        first, last = sorted(ranks[2 * place : 2 * place + 2])
        pending = place > 0 and draw(st.integers(0, 3)) == 0
        result = UNKNOWN if pending else freeze(draw(st.sampled_from(answered)))
        value = freeze(draw(st.sampled_from(asked)))
        calls.append(Call(f, value, result, first, NEVER if pending else last, place))
    suspect = calls[0]
    return name, sorted(calls, key=lambda call: call.invoke), suspect


def by_definition(suspect: Call, calls: Sequence[Call], model: Model, universe: Sequence[Any]) -> set[Any]:
    """Each answer of all, put in place, with all that had not returned by then in doubt."""
    others = [
        call if call.ret < suspect.ret else call.made_pending()
        for call in calls
        if call is not suspect and call.invoke < suspect.ret
    ]
    others = [call for call in others if not (call.pending and call.f in model.reads)]
    tried = (freeze(answer) for answer in universe)
    return {answer for answer in tried if linearizable([*others, replace(suspect, result=answer)], model)}


@given(histories())
def test_the_answers_are_those_that_the_definition_allows(drawn: tuple[str, list[Call], Call]) -> None:
    name, calls, suspect = drawn
    model, functions, _ = OBJECTS[name]
    found = answers_of(suspect, calls, model)
    expected = by_definition(suspect, calls, model, functions[suspect.f][1])
    assert found.why == ("" if expected else NO_ORDER)
    assert set(found.all) & {freeze(one) for one in functions[suspect.f][1]} == expected
    rest = set(found.all) - expected
    assert all(linearizable_with(one, suspect, calls, model) for one in rest), "beyond what was tried"


def linearizable_with(answer: Any, suspect: Call, calls: Sequence[Call], model: Model) -> bool:
    return by_definition(suspect, calls, model, [answer]) == {answer}


def call(f: str, value: Any, result: Any, invoke: int, ret: int) -> Call:
    return Call(f, freeze(value), result if result is UNKNOWN else freeze(result), invoke, ret, invoke)


def test_tokens_of_a_lock_cannot_be_listed_but_its_holder_can() -> None:
    taken = call("acquire", None, ["acquired", 3], 0, 1)
    wrong = call("read", None, 7, 2, 3)
    assert answers_of(wrong, [taken, wrong], FencedLock()).all == (3,)
    free = call("acquire", None, ["held", 9], 0, 1)
    assert answers_of(free, [free], FencedLock()).why == UNBOUNDED
    refused = call("acquire", None, ["held", 9], 2, 3)
    assert answers_of(refused, [taken, refused], FencedLock()).all == (("held", 3),)


@pytest.mark.slow
def test_too_many_orders_are_said_to_be_too_many() -> None:
    doubt = [call("add", number, UNKNOWN, number, NEVER) for number in range(40)]
    read = call("read", None, [99], 50, 51)
    assert answers_of(read, [*doubt, read], GrowSet()).why == TOO_MANY
    assert len(answers_of(read, [*doubt[:5], read], GrowSet()).all) == 32


def history(path: Path, model: str, events: list[tuple[str, int, str, Any]]) -> Path:
    lines = [
        {"format": "harness-history", "version": 1, "test": "t", "model": model, "seed": 1, "started": "2026-03-01"}
    ]
    lines += [
        {"index": n, "time": n * 10, "type": kind, "process": process, "f": f, "key": "k", "value": value}
        for n, (kind, process, f, value) in enumerate(events)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def one(process: int, f: str, value: Any, result: Any) -> list[tuple[str, int, str, Any]]:
    return [("invoke", process, f, value), ("ok", process, f, result)]


@pytest.mark.parametrize(
    ("model", "events", "answers"),
    [
        ("cas-register", [*one(0, "write", 1, 1), *one(1, "cas", [1, 2], [1, 2]), *one(2, "read", None, 7)], (2,)),
        ("set", [*one(0, "add", 1, 1), *one(1, "add", 2, 2), *one(2, "read", None, [1])], ([1, 2],)),
        ("counter", [*one(0, "add", 1, 1), *one(1, "add", 4, 4), *one(2, "read", None, 4)], (5,)),
    ],
)  # fmt: skip
def test_a_counterexample_names_them_all(tmp_path: Path, model: str, events: Any, answers: tuple[Any, ...]) -> None:
    found = check(history(tmp_path / "history.jsonl", model, events)).counterexamples
    blamed = [example.linearization for example in found if len(example.suspects) == 1]
    assert [(named.whole, named.legal) for named in blamed if named] == [(True, answers)]


@pytest.mark.slow
def test_of_a_long_register_they_are_named_without_following_every_order(tmp_path: Path) -> None:
    """In a history that is judged by columns: after so many operations there would be too many orders."""
    events = [event for n in range(1, 60_000) for event in one(0, "write", n, n)]
    late = [*one(0, "write", 60_000, 60_000), ("invoke", 1, "write", 60_001), *one(2, "read", None, 7)]
    path = history(tmp_path / "history.jsonl", "register", [*events, *late])
    (found,) = check(path).counterexamples
    assert found.linearization is not None
    assert (found.linearization.whole, found.linearization.legal) == (True, (60_000, 60_001))


def test_where_no_operation_is_singled_out_no_answers_are_named(tmp_path: Path) -> None:
    events = [*one(0, "enqueue", 1, 1), *one(1, "enqueue", 2, 2), *one(2, "dequeue", None, 2)]
    (found,) = check(history(tmp_path / "history.jsonl", "queue", events)).counterexamples
    assert (found.suspects, found.linearization) == ((), None)


@pytest.mark.parametrize("model", ["cas-register", "cas-register-strict"])
def test_of_a_refused_cas_no_answers_are_named(tmp_path: Path, model: str) -> None:
    """It counts as a read, but 7 is the one value by which it cannot have been refused."""
    events = [*one(0, "write", 7, 7), *one(1, "cas", [7, 8], [7, 8, 3])]
    found = check(history(tmp_path / "history.jsonl", model, events)).counterexamples
    assert found
    assert not any(example.linearization and example.linearization.whole for example in found)


def test_an_answer_that_others_make_doubtful_is_not_said_to_be_impossible(tmp_path: Path) -> None:
    pair = [("invoke", 1, "append", 4), ("invoke", 2, "append", 5), ("ok", 1, "append", 2), ("ok", 2, "append", 3)]
    found = check(history(tmp_path / "history.jsonl", "log", [*one(0, "append", 4, 2), *pair])).counterexamples
    assert found
    for example in found:
        if example.linearization and example.linearization.whole:
            assert example.suspects[0].result not in example.linearization.legal


def test_a_refusal_that_is_blamed_may_have_swapped(tmp_path: Path) -> None:
    """No client wrote the 5 by which it was refused; and if it swapped, then 1 was the right answer."""
    asked, refused = ("invoke", 0, "cas", [None, 1]), ("ok", 0, "cas", [None, 1, 5])
    events = [asked, *one(1, "read", None, 1), refused]
    found = check(history(tmp_path / "history.jsonl", "cas-register", events)).counterexamples
    found_of = {example.suspects[0].f: example.linearization for example in found if example.suspects}
    assert found_of["read"] is not None
    assert (found_of["read"].whole, found_of["read"].unnamed) == (False, DOUBTED)


@pytest.mark.parametrize(
    ("model", "f", "value", "result"),
    [(GrowSet(), "add", (2, 1), (2, 1)), (Bank(), "transfer", ("b", "a", 1), (("b", -1), ("a", 1)))],
)
def test_an_answer_in_another_order_is_the_same_answer(model: Model, f: str, value: Any, result: Any) -> None:
    """Once what an operation had answered was named as what it could only have answered."""
    asked = [value] if f == "transfer" else value
    others = [call(f, one, UNKNOWN, place, NEVER) for place, one in enumerate(asked)]
    read = call("read", None, result, 5, 6)
    assert read.result in answers_of(read, [*others, read], model).all
