"""Valid histories with one thing spoilt, and histories that hypothesis thinks of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker import check_operations
from checker.core.calls import calls_of
from checker.core.definition import is_linearization
from checker.core.model import Register
from checker.core.result import Limits
from checker.dispatch import decide
from history import Operation
from history.records.operations import Outcome
from tests.support.checker.oracle import Sampler, is_linearizable
from tests.support.checker.spans import spans
from tests.support.draws import draws

NO_LIMITS = Limits(lambda: 0.0)


def settled(history: list[Operation], random: Random) -> tuple[int, Operation]:
    """A read that began after at least three acknowledged writes had ended."""
    while True:
        place = random.randrange(len(history))
        read = history[place]
        before = [w for w in history if w.f == "write" and w.return_index < read.invoke_index]  # type: ignore[operator]
        if read.f == "read" and len(before) > 3:
            return place, read


def stale(history: list[Operation], random: Random) -> list[Operation]:
    """A read answers the value that was acknowledged first of all."""
    place, read = settled(history, random)
    first = min((o for o in history if o.f == "write"), key=lambda o: o.return_index or 0)
    return [*history[:place], replace(read, result=first.value), *history[place + 1 :]]


def lost(history: list[Operation], random: Random) -> list[Operation]:
    """A read finds the object absent, though writes were acknowledged."""
    place, read = settled(history, random)
    return [*history[:place], replace(read, result=None), *history[place + 1 :]]


def future(history: list[Operation], random: Random) -> list[Operation]:
    """A read answers the value of the last write, which had not begun."""
    place, read = settled(history, random)
    last = max((o for o in history if o.f == "write"), key=lambda o: o.invoke_index)
    spoilt = [*history[:place], replace(read, result=last.value), *history[place + 1 :]]
    return spoilt if last.invoke_index > (read.return_index or 0) else lost(history, random)


def swapped(history: list[Operation], random: Random) -> list[Operation]:
    """Two reads that were far apart exchange their answers."""
    reads = [place for place, o in enumerate(history) if o.f == "read"]
    early, late = reads[len(reads) // 4], reads[-len(reads) // 4]
    a, b = history[early], history[late]
    spoilt = list(history)
    spoilt[early], spoilt[late] = replace(a, result=b.result), replace(b, result=a.result)
    return spoilt


def duplicate(history: list[Operation], random: Random) -> list[Operation]:
    """A read is answered a value that no process ever wrote."""
    place, read = settled(history, random)
    return [*history[:place], replace(read, result=10**6), *history[place + 1 :]]


@pytest.mark.parametrize("spoil", [stale, lost, future, swapped, duplicate])
@pytest.mark.parametrize("values", [None, 40])
def test_one_spoilt_answer_is_found(
    spoil: Callable[[list[Operation], Random], list[Operation]], values: int | None
) -> None:
    random = Random(spoil.__name__)
    for _ in range(12):
        history = Sampler(random, values=None, truth=1.0, doubt=False).history(150, 5)
        assert check_operations(history, "register").verdict == "valid"
        spoilt = spoil(history, random)
        if values is not None:
            # One value written twice: the zones do not apply any more.
            again = max(o.return_index or 0 for o in history) + 1
            value = next(o.value for o in history if o.f == "write")
            more = Operation(99, "write", None, value, None, "ok", again, again + 1, again, again + 1)
            spoilt = [*spoilt, more]
        verdict = check_operations(spoilt, "register")
        assert verdict.verdict == "invalid"
        assert len(verdict.counterexamples[0].operations) <= 6
        assert not is_linearizable(verdict.counterexamples[0].operations)


@st.composite
def histories(draw: st.DrawFn) -> list[Operation]:
    """Any interleaving of up to seven reads and writes of three values by their own processes."""
    operations = []
    for process, (start, end) in enumerate(draw(spans())):
        f = draw(st.sampled_from(["read", "write"]))
        value = draw(st.sampled_from([None, 1, 2])) if f == "read" else draw(st.integers(1, 2))
        outcome: Outcome = draw(st.sampled_from(["ok", "ok", "ok", "info", "fail"]))
        asked, result = (None, value) if f == "read" else (value, None)
        operations.append(
            Operation(process, f, None, asked, result if outcome == "ok" else None, outcome, start, end, start, end)
        )
    return sorted(operations, key=lambda operation: operation.invoke_index)


@given(histories())
@settings(max_examples=draws(100, 1000))
def test_histories_of_hypothesis(history: list[Operation]) -> None:
    verdict = check_operations(history, "register")
    assert (verdict.verdict == "valid") == is_linearizable(history)
    assert (decide(calls_of(history, Register()), Register(), NO_LIMITS, engine="automaton").verdict) == verdict.verdict


@pytest.mark.parametrize("cas", [False, True])
def test_a_valid_verdict_comes_with_a_linearization(cas: bool) -> None:
    for values in (None, 4):
        sampler = Sampler(Random(3), values=values, cas=cas, truth=1.0, doubt=False)
        model = "cas-register" if cas else "register"
        from checker import model_named

        calls = calls_of(sampler.history(900, 4), model_named(model))
        answer = decide(calls, model_named(model), NO_LIMITS)
        assert answer.verdict == "valid"
        assert answer.order is not None
        assert is_linearization(answer.order, calls, model_named(model))


def test_all_violations_are_found_where_values_repeat() -> None:
    """Three lies, far apart, about values that were not being written."""
    random = Random(2)
    history = Sampler(random, values=6, truth=1.0, doubt=False).history(1500, 3)
    spoilt, lies = list(history), 0
    for place in (400, 800, 1200):
        for at in range(place, len(history)):
            read = history[at]
            near = [o for o in history if abs(o.invoke_index - read.invoke_index) < 40]
            absent = set(range(6)) - {o.value for o in near} - {o.result for o in near}
            if read.f == "read" and absent:
                spoilt[at] = replace(read, result=min(absent))
                lies += 1
                break
    verdict = check_operations(spoilt, "register")
    assert (verdict.verdict, verdict.engine) == ("invalid", "value-timeline automaton")
    assert verdict.violations == lies
    assert len(verdict.counterexamples) == lies
    assert all(len(example.operations) <= 4 for example in verdict.counterexamples)
