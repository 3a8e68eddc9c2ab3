"""Registers and cas registers: every engine against the definition, and counterexamples that are true."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest

from checker import CasRegister, ModelError, Register, check, check_operations
from checker.core.calls import freeze
from checker.engines.zones import crossing
from history import Operation
from history.records.operations import Outcome
from tests.support.checker.counterexamples import as_counted
from tests.support.checker.oracle import Sampler, is_linearizable
from tests.support.draws import draws

SAMPLES = draws(1_000, 3_000)


def op(
    process: int,
    f: str,
    value: object,
    span: tuple[int, int | None],
    outcome: Outcome = "ok",
    *,
    key: str | int | None = None,
    error: str | None = None,
) -> Operation:
    start, end = span
    if outcome == "ok" and end is None:
        outcome = "info"
    result = value if f == "read" and outcome == "ok" else None
    asked = None if f == "read" else value
    return Operation(
        process,
        f,
        key,
        asked,
        result,
        outcome,
        start * 10**6,
        None if end is None else end * 10**6,
        start,
        end,
        f"n{process + 1}",
        error,
    )


def asks(operation: Operation, made: Operation) -> bool:
    """Does the operation rest on the value that the other one made?"""
    new = made.value if made.f == "write" else made.value[1]
    return operation.result == new if operation.f == "read" else operation.f == "cas" and operation.value[0] == new


def kind_of(*operations: Operation, model: str = "register") -> str:
    verdict = check_operations(operations, model)
    return verdict.counterexamples[0].kind if verdict.counterexamples else verdict.verdict


@pytest.mark.parametrize("values", [None, 2, 3])
@pytest.mark.parametrize("cas", [False, True])
def test_every_small_history_is_judged_as_by_the_definition(values: int | None, cas: bool) -> None:
    random = Random(f"{values}{cas}")
    seen = {"valid": 0, "invalid": 0}
    for _ in range(SAMPLES):
        history = Sampler(random, values=values, cas=cas, truth=0.7).history(random.randint(1, 7), 3)
        verdict = check_operations(history, "cas-register")
        assert (verdict.verdict == "valid") == is_linearizable(history), history
        seen[verdict.verdict] += 1
    assert min(seen.values()) > SAMPLES / 10


def test_counterexamples_are_invalid_and_minimal_and_their_moments_are_real() -> None:
    random = Random(5)
    found = 0
    while found < draws(200, 600):
        history = Sampler(random, values=random.choice([None, None, 3]), cas=random.random() < 0.3).history(8, 4)
        for example in check_operations(history, "cas-register").counterexamples:
            found += 1
            operations = as_counted(example).operations
            assert not is_linearizable(operations)
            for left_out in operations:
                fewer = [other for other in operations if other is not left_out]
                orphan = left_out.f != "read" and any(asks(other, left_out) for other in fewer)
                assert orphan or is_linearizable(fewer), (example, left_out)
            moments = {t for o in history for t in (o.invoked, o.returned)}
            reported = re.findall(r"(\d+\.\d+)", example.sentence)
            assert reported
            assert all(round(float(text) * 1e9) in moments for text in reported), example.sentence


def test_kinds() -> None:
    w, r = "write", "read"
    assert kind_of(op(0, w, 1, (0, 1)), op(0, w, 2, (2, 3)), op(1, r, 1, (4, 5)), op(1, r, 2, (6, 7))) == "stale-read"
    assert kind_of(op(0, w, 1, (0, 1)), op(1, r, None, (2, 3))) == "lost-write"
    assert kind_of(op(0, r, 4, (0, 1))) == "never-written"
    assert kind_of(op(0, w, 4, (0, 1), "fail", error="404"), op(0, r, 4, (2, 3))) == "failed-write-read"
    assert kind_of(op(0, r, 4, (0, 1)), op(1, w, 4, (2, 3))) == "future-read"
    overlap = (op(0, w, 1, (0, 20)), op(1, w, 2, (1, 21)))
    assert kind_of(*overlap, op(2, r, 1, (2, 3)), op(3, r, 2, (4, 5)), op(2, r, 1, (6, 7))) == "read-inversion"
    twice = (op(2, r, 1, (2, 3)), op(3, r, 2, (4, 6)), op(2, r, 1, (7, 9)), op(3, r, 2, (8, 10)))
    assert kind_of(*overlap, *twice) in ("split-brain", "read-inversion")


def test_a_pending_write_may_take_effect_at_any_later_time_or_never() -> None:
    pending = op(0, "write", 1, (0, None))
    assert kind_of(pending, op(1, "read", None, (2, 3)), op(1, "read", 1, (4, 5))) == "valid"
    assert kind_of(pending, op(1, "read", 1, (2, 3)), op(1, "read", None, (4, 5))) == "read-inversion"


def test_a_refused_cas_is_dropped_and_a_double_success_is_invalid() -> None:
    start = op(0, "write", 1, (0, 1))
    refused = op(1, "cas", [1, 9], (2, 3), "fail", error="cas-mismatch")
    first = op(1, "cas", [1, 2], (4, 5))
    assert kind_of(start, refused, first, model="cas-register") == "valid"
    assert kind_of(start, first, op(2, "cas", [1, 3], (6, 7)), model="cas-register") == "double-cas"
    overlap = (op(1, "cas", [1, 2], (4, 7)), op(2, "cas", [1, 3], (5, 8)))
    assert kind_of(start, *overlap, model="cas-register") == "double-cas"
    (example,) = check_operations([start, *overlap], "cas-register").counterexamples
    assert "process 1 on n2 swapped 1 for 2 (0.004–0.007 s) and process 2 on n3 swapped 1 for 3" in example.sentence


def test_zones_with_any_bounds_cross_as_they_should() -> None:
    # A long zone over a short forward one and a backward one, after a harmless one.
    first, last = np.array([0, 5, 6, 9, 20]), np.array([1, 10, 7, 8, 19])
    outer, inner = crossing(first, last)
    assert list(zip(outer.tolist(), inner.tolist(), strict=True)) == [(1, 2), (1, 3)]


@pytest.mark.parametrize(
    ("written", "read"), [({"a": 1}, [["a", 1]]), ([["a", 1]], {"a": 1}), (True, 1), (0, False), ([1, True], [1, 1])]
)
def test_values_of_different_kinds_are_different(written: object, read: object) -> None:
    def judged(answer: object) -> str:
        return check_operations([op(0, "write", written, (0, 1)), op(0, "read", answer, (2, 3))], "register").verdict

    assert (judged(written), judged(read)) == ("valid", "invalid")


def test_a_truth_is_found_among_a_models_own() -> None:
    assert {freeze(value) for value in (True, False)} == {True, False}


def test_unknown_initial_value() -> None:
    reads = [op(0, "read", 7, (0, 1)), op(0, "read", 7, (2, 3))]
    assert check_operations(reads, "register").verdict == "invalid"
    assert check_operations(reads, "register-unknown").verdict == "valid"
    assert check_operations([*reads, op(1, "read", 8, (4, 5))], "register-unknown").verdict == "invalid"
    assert check_operations([reads[0], op(1, "write", 7, (4, 5))], "register-unknown").verdict == "valid"


def test_keys_are_checked_one_by_one() -> None:
    good = [op(0, "write", 1, (0, 1), key="a"), op(0, "read", 1, (2, 3), key="a")]
    bad = [op(1, "write", 1, (4, 5), key="b"), op(1, "read", None, (6, 7), key="b")]
    report = check([*good, *bad])
    assert report.verdict == "invalid"
    assert [(key.key, key.verdict) for key in report.keys] == [("a", "valid"), ("b", "invalid")]
    with pytest.raises(ModelError, match="2 keys"):
        check_operations([*good, *bad], "register")


def test_a_deadline_that_has_passed_leaves_the_verdict_unknown() -> None:
    random = Random(1)
    history = Sampler(random, values=3, cas=True, truth=1.0).history(3000, 8)
    ticks = iter(range(10**6))
    verdict = check_operations(history, CasRegister(), deadline_s=1.5, clock=lambda: float(next(ticks)))
    assert verdict.verdict == "unknown"
    assert "deadline" in str(verdict.reason)


@pytest.mark.parametrize("engine", ["zones", "automaton", "search"])
def test_two_events_at_one_place_are_refused(engine: str) -> None:
    with pytest.raises(ModelError, match="the same place"):
        check_operations([op(0, "write", 1, (0, 2)), op(1, "read", 1, (2, 3))], "register", engine=engine)


def test_wrong_operations_are_refused() -> None:
    with pytest.raises(ModelError, match="no operation 'pop'"):
        check_operations([op(0, "pop", 1, (0, 1))], Register())
    with pytest.raises(ModelError, match=r"\[old, new\]"):
        check_operations([op(0, "cas", 1, (0, 1))], "cas-register")
    with pytest.raises(ModelError, match="there is no model 'regster'; did you mean register"):
        check_operations([], "regster")
    with pytest.raises(ModelError, match=r"an instance such as Register\(\), found <class"):
        check_operations([], Register)  # type: ignore[arg-type]
    assert check_operations([], "register").verdict == "valid"
