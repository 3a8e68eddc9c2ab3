"""Objects in memory: the right ones are always right, and each bug is found."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker import ILLEGAL, MODELS, UNKNOWN, Model, check
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


def transaction(rng: random.Random, number: int, write: str = "w") -> list[list[Any]]:
    steps: list[list[Any]] = [[write, "a", number], ["r", "b", None], [write, "b", number], ["r", "a", None]]
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
    "list-append": one_of(("txn", lambda rng, number: transaction(rng, number, "append"))),
    "rw-register": one_of(("txn", transaction)),
    "log": one_of(("append", new), ("get", some), ("list", nothing)),
    "set": one_of(("add", new), ("read", nothing)),
    "counter": one_of(("add", new), ("read", nothing)),
    "queue": one_of(("enqueue", new), ("dequeue", nothing)),
    "kv": one_of(
        ("put", lambda _, number: f"{number};"), ("append", lambda _, number: f"{number};"), ("get", nothing)
    ),
    "ledger": one_of(("append", new), ("get", some), ("list", nothing)),
    "fenced-lock": one_of(
        ("acquire", nothing), ("release", lambda rng, number: rng.randrange(number)), ("read", nothing)
    ),
    "bank": one_of(("transfer", transfer), ("read", nothing)),
    "sync-state-set": one_of(
        ("read", nothing), ("register", lambda rng, _: rng.randint(1, 3)), ("peek", nothing),
        ("elect", lambda rng, _: rng.randint(1, 3)),
    ),
}  # fmt: skip
#: What no client can see: a set has an element once however often it was added, nothing is read from a mutex, of a
#: queue only that it is empty; and only registers have a cas.
UNSEEN: set[tuple[str, Quirk]] = {("set", "doubled-writes"), ("mutex", "stale-reads"), ("queue", "stale-reads")}
UNSEEN |= {(model, "blind-cas") for model in OPERATIONS if "cas-register" not in model}
#: What a change of these names must be known from an earlier answer: operations that are drawn hardly ever fit.
ANSWERING = ("fenced-lock", "sync-state-set")
#: Objects in memory keep the strongest level of all.
LEVELS = {name: f"{name}:strict-serializable" for name in ("list-append", "rw-register")}
WORKLOADS = {one.name: one for one in (REGISTER, CAS_REGISTER, MIXED_REGISTERS, SET, COUNTER, LOCK, BANK)}


def history(model: str, quirk: Quirk, seed: int, number: int) -> list[Event]:
    rng = random.Random(seed)
    drawn = [OPERATIONS[model](rng, place) for place in range(1, number + 1)]
    return history_of(Objects(model, quirk), [(f, rng.choice("xy"), value) for f, value in drawn], seed=seed)


def verdict(model: str, quirk: Quirk, seed: int, number: int) -> str:
    return check(history(model, quirk, seed, number), LEVELS.get(model, model)).verdict


#: What files of other tools may be of, and no workload is.
FROM_FILES = {
    "bank-solvent", "bank-unknown", "bank-solvent-unknown", "unordered-queue", "total-queue", "unique-ids",
    "g-set", "pn-counter", "etcd", "long-fork",
}  # fmt: skip


def test_every_model_is_tried() -> None:
    assert set(OPERATIONS) | FROM_FILES == set(MODELS)


@pytest.mark.parametrize("model", OPERATIONS)
@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["", "lost-answers"]))
def test_a_right_one_is_always_right(model: str, seed: int, quirk: Quirk) -> None:
    assert verdict(model, quirk, seed, 40) == "valid"


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("model", [model for model in OPERATIONS if model not in ANSWERING])
def test_a_bug_is_found_unless_no_client_can_see_it(model: str, bug: Quirk) -> None:
    found = {verdict(model, bug, seed, 150) for seed in range(3)}
    assert found == {"valid" if (model, bug) in UNSEEN else "invalid"}


@pytest.mark.parametrize("bug", ["", *BUGS])
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_is_tried_on_objects(name: str, bug: Quirk) -> None:
    model = WORKLOADS[name].model
    assert isinstance(model, str)
    events = history_of_workload(WORKLOADS[name], Objects(model, bug), seed=1, most=400)
    assert check(events, model).verdict == ("valid" if not bug or (model, bug) in UNSEEN else "invalid")
    final = [event for event in events if event.phase == "final"]
    assert {event.key for event in final} == {event.key for event in events}
    assert len(pair(events)) == 400 + len(final) / 2


@pytest.mark.parametrize("quirk", QUIRKS)
def test_operations_overlap_and_a_process_has_one_at_a_time(quirk: Quirk) -> None:
    events = history("cas-register", quirk, 1, 60)
    found = pair(events)
    assert len(found) == 60
    assert any(a.invoked < b.invoked < (a.returned or 0) for a in found for b in found)
    assert all(a.time <= b.time for a, b in pairwise(events))
    assert ("info" in {one.outcome for one in found}) == (quirk == "lost-answers")


def test_the_same_seed_makes_the_same_history() -> None:
    assert history("counter", "", 3, 50) == history("counter", "", 3, 50)
    first, second = (history_of_workload(SET, Objects("set"), seed=5, most=100) for _ in range(2))
    assert first == second


def test_what_objects_do_not_know() -> None:
    with pytest.raises(ValueError, match="a register has no operation 'enqueue'"):
        Objects("register").perform("enqueue", "x", 1)
    with pytest.raises(ValueError, match="a fenced lock has no operation 'enqueue'"):
        Objects("fenced-lock").perform("enqueue", "x", 1)


class Latch(Model):
    """A model of one's own, which is set once and for all."""

    name = "latch"
    initial = False

    def step(self, state: Any, f: str, value: Any, result: Any) -> Any:
        if f == "set":
            return True
        return state if result in (state, UNKNOWN) else ILLEGAL


class Open(Latch):
    def answers(self, state: Any, f: str, value: Any) -> tuple[Any, ...] | None:
        return (state,) if f == "read" else None


def test_a_model_of_ones_own_lists_what_its_reads_answer() -> None:
    latch = Objects(Open())
    assert [latch.perform(f, "x") for f in ("read", "set", "read")] == [("ok", False), ("ok", None), ("ok", True)]
    with pytest.raises(ValueError, match="'read'"):
        Objects(Latch()).perform("read", "x")
