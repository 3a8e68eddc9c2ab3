"""Counters go through the compiled search as sums: the same verdicts as the definition's, also below zero."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from checker import Counter
from checker.core.calls import Call, calls_of
from checker.core.definition import is_linearization, linearizable
from checker.core.result import Limits
from checker.dispatch import decide
from checker.search.compiled import compiled_search
from history import Operation
from tests.support.checker.oracle_objects import object_history
from tests.support.draws import draws

NO_LIMITS = Limits(lambda: 0.0)


def scaled(history: list[Operation], by: float) -> list[Operation]:
    """The same history of a counter that goes in steps of another size."""

    def times(number: float | None) -> float | None:
        return None if number is None else number * by

    return [replace(one, value=times(one.value), result=times(one.result)) for one in history]


@pytest.mark.parametrize("by", [1, -1, 5, 0.5, 1 << 40])
def test_every_small_history_is_judged_as_by_the_definition(by: float) -> None:
    """Fractions and sums beyond the kernel's numbers go the general way."""
    random, seen = Random(3), {True: 0, False: 0}
    for _ in range(samples := draws(500, 1500)):
        history = object_history(
            random, "counter", random.randint(1, 8), random.randint(2, 4), random.choice([0.7, 1.0])
        )
        calls = calls_of(scaled(history, by), Counter())
        possible = linearizable(calls, Counter())
        answer = compiled_search(calls, Counter(), NO_LIMITS)
        assert answer is not None
        assert answer.verdict == ("valid" if possible else "invalid"), history
        assert answer.order is None or is_linearization(answer.order, calls, Counter())
        seen[possible] += 1
    assert min(seen.values()) > samples / 15


@pytest.mark.parametrize("answered", [-7, -6, -5, -1, 0, 1, 2])
def test_only_sums_that_can_be_are_answered(answered: int) -> None:
    """Every number near zero is tried: what the kernel takes for signs must not be taken for a sum."""
    calls = [Call("add", number, None, 2 * place, 20 + place, place) for place, number in enumerate((-4, -2, 1))]
    calls.append(Call("read", None, answered, 7, 8, 3))
    possible = {sum(part) for part in ([], [-4], [-2], [1], [-4, -2], [-4, 1], [-2, 1], [-4, -2, 1])}
    answer = decide(calls, Counter(), NO_LIMITS, engine="search")
    assert answer.verdict == ("valid" if answered in possible else "invalid")
    assert answered in possible or "-6" in " ".join(answer.states)
