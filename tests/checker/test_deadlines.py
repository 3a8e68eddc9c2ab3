"""Every engine stops at its deadline and says how far it came; a small history does not pay for compiled code.

Steps between two looks at a clock that is ours are counted instead of seconds: slow machines make nothing fail.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from checker import CasRegister, Model, check, model_named
from checker.core.calls import Call, calls_of
from checker.core.options import CheckOptions
from checker.core.result import Limits
from checker.dispatch import NAMES, decide
from checker.engines import automaton
from checker.search import compiled as compiled_search
from checker.search import jit as searching
from checker.turns import SLOW_S
from history import Operation
from history.loading_clock import WORKING_TIME, LoadingClock
from tests.support.checker.deadlines import Clock, queue_operation
from tests.support.checker.oracle import Sampler, is_linearizable
from tests.support.checker.oracle_objects import object_history

ROOT = Path(__file__).resolve().parents[2]
MODEL_OF = {
    "log": "log", "set": "set", "queue": "queue", "bag": "unordered-queue", "ids": "unique-ids",
    "kv": "kv", "chains": "cas-register", "dependencies": "multi-register",
}  # fmt: skip


def calls_for(engine: str, size: int) -> tuple[list[Call], Model]:
    name = MODEL_OF.get(engine, "register")
    model = model_named(name)
    if name == "multi-register":
        return calls_of([transaction(number) for number in range(size)], model), model
    if name == "kv":
        return calls_of([text_operation(number) for number in range(size)], model), model
    if name in ("queue", "unordered-queue"):
        return calls_of([queue_operation(number) for number in range(size)], model), model
    if name == "unique-ids":
        given = (Operation(0, "generate", None, None, n, "ok", 2 * n, 2 * n + 1, 2 * n, 2 * n + 1) for n in range(size))
        return calls_of([*given], model), model
    if name in ("log", "set"):
        return calls_of(object_history(Random(1), name, 60, 3, 1.0), model), model
    values = None if engine in ("zones", "chains") else 3
    history: list[Operation] = Sampler(Random(1), values=values, truth=1.0, doubt=False).history(size, 8)
    return calls_of(history, model), model


def transaction(number: int) -> Operation:
    """One after the other, each reads what the one before wrote."""
    steps = [["r", "x", number or None], ["w", "x", number + 1]]
    asked = [["r", "x", None], steps[1]]
    return Operation(0, "txn", None, asked, steps, "ok", 2 * number, 2 * number + 1, 2 * number, 2 * number + 1)


def text_operation(number: int) -> Operation:
    """One after the other: a put, an append, and a get of both."""
    f = ("put", "append", "get")[number % 3]
    pieces = [f"{one} " for one in range(number - number % 3, number)]
    asked, answered = (None, "".join(pieces)) if f == "get" else (f"{number} ", None)
    return Operation(0, f, None, asked, answered, "ok", 2 * number, 2 * number + 1, 2 * number, 2 * number + 1)


def test_long_after_the_time_of_all_keys_is_over_the_next_key_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(2)

    class Slow(Model):
        def step(self, state: Any, f: str, value: Any, result: Any) -> Any:
            clock.looks = 0
            return state

    operations = [
        Operation(0, "add", key, key, None, "ok", 2 * key, 2 * key + 1, 2 * key, 2 * key + 1) for key in (0, 1)
    ]
    clock.looks = 10**6
    monkeypatch.setattr("checker.turns.thread_time", clock)
    # The clock jumps by two seconds, and the operation may take this time beyond the deadline.
    report = check([*operations], Slow(), deadline_s=1.9 - SLOW_S, clock=clock, proofs=False)
    assert [key.verdict for key in report.keys] == ["valid", "unknown"]


# The other two only refute, in no time.
@pytest.mark.parametrize("engine", [name for name in NAMES if name not in ("values", "counter-bounds")])
def test_an_engine_whose_time_is_over_says_so_and_one_that_has_time_decides(engine: str) -> None:
    calls, model = calls_for(engine, 300)
    late = decide(calls, model, Limits(Clock(0), 1.0), engine=engine)
    assert (late.verdict, late.order, late.cores) == ("unknown", None, ())
    assert "the deadline passed: 0 of" in str(late.reason)
    assert decide(calls, model, Limits(Clock(10**6), 1.0), engine=engine).verdict == "valid"


@pytest.mark.parametrize("engine", ["zones", "automaton", "chains", "queue", "kv", "search", "python-search", "wgl"])
def test_a_long_history_is_not_prepared_without_looking_at_the_clock(engine: str) -> None:
    calls, model = calls_for(engine, 9000)
    answer = decide(calls, model, Limits(Clock(1), 1.0), engine=engine)
    assert answer.verdict == "unknown"
    assert "4096 of 9000 operations examined" in str(answer.reason)


class Counting(CasRegister):
    """Counts its steps; the engines must ask it, as it is no register that they know."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    def step(self, state: Any, f: str, value: Any, result: Any) -> Any:
        self.steps += 1
        return super().step(state, f, value, result)


@pytest.mark.parametrize("size", [400, 20_000])
def test_wgl_looks_at_the_clock_every_few_steps(size: int) -> None:
    model = Counting()
    calls, _ = calls_for("wgl", size)
    clock = Clock(12, lambda: model.steps)
    answer = decide(calls, model, Limits(clock, 1.0), engine="wgl")
    # A step may also be a return, at which the model is not asked.
    assert clock.widest <= 256
    assert (answer.verdict, clock.looks) in (("unknown", -1), ("valid", clock.looks))


def test_the_plain_search_looks_at_the_clock_every_few_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = 0
    expand = searching._Search.expand

    def counted(self: Any) -> Any:
        nonlocal nodes
        nodes += 1
        return expand(self)

    monkeypatch.setattr(searching._Search, "expand", counted)
    calls, model = calls_for("python-search", 3000)
    clock = Clock(18, lambda: nodes)
    answer = decide(calls, model, Limits(clock, 1.0), engine="python-search")
    assert answer.verdict == "unknown"
    assert "completions explained" in str(answer.reason)
    assert 0 < clock.widest <= 512


@pytest.mark.parametrize("engine", ["automaton", "search"])
def test_compiled_code_may_be_interrupted_anywhere_and_grows_as_needed(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the smallest pieces and the least room the verdicts are the same; the clock is looked at all the time."""
    for module in (automaton, compiled_search):
        monkeypatch.setattr(module, "BUDGET", 1)
    monkeypatch.setattr(automaton, "NARROW", 1)
    monkeypatch.setattr(compiled_search, "ROOM", 2)
    monkeypatch.setattr(compiled_search, "AHEAD", 0)
    random, seen = Random(6), {"valid": 0, "invalid": 0}
    for _ in range(400):
        sampler = Sampler(random, values=random.choice([2, 3]), cas=engine == "search", truth=random.choice([0.4, 1.0]))
        history = sampler.history(random.randint(1, 14), 5)
        clock = Clock(10**6)
        answer = decide(calls_of(history, CasRegister()), CasRegister(), Limits(clock, 1.0), engine=engine)
        assert (answer.verdict == "valid") == is_linearizable(history), history
        writes = len([o for o in history if o.outcome == "ok" and o.f == "write"])
        assert answer.verdict == "invalid" or 10**6 - clock.looks >= writes
        seen[answer.verdict] += 1
    assert min(seen.values()) > 50


LOADED = """
from numba import njit
from history.compiled import compiled
from history.loading_clock import WORKING_TIME
import pickle
import time
twice = njit(lambda number: 2 * number)
worked, passed = WORKING_TIME(), time.monotonic()
assert twice(3) == 6
worked, passed = WORKING_TIME() - worked, time.monotonic() - passed
assert worked < passed / 2, (worked, passed)
"""


@pytest.mark.slow
def test_time_in_which_code_is_compiled_is_no_part_of_a_deadline() -> None:
    assert CheckOptions().clock is WORKING_TIME
    assert pickle.loads(pickle.dumps(CheckOptions())).clock is WORKING_TIME
    assert subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, check=False).returncode == 0


def test_the_clock_of_deadlines_stands_still_from_the_first_beginning_to_the_last_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, now = LoadingClock(), iter(range(100))
    monkeypatch.setattr("history.loading_clock.time.monotonic", lambda: float(next(now)))
    before = clock()  # 0
    clock.begin()  # 1
    clock.begin()
    assert clock() == clock() == before + 1
    clock.end()
    clock.end()  # 2
    assert clock() == 2.0  # 3, less the second of loading


SMALL = """
import sys
from random import Random
from checker import check_operations
from tests.support.checker.oracle import Sampler
for cas in (False, True):
    for values in (None, 3):
        for truth in (1.0, 0.8):
            sampler = Sampler(Random(3), values=values, cas=cas, truth=truth)
            found = check_operations(sampler.history(100, 4), "cas-register")
            assert found.verdict == ("valid" if truth == 1.0 else "invalid"), found
            assert found.verdict == "valid" or found.counterexamples
sys.exit("numba" in sys.modules)
"""


@pytest.mark.slow
def test_a_history_of_a_hundred_operations_does_not_load_numba() -> None:
    assert subprocess.run([sys.executable, "-c", SMALL], cwd=ROOT, check=False).returncode == 0
