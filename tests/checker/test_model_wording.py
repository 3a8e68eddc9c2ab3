"""Operations in the words of their model, and by their values where it has none."""

from __future__ import annotations

from typing import Any

import pytest

from checker import check_operations
from checker.models.registry import MODELS, model_named
from history import Operation


def op(place: int, f: str, value: Any, result: Any) -> Operation:
    return Operation(place, f, "x", value, result, "ok", 10 * place, 10 * place + 5, 2 * place, 2 * place + 1)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_no_model_of_ours_has_words_of_its_own(name: str) -> None:
    assert model_named(name).wording(op(0, "read", None, 7)) == ""


def test_a_lock_that_is_granted_twice_is_described_in_its_words() -> None:
    twice = [op(place, "acquire", None, ["acquired", 7]) for place in (0, 1)]
    (example,) = check_operations(twice, "fenced-lock").counterexamples
    assert example.kind == "granted-twice"
    assert "acquire granted with token 7" in example.sentence


@pytest.mark.parametrize(
    ("f", "value", "result", "said"),
    [
        ("acquire", None, ["held", 7], "acquire refused, held by token 7"),
        ("release", 7, ["released", 7], "release of token 7"),
        ("release", 7, ["held", 8], "release of token 7 refused, held by token 8"),
        ("release", 7, ["free", None], "release of token 7 refused, free"),
        ("release", 7, None, ""),
        ("acquire", None, [1, 2, 3], ""),
    ],
)
def test_answers_of_a_lock_in_words(f: str, value: Any, result: Any, said: str) -> None:
    assert model_named("fenced-lock").wording(op(0, f, value, result)) == said


def test_a_lock_that_is_granted_while_it_is_held_is_called_that() -> None:
    taken, released = op(0, "acquire", None, None), op(1, "release", None, None)
    assert check_operations([taken, released, op(2, "acquire", None, None)], "mutex").verdict == "valid"
    (example,) = check_operations([taken, op(2, "acquire", None, None)], "mutex").counterexamples
    assert example.kind == "granted-twice"
    (other,) = check_operations([released], "mutex").counterexamples
    assert other.kind == "not-linearizable"
