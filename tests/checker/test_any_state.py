"""Counterexamples of locks and other objects of few states: short, and wrong in whatever state the object was."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from checker import ILLEGAL, Model, check_operations
from checker.core.calls import calls_of
from checker.core.definition import linearizable
from checker.counterexamples.shrink import cut_at
from checker.models.fenced_lock import FencedLock
from checker.models.objects import Mutex
from history import Operation
from tests.support.checker.counterexamples import as_counted


class Semaphore(Model):
    """Two permits; the state is how many are taken."""

    name = "semaphore"
    initial = 0
    reads: frozenset[str] = frozenset()

    def step(self, state: int, f: str, value: Any, result: Any) -> Any:
        if f == "acquire":
            return state + 1 if state < 2 else ILLEGAL
        return state - 1 if state else ILLEGAL


def from_state(model: Model, state: Any) -> Model:
    model.initial = state
    return model


#: Each object in every state that it can be in, as far as these histories can tell.
EVERYWHERE: dict[str, list[Model]] = {
    "mutex": [from_state(Mutex(), state) for state in (False, True)],
    "semaphore": [from_state(Semaphore(), state) for state in (0, 1, 2)],
    "fenced-lock": [
        from_state(FencedLock(), state)
        for token in range(-1, 9)
        for state in [(None, token), *([(token, token)] if token >= 0 else [])]
    ],
}


MODELS: dict[str, Model] = {"mutex": Mutex(), "semaphore": Semaphore(), "fenced-lock": FencedLock()}


def drawn(name: str, random: Random) -> list[Operation]:
    """A few operations of three clients, answered at random, some of them never."""
    rows: list[list[Any]] = []
    doing: dict[int, int] = {}
    for now in range(18):
        client = random.randrange(3)
        if client not in doing:
            f = random.choice(["acquire", "release"])
            doing[client] = len(rows)
            token = random.randrange(3) if name == "fenced-lock" and f == "release" else None
            rows.append([client, f, token, None, now, None])
        else:
            row = rows[doing.pop(client)]
            if name == "fenced-lock":
                row[3] = ["released", row[2]] if row[1] == "release" else ["acquired", random.randrange(4)]
            row[5] = now
    return [
        Operation(client, f, None, value, result, "ok" if end else "info", begin, end, begin, end)
        for client, f, value, result, begin, end in rows
    ]


@pytest.mark.parametrize("name", MODELS)
def test_what_is_wrong_in_every_state_is_shown_by_operations_that_are(name: str) -> None:
    model, random, shorter = MODELS[name], Random(5), 0
    for _ in range(40):
        told = drawn(name, random)
        verdict = check_operations(told, model)
        calls = calls_of(told, model)
        assert (verdict.verdict == "valid") == linearizable(calls, model), told
        if {(o.f, o.outcome) for o in told} < {("acquire", "ok"), ("release", "ok")}:
            continue
        for example in verdict.counterexamples[:1]:
            core = calls_of(as_counted(example).operations, model)
            assert not linearizable(core, model), (told, example)
            known = cut_at(calls, example.suspects[0].return_index or 0)
            if not any(linearizable(known, start) for start in EVERYWHERE[name]):
                assert not any(linearizable(core, start) for start in EVERYWHERE[name]), (told, example)
                shorter += len(core) < len(known)
    assert shorter > 4


@pytest.mark.parametrize("clients", [2, 6])
def test_a_lock_that_is_held_twice_late_in_a_history_is_shown_by_two_acquires(clients: int) -> None:
    rows = [(f, 4 * turn + 2 * place) for turn in range(200) for place, f in enumerate(("acquire", "release"))]
    told = [Operation(at // 4 % clients, f, None, None, None, "ok", at, at + 1, at, at + 1) for f, at in rows]
    told += [Operation(c, "acquire", None, None, None, "ok", at, at + 1, at, at + 1) for c, at in ((0, 900), (1, 910))]
    (example,) = check_operations(told, "mutex").counterexamples
    assert [o.invoke_index for o in example.operations] == [900, 910]
    # A release whose answer is not known explains it, and the same history is valid.
    lost = Operation(9, "release", None, None, None, "info", 904, None, 904, None)
    assert check_operations([*told, lost], "mutex").verdict == "valid"
