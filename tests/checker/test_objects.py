"""Logs, sets, counters, queues, mutexes, multi-registers: against the definition, and their counterexamples."""

from __future__ import annotations

import re
from random import Random

import pytest

from checker import MODELS, Model, ModelError, check_operations
from checker.core.calls import calls_of
from checker.core.definition import is_linearization, linearizable
from checker.core.result import Limits
from checker.dispatch import decide
from history import Operation
from tests.support.checker.counterexamples import unanswered
from tests.support.checker.oracle_objects import OBJECTS, is_part_of, object_history
from tests.support.draws import draws

NO_LIMITS = Limits(lambda: 0.0)


def agree(name: str, samples: int, seed: int) -> None:
    random, seen = Random(seed), {"valid": 0, "invalid": 0}
    model = MODELS[name]()
    for _ in range(samples):
        history = object_history(random, name, random.randint(1, 7), random.randint(2, 4), random.choice([0.7, 1.0]))
        calls = calls_of(history, model)
        answer = decide(calls, model, NO_LIMITS)
        truth = linearizable(calls, model)
        assert answer.verdict == ("valid" if truth else "invalid"), history
        assert answer.order is None or is_linearization(answer.order, calls, model), history
        seen[answer.verdict] += 1
    assert min(seen.values()) > samples / 20


@pytest.mark.parametrize("name", OBJECTS)
def test_every_small_history_is_judged_as_by_the_definition(name: str) -> None:
    agree(name, draws(2_500, 10_000), 1)


@pytest.mark.nightly
@pytest.mark.parametrize("name", OBJECTS)
def test_a_million_small_histories(name: str) -> None:
    agree(name, 1_000_000, 2)


@pytest.mark.parametrize("name", OBJECTS)
def test_counterexamples_speak_of_real_moments(name: str) -> None:
    random, found = Random(4), 0
    while found < 60:
        history = object_history(random, name, 7, 3, 0.7)
        moments = {moment for o in history for moment in (o.invoked, o.returned)}
        for example in check_operations(history, name).counterexamples:
            found += 1
            assert example.kind
            # What another violation has made unanswered is so in this one.
            known = [*history, *map(unanswered, history)]
            whole = {o.invoke_index: o for o in history}
            assert all(o in known or is_part_of(o, whole[o.invoke_index]) for o in example.operations)
            reported = re.findall(r"(\d+\.\d{3,})", example.sentence)
            assert all(round(float(text) * 1e9) in moments for text in reported), example.sentence


@pytest.mark.parametrize("engine", ["search", "wgl", "python-search"])
@pytest.mark.parametrize("name", OBJECTS)
def test_general_engines_agree(name: str, engine: str) -> None:
    random, model = Random(8), MODELS[name]()
    for _ in range(draws(150, 300)):
        calls = calls_of(object_history(random, name, 7, 3, 0.8), model)
        answer = decide(calls, model, NO_LIMITS, engine=engine)
        assert (answer.verdict == "valid") == linearizable(calls, model)
        assert answer.order is None or is_linearization(answer.order, calls, model)


def op(process: int, f: str, value: object, result: object, start: int, end: int, outcome: str = "ok") -> Operation:
    return Operation(process, f, None, value, result, outcome, start * 10**6, end * 10**6, start, end)  # type: ignore[arg-type]


def kind(model: str, *operations: Operation) -> str:
    verdict = check_operations(operations, model)
    return verdict.counterexamples[0].kind if verdict.counterexamples else verdict.verdict


def test_kinds_of_logs() -> None:
    append = op(0, "append", 7, 0, 0, 1)
    assert kind("log", append, op(1, "append", 8, 0, 2, 3)) == "log-overwrite"
    assert kind("log", append, op(1, "list", None, [7, 7], 2, 3)) == "duplicate"
    assert kind("log", append, op(1, "get", 0, 9, 2, 3)) == "log-overwrite"
    assert kind("log", op(1, "get", 0, 9, 2, 3)) == "never-written"
    assert kind("log", op(0, "append", 9, None, 0, 1, "fail"), op(1, "get", 0, 9, 2, 3)) == "failed-write-read"
    assert kind("log", op(1, "append", 9, 2, 2, 3)) == "log-hole"
    assert kind("log", append, op(1, "get", 0, None, 2, 3)) == "lost-write"
    assert kind("log", op(0, "append", 7, None, 0, 1, "info"), op(1, "append", 8, 1, 2, 3)) == "valid"


def test_an_entry_that_was_seen_before_its_append_began_came_from_the_future() -> None:
    """The append was never answered: once that was called a hole, as if too few appends had begun."""
    late = op(0, "append", 5, None, 6, 7, "info")
    assert kind("log", op(1, "list", None, [5], 0, 1), late) == "future-read"
    early = [op(2, "append", 7, 1, 0, 1), op(1, "get", 0, 5, 2, 3), late]
    assert {one.kind for one in check_operations(early, "log").counterexamples} == {"log-hole", "future-read"}
    acknowledged, seen = op(2, "append", 7, 1, 0, 5), op(1, "get", 0, 5, 8, 9)
    hole, example = check_operations([acknowledged, late, seen], "log").counterexamples
    assert (hole.kind, example.kind, len(example.operations)) == ("log-hole", "log-order", 3)
    assert example.sentence.endswith("at or before that entry, as process 1 asked for 0 and got 5 (0.008–0.009 s).")


@pytest.mark.parametrize("operations", [1, 80])
def test_an_entry_that_is_null_is_no_missing_one(operations: int) -> None:
    """By columns, and by calls."""
    log = [op(0, "append", None if n == 0 else n, n, 2 * n, 2 * n + 1) for n in range(operations)]
    there = op(1, "get", 0, None, 1000, 1001)
    assert check_operations([*log, there], "log").verdict == "valid"
    assert check_operations([*log, there, op(1, "get", 0, 9, 1002, 1003)], "log").verdict == "invalid"


def test_kinds_of_sets() -> None:
    add = op(0, "add", 7, None, 0, 1)
    assert kind("set", add, op(1, "read", None, [], 2, 3)) == "lost-element"
    assert kind("set", op(1, "read", None, [4], 2, 3)) == "never-written"
    assert kind("set", op(0, "add", 4, None, 0, 1, "fail"), op(1, "read", None, [4], 2, 3)) == "failed-write-read"
    assert kind("set", op(1, "add", 4, None, 0, 9), op(1, "read", None, [4], 2, 3), op(2, "read", None, [], 4, 5)) == (
        "read-inversion"
    )


def test_a_set_that_lost_what_was_acknowledged_is_said_to_have_done_so_whatever_else_contradicts_it() -> None:
    """As in ZooKeeper 3.9.3: one server's tree lacks acknowledged elements, and one that was never acknowledged."""
    adds = [op(0, "add", 1, None, 0, 1), op(1, "add", 2, None, 0, 1), op(2, "add", 3, None, 2, 9, "info")]
    seen, poor = op(3, "read", None, [1, 2, 3], 4, 5), op(4, "read", None, [1], 6, 7)
    for reads in ([seen, poor], [op(3, "read", None, [2, 3], 4, 5), poor]):
        example = check_operations([*adds, *reads], "set").counterexamples[0]
        assert (example.kind, len(example.operations)) == ("lost-element", 2)
    (example,) = check_operations([*adds, seen, op(4, "read", None, [1, 2], 6, 7)], "set").counterexamples
    assert (example.kind, len(example.operations)) == ("read-inversion", 3)


def test_the_first_of_two_equal_reads_decides() -> None:
    add = op(0, "add", 4, None, 2, 3)
    assert kind("set", op(1, "read", None, [4], 0, 1), add, op(1, "read", None, [4], 4, 5)) == "future-read"
    seen = [op(1, "read", None, [4], 4, 5), op(2, "read", None, [], 6, 7), op(1, "read", None, [4], 8, 9)]
    assert kind("set", op(0, "add", 4, None, 2, 10), *seen) == "read-inversion"


class Latch(Model):
    """A user's own model: set once, then never free again."""

    name = "latch"
    initial = False

    def step(self, state: object, f: str, value: object, result: object) -> object:
        return True if f == "set" else super().step(state, f, value, result)


def test_a_users_own_model_goes_to_the_general_engine() -> None:
    assert check_operations([op(0, "set", None, None, 0, 1)], Latch()).verdict == "valid"


@pytest.mark.parametrize(
    ("name", "f"),
    [("mutex", "grab"), ("log", "pop"), ("set", "pop"), ("counter", "x"), ("queue", "y"), ("kv", "write")],
)
@pytest.mark.parametrize("proofs", [False, True])
def test_unknown_functions_are_refused(name: str, f: str, proofs: bool) -> None:
    with pytest.raises(ModelError, match=f):
        check_operations([op(0, f, 1, None, 0, 1)], name, proofs=proofs)
