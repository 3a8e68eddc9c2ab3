"""The sentence of a set's violation: which answer holds the element and which lacks it."""

from __future__ import annotations

import pytest

from checker.check import check
from checker.models.objects import GrowSet
from history import Operation

NUMBERS = list(range(100, 120))


def _operations(first: list[int], later: list[int]) -> list[Operation]:
    others = [Operation(4 + n, "add", "s", n, None, "ok", n, n + 1, 2 * n, 2 * n + 1) for n in NUMBERS]
    add = Operation(1, "add", "s", 7, None, "info", 10**6, 2 * 10**6, 400, 401, node="n4", error="ConnectionLoss")
    reads = [
        Operation(2, "read", "s", None, first, "ok", 3 * 10**6, 4 * 10**6, 402, 403, node="n3"),
        Operation(3, "read", "s", None, later, "ok", 5 * 10**6, 6 * 10**6, 404, 405, node="n1"),
    ]
    return [*others, add, *reads]


def test_the_answer_that_lacks_an_element_is_named_and_is_the_culprit() -> None:
    (key,) = check(_operations([*NUMBERS, 7], NUMBERS), GrowSet()).keys
    (example,) = key.counterexamples
    assert example.kind == "read-inversion"
    assert "process 1 on n4 began to add 7 (from 0.001 s, outcome unknown: ConnectionLoss at 0.002 s)" in (
        example.sentence
    )
    assert "read 21 items, with 7 (" in example.sentence
    assert "read 20 items, without 7 (" in example.sentence
    assert example.sentence.endswith(
        "The answer to process 2 on n3 has 7, but the later one to process 3 on n1 lacks it: "
        "no order of the adds explains both."
    )
    assert [one.process for one in example.suspects] == [3]


def test_an_add_of_unknown_outcome_that_is_seen_from_then_on_is_no_violation() -> None:
    (key,) = check(_operations(NUMBERS, [*NUMBERS, 7]), GrowSet()).keys
    assert key.verdict == "valid"


@pytest.mark.parametrize("size", [0, 100])
@pytest.mark.parametrize(("answer", "verdict"), [([7], "valid"), ([7, 7], "invalid"), ([7, 7, 7], "invalid")])
def test_an_element_is_in_an_answer_once(answer: list[int], verdict: str, size: int) -> None:
    """However often it was added, and whatever else the set holds."""
    more = list(range(100, 100 + size))
    adds = [Operation(0, "add", None, n, None, "ok", 2 * n, 2 * n + 1, 2 * n, 2 * n + 1) for n in (7, *more)]
    again = Operation(0, "add", None, 7, None, "ok", 1000, 1001, 1000, 1001)
    read = Operation(1, "read", None, None, [*more, *answer], "ok", 1002, 1003, 1002, 1003)
    report = check([*adds, again, read], "set")
    assert report.verdict == verdict
    assert [example.kind for example in report.counterexamples] == ["duplicate"] * (verdict == "invalid")
