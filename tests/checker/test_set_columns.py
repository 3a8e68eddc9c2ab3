"""Sets by columns answer what the sweep over calls answers, to the letter, and their verifier can say no."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from checker import ModelError, check_operations, per_key
from checker.core.calls import calls_of
from checker.core.definition import is_linearization, linearizable
from checker.core.result import Limits
from checker.counterexamples import enumerate as enumeration
from checker.engines.set_columns import is_set_linearization, levels, linearization, set_columns
from checker.engines.sets import decide_by_set_sweep
from checker.models.objects import GrowSet
from history import KeyVerdict, Operation
from tests.support.checker.logs import _changed, op
from tests.support.checker.oracle_objects import object_history
from tests.support.draws import draws


def history(random: Random, size: int, processes: int, *, shuffled: bool = False) -> list[Operation]:
    """Lies are answers of other reads, so that the reads still grow: by columns nothing else is looked at."""
    operations = object_history(random, "set", size, processes, 1.0)
    reads = [o for o in operations if o.f == "read" and o.outcome == "ok"]
    if reads and random.random() < 0.8:
        liar, answer = random.choice(reads), random.choice(reads).result
        operations = [replace(o, result=answer) if o is liar else o for o in operations]
    if not shuffled:
        return operations
    return [replace(o, result=random.sample(o.result, len(o.result))) if o.result else o for o in operations]


def both(operations: list[Operation], patch: pytest.MonkeyPatch) -> tuple[KeyVerdict, KeyVerdict]:
    """(by columns, by calls), without the time that they took."""
    verdicts = []
    for few in (-1, 10**9):
        patch.setattr(per_key, "MAX_BY_CALLS", few)
        verdicts.append(replace(check_operations(operations, "set", clock=lambda: 0.0), seconds=0.0))
    return verdicts[0], verdicts[1]


@pytest.mark.slow
@pytest.mark.parametrize(("samples", "most"), [(draws(700, 1500), 9), (draws(60, 400), 60)])
def test_columns_and_calls_answer_the_same_to_the_letter(
    samples: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random, seen = Random(11), {"valid": 0, "invalid": 0}
    for _ in range(samples):
        size, processes = random.randint(1, most), random.randint(2, 5)
        strange = object_history(random, "set", size, processes, 0.8)
        columns, calls = both(random.choice([history(random, size, processes), strange]), monkeypatch)
        assert columns == calls
        seen[columns.verdict] += 1
    assert min(seen.values()) > samples / 20


def agree(samples: int, seed: int) -> None:
    """Columns with the definition, and with the sweep over calls; what they leave to that is never valid."""
    random, model, seen = Random(seed), GrowSet(), {True: 0, False: 0}
    for _ in range(samples):
        operations = history(random, random.randint(3, 9), random.randint(2, 5), shuffled=random.random() < 0.5)
        columns, calls = set_columns(operations), calls_of(operations, model)
        possible = linearizable(calls, model)
        assert possible == (columns is not None and levels(columns).valid), operations
        assert possible == (decide_by_set_sweep(calls, Limits(lambda: 0.0)).verdict == "valid")
        seen[possible] += 1
    assert min(seen.values()) > samples / 20


def test_every_small_history_is_judged_as_by_the_definition() -> None:
    agree(draws(4_000, 10_000), 7)


@pytest.mark.nightly
def test_a_million_small_histories() -> None:
    agree(1_000_000, 12)


def test_columns_themselves_decide_the_common_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the sweep over calls to fall back on; elements may be texts."""
    monkeypatch.setattr(per_key, "MAX_BY_CALLS", -1)
    monkeypatch.setattr("checker.per_key.decide", None)
    first, second = op(0, "add", "a", None, 0, 3), op(1, "add", "b", "b", 1, 4)
    reads = [op(2, "read", None, ["b"], 2, 5), op(0, "read", None, ["b", "a"], 6, 7)]
    good = check_operations([first, second, *reads], "set")
    assert (good.verdict, good.certificate, good.operations) == ("valid", 4, 4)
    bad = check_operations([first, second, op(2, "read", None, ["b"], 5, 7)], "set")
    assert (bad.verdict, bad.violations, bad.certificate) == ("invalid", 1, 2)
    assert bad.counterexamples[0].kind == "lost-element"
    seen, unseen = op(2, "read", None, ["a"], 1, 2), op(3, "read", None, [], 6, 7)
    pending = [op(0, "add", "a", None, 0, None, "info"), seen]
    assert check_operations(pending, "set").verdict == "valid"
    bad = check_operations([*pending, unseen], "set")
    assert (bad.verdict, bad.violations, bad.counterexamples[0].kind) == ("invalid", 1, "read-inversion")
    twice = check_operations([first, op(3, "add", "a", None, 8, 9), seen, op(2, "read", None, ["a"], 10, 12)], "set")
    assert (twice.verdict, twice.certificate) == ("valid", 4)
    moments = iter([0.0, 0.0])
    soon = check_operations([*pending, unseen], "set", deadline_s=1.0, clock=lambda: next(moments, 2.0))
    assert (soon.verdict, soon.violations, len(soon.counterexamples)) == ("invalid", 1, 1), "its deadline came after"
    late = check_operations([first], "set", deadline_s=0.0)
    assert (late.verdict, late.reason) == ("unknown", "the deadline passed: 0 of 1 operation examined")


@pytest.mark.parametrize(
    "odd",
    [
        op(1, "read", None, [7, 7], 2, 3),
        op(1, "read", None, [7, 7, 8], 2, 3),
        op(1, "read", None, [7.0], 2, 3),
        op(1, "read", None, [True], 2, 3),
        op(1, "read", None, [9], 2, 3),
        op(1, "read", None, None, 2, 3),
        op(1, "read", None, [[7]], 2, 3),
        op(1, "add", 1.5, None, 2, 3),
        op(1, "add", [7], None, 2, 3),
        op(1, "add", 9, None, 2, 1 << 70),
        op(1, "add", 7, [1], 2, 3),
    ],
)
def test_what_does_not_fit_is_left_to_the_calls(odd: Operation, monkeypatch: pytest.MonkeyPatch) -> None:
    columns, calls = both([op(0, "add", 7, None, 0, 1), op(0, "add", 8, None, 4, 5), odd], monkeypatch)
    assert columns == calls


@pytest.mark.parametrize(
    "wrong",
    [
        op(1, "read", None, 7, 2, 3), op(1, "add", 8, None, 2, None), op(1, "read", None, [7], 3, 2),
        op(1, "pop", 7, None, 2, 3), op(1, "add", object(), None, 2, 3), op(1, "read", None, [object()], 2, 3),
    ],
)  # fmt: skip
def test_what_is_no_set_is_refused_by_both(wrong: Operation, monkeypatch: pytest.MonkeyPatch) -> None:
    for few in (-1, 10**9):
        monkeypatch.setattr(per_key, "MAX_BY_CALLS", few)
        with pytest.raises(ModelError):
            check_operations([op(0, "add", 7, None, 0, 1), wrong], "set")


def test_more_violations_than_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replica that is stuck: a read early, then those which miss one add more each."""
    adds = [op(0, "add", place, None, 4 * place, 4 * place + 1) for place in range(40)]
    stuck = [op(1, "read", None, [0], 4 * place + 2, 4 * place + 3) for place in range(40)]
    operations = sorted([*adds, *stuck], key=lambda one: one.invoke_index)
    columns, calls = both(operations, monkeypatch)
    assert columns == calls
    assert (columns.violations, len(columns.counterexamples), columns.more) == (39, 8, False)
    monkeypatch.setattr(enumeration, "MAX_EXPLAINED", 8)
    columns, calls = both(operations, monkeypatch)
    assert columns == calls
    assert columns.more
    assert columns.reason == "there may be more than the first 8 violations: the rest was not searched"


def test_the_verifier_of_orders_agrees_with_the_definition() -> None:
    random, seen = Random(5), {True: 0, False: 0}
    while min(seen.values()) < 500:
        operations = object_history(random, "set", random.randint(1, 10), 4, 1.0)
        columns = set_columns(operations)
        assert columns is not None
        found = levels(columns)
        assert found.valid
        order = linearization(columns, found)
        assert is_set_linearization(order, columns)
        for changed in (_changed(order, random) for _ in range(4)):
            calls = calls_of(operations, GrowSet())
            rows = [call for f in ("add", "read") for call in calls if call.f == f]
            truth = is_linearization([rows[row] for row in changed], calls, GrowSet())
            assert is_set_linearization(changed, columns) == truth
            seen[truth] += 1


def test_elements_are_numbered_as_they_came_to_be_seen() -> None:
    reads: list[Any] = [op(1, "read", None, answer, 10, 11) for answer in ([3], [], [3, 1], [1, 3], [2, 3, 1])]
    columns = set_columns([op(0, "add", number, None, number, None, "info") for number in (4, 1, 2, 3)] + reads)
    assert columns is not None
    assert columns.element.tolist() == [3, 1, 2, 0]
    assert np.array_equal(columns.size, [1, 0, 2, 2, 3])
