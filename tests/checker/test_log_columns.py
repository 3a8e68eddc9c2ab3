"""Logs by columns answer what the sweep over calls answers, to the letter, and their verifier can say no."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from checker import ModelError, check_operations, per_key
from checker.core.calls import calls_of
from checker.core.definition import is_linearization, linearizable
from checker.engines.log_columns import bounds, is_log_linearization, linearization, log_columns
from checker.models.objects import Log
from history import KeyVerdict, Operation
from tests.support.checker.logs import _changed, op
from tests.support.checker.oracle_objects import object_history
from tests.support.draws import draws


def history(random: Random, size: int, processes: int, truth: float, *, lists: bool = False) -> list[Operation]:
    operations = object_history(random, "log", size, processes, truth)
    return operations if lists else [o for o in operations if o.f != "list"]


def both(operations: list[Operation], patch: pytest.MonkeyPatch) -> tuple[KeyVerdict, KeyVerdict]:
    """(by columns, by calls), without the time that they took."""
    verdicts = []
    for few in (-1, 10**9):
        patch.setattr(per_key, "MAX_BY_CALLS", few)
        verdicts.append(replace(check_operations(operations, "log"), seconds=0.0))
    return verdicts[0], verdicts[1]


@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize(("samples", "most"), [(draws(600, 1500), 9), (draws(60, 300), 60)])
def test_columns_and_calls_answer_the_same_to_the_letter(
    samples: int, most: int, lists: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    random, seen = Random(11), {"valid": 0, "invalid": 0}
    for _ in range(samples):
        truth = random.choice([0.7, 0.95, 1.0])
        operations = history(random, random.randint(1, most), random.randint(2, 5), truth, lists=lists)
        columns, calls = both(operations, monkeypatch)
        assert columns == calls, operations
        if most < 10:
            assert (columns.verdict == "valid") == linearizable(calls_of(operations, Log()), Log())
        seen[columns.verdict] += 1
    assert min(seen.values()) > samples / 20


def test_a_log_of_which_an_entry_is_null_is_judged_as_by_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    """A get that finds nothing and one that finds null are answered alike."""
    random, seen = Random(13), {"valid": 0, "invalid": 0}

    def emptied(value: object) -> object:
        return [emptied(item) for item in value] if isinstance(value, list) else None if value == 2 else value

    for _ in range(600):
        operations = [
            replace(o, value=o.value if o.f == "get" else emptied(o.value),
                    result=o.result if o.f == "append" else emptied(o.result))
            for o in history(random, random.randint(2, 8), 4, random.choice([0.8, 1.0]), lists=True)
        ]  # fmt: skip
        columns, calls = both(operations, monkeypatch)
        assert columns == calls, operations
        assert (calls.verdict == "valid") == linearizable(calls_of(operations, Log()), Log()), operations
        seen[calls.verdict] += 1
    assert min(seen.values()) > 100, seen


def test_columns_themselves_decide_the_common_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the sweep over calls to fall back on; entries may be texts."""
    monkeypatch.setattr(per_key, "MAX_BY_CALLS", -1)
    monkeypatch.setattr("checker.per_key.calls_of", None)
    first, second = op(0, "append", "a", 0, 0, 3), op(1, "append", "b", 1, 1, 4)
    good = check_operations([first, second, op(2, "get", 1, "b", 2, 5), op(0, "get", 2, None, 6, 7)], "log")
    assert (good.verdict, good.certificate, good.operations) == ("valid", 4, 4)
    bad = check_operations([first, second, op(2, "get", 1, "b", 2, 5), op(0, "get", 1, None, 6, 7)], "log")
    assert (bad.verdict, bad.violations, bad.certificate) == ("invalid", 1, 2)
    assert bad.counterexamples[0].kind == "lost-write"
    whole = op(2, "list", None, ["a", "b"], 2, 5)
    good = check_operations([first, second, whole, op(0, "list", None, ["a", "b"], 6, 7)], "log")
    assert (good.verdict, good.certificate, good.operations) == ("valid", 4, 4)
    bad = check_operations([first, second, whole, op(0, "list", None, ["a"], 6, 7)], "log")
    assert (bad.verdict, bad.counterexamples[0].kind) == ("invalid", "lost-write")
    pending = [op(0, "append", "a", None, 0, None, "info"), op(1, "append", "b", 1, 1, 4)]
    assert check_operations(pending, "log").verdict == "valid"
    late = check_operations([first], "log", deadline_s=0.0)
    assert (late.verdict, late.reason) == ("unknown", "the deadline passed: 0 of 1 operation examined")


@pytest.mark.parametrize(
    "odd",
    [
        op(1, "list", None, [7, 7.0], 2, 3),
        op(1, "list", None, [True], 2, 3),
        op(1, "list", None, [9], 2, 3),
        op(1, "list", None, [7, 7], 2, 3),
        op(1, "append", 1.5, 1, 2, 3),
        op(1, "append", 7, 1, 2, 3),
        op(1, "get", 0, [7], 2, 3),
        op(1, "get", 1 << 70, None, 2, 3),
        op(1, "get", 1 << 40, 7, 2, 3),
        op(1, "append", 8, 5, 2, 3),
        op(1, "get", 0, 9, 2, 3),
    ],
)
def test_what_does_not_fit_is_left_to_the_calls(odd: Operation, monkeypatch: pytest.MonkeyPatch) -> None:
    columns, calls = both([op(0, "append", 7, 0, 0, 1), odd], monkeypatch)
    assert columns == calls


@pytest.mark.parametrize(
    "wrong",
    [
        op(1, "get", -1, None, 2, 3), op(1, "get", 1.0, None, 2, 3), op(1, "append", 8, None, 2, 3),
        op(1, "append", 8, -1, 2, 3), op(1, "append", 8, 1, 2, None), op(1, "get", 0, 7, 3, 2),
        op(1, "pop", 0, 7, 2, 3),
    ],
)  # fmt: skip
def test_what_is_no_log_is_refused_by_both(wrong: Operation, monkeypatch: pytest.MonkeyPatch) -> None:
    for few in (-1, 10**9):
        monkeypatch.setattr(per_key, "MAX_BY_CALLS", few)
        with pytest.raises(ModelError):
            check_operations([op(0, "append", 7, 0, 0, 1), wrong], "log")


def test_a_hole_behind_a_lost_write_is_reported_as_a_hole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the second append at index 2 counts as pending it would fill index 1, but too late for who is at 2."""
    operations = [op(1, "append", 1, 0, 1, 3), op(1, "append", 4, 2, 8, 10), op(2, "get", 0, None, 11, 14),
                  op(0, "append", 6, 2, 15, 17)]  # fmt: skip
    columns, calls = both(operations, monkeypatch)
    assert columns == calls
    assert {example.kind for example in calls.counterexamples} == {"log-overwrite", "lost-write", "log-hole"}
    assert calls.violations == 3


def test_the_verifier_of_orders_agrees_with_the_definition() -> None:
    random, seen = Random(5), {True: 0, False: 0}
    while min(seen.values()) < 500:
        operations = history(random, random.randint(1, 10), 4, 1.0, lists=random.random() < 0.7)
        columns = log_columns(operations)
        assert columns is not None
        found = bounds(columns)
        assert found is not None
        assert found.valid
        order = linearization(columns, found)
        assert is_log_linearization(order, columns)
        for changed in (_changed(order, random) for _ in range(4)):
            calls = calls_of(operations, Log())
            rows = [c for f in ("append", "get", "list") for c in calls if c.f == f]
            truth = is_linearization([rows[row] for row in changed], calls, Log())
            assert is_log_linearization(changed, columns) == truth
            seen[truth] += 1
