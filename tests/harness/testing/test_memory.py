"""Objects in memory: the right ones are always right, and each bug is found."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker import ILLEGAL, MODELS, UNKNOWN, Model, check
from harness.systems.api import Evidence, Setup, Workload
from harness.systems.workloads import BANK, CAS_REGISTER, COUNTER, LOCK, MIXED_REGISTERS, REGISTER, SET
from harness.testing import BUGS, QUIRKS, Objects, Quirk, history_of, history_of_workload
from history import Event, pair

#: Draws the next operation; the number is a new one every time.
Draw: TypeAlias = Callable[[random.Random, int], tuple[str, Any]]


def registers(*kinds: str) -> Draw:
    def draw(rng: random.Random, number: int) -> tuple[str, Any]:
        f = rng.choice(kinds)
        return f, {"read": None, "write": number, "cas": [rng.choice([None, number - 1, number - 2]), number]}[f]

    return draw


def one_of(*choices: tuple[str, Callable[[random.Random, int], Any]]) -> Draw:
    def draw(rng: random.Random, number: int) -> tuple[str, Any]:
        f, value = rng.choice(choices)
        return f, value(rng, number)

    return draw


def nothing(_rng: random.Random, _number: int) -> None:
    return None


def new(_rng: random.Random, number: int) -> int:
    return number


def some(rng: random.Random, number: int) -> int:
    return rng.randrange(1 + number // 3)


def transaction(rng: random.Random, number: int) -> list[list[Any]]:
    steps = [["w", "a", number], ["r", "b", None], ["w", "b", number], ["r", "a", None]]
    return rng.sample(steps, rng.randint(1, 3))


def transfer(rng: random.Random, number: int) -> list[int]:
    return [*rng.sample(range(3), 2), 1000 + number]


OPERATIONS: dict[str, Draw] = {
    "register": registers("read", "write"),
    "cas-register": registers("read", "write", "cas"),
    "cas-register-strict": registers("read", "write", "cas"),
    "register-unknown": registers("read", "write"),
    "cas-register-unknown": registers("read", "write", "cas"),
    "mutex": one_of(("acquire", nothing), ("release", nothing)),
    "multi-register": one_of(("txn", transaction)),
    "log": one_of(("append", new), ("get", some), ("list", nothing)),
    "set": one_of(("add", new), ("read", nothing)),
    "counter": one_of(("add", new), ("read", nothing)),
    "queue": one_of(("enqueue", new), ("dequeue", nothing)),
    "kv": one_of(
        ("put", lambda _, number: f"{number};"), ("append", lambda _, number: f"{number};"), ("get", nothing)
    ),
    "ledger": one_of(("append", new), ("get", some), ("list", nothing)),
    "fenced-lock": one_of(("acquire", nothing), ("release", lambda rng, number: rng.randrange(number)), ("read", nothing)),
    "bank": one_of(("transfer", transfer), ("read", nothing)),
    "sync-state-set": one_of(
        ("read", nothing), ("register", lambda rng, _: rng.randint(1, 3)), ("peek", nothing),
        ("elect", lambda rng, _: rng.randint(1, 3)),
    ),
}  # fmt: skip
#: An acquire that is called failed is one that the next holder waits for; a lock whose releases are is taken over.
UNSEEN: set[tuple[str, Quirk]] = set()


def history(model: str, quirk: Quirk, seed: int, number: int) -> list[Event]:
    rng = random.Random(seed)
    draw = OPERATIONS[model]
    drawn = [draw(rng, place) for place in range(1, number + 1)]
    return history_of(Objects(model, quirk), [(f, rng.choice("xy"), value) for f, value in drawn], seed=seed)


def verdict(model: str, quirk: Quirk, seed: int, number: int = 120) -> str:
    return check(history(model, quirk, seed, number), model).verdict


def test_every_model_is_tried() -> None:
    assert set(OPERATIONS) == set(MODELS)


@pytest.mark.parametrize("model", OPERATIONS)
@given(st.integers(0, 2**32), st.sampled_from(["", "lost-answers"]))
def test_a_right_one_is_always_right(model: str, seed: int, quirk: Quirk) -> None:
    assert verdict(model, quirk, seed, 40) == "valid"


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("model", OPERATIONS)
def test_every_bug_is_found(model: str, bug: Quirk) -> None:
    found = [verdict(model, bug, seed, 100) for seed in range(5)]
    print(model, bug, found)
