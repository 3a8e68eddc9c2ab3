"""Regressions: how they stand in a row of ``trends``, and when one of the verdict begins and ends."""

from __future__ import annotations

import json

import pytest

from history.metrics.regressions import Measured, Regression, find_regressions, open_regressions, read_regressions


def of_verdicts(verdicts: str) -> list[tuple[str, str | None]]:
    """Onset and end of each regression in runs named 0, 1, 2, ...; a verdict is its first letter."""
    named = {"v": "valid", "i": "invalid", "u": "unknown"}
    runs = [Measured(str(place), "", named[letter], {}) for place, letter in enumerate(verdicts)]
    return [(found.onset, found.closed) for found in find_regressions(runs)]


def test_regressions_are_read_as_they_were_written() -> None:
    closed = Regression("rate", "nodes=5", "b", "b", "c", 1.0, None, (("a", 1.0),), (("b", None), ("c", 1.0)))
    still = Regression("verdict", "nodes=5", "b", "b", None, None, None, (("a", "valid"),), (("b", "invalid"),))
    text = json.dumps([closed.to_json(), still.to_json()])
    assert read_regressions(text) == [closed, still]
    assert open_regressions(text) == [still]


@pytest.mark.parametrize("text", ["{", "[1]", "[{}]", "null"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        read_regressions(text)


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        ("vvvvvi", [("5", None)]),
        ("vvvvvivvvv", [("5", None)]),
        ("vvvvvivvvvv", [("5", "10")]),
        ("vvvvvivvvivv", [("5", None)]),
        ("vvvvi", []),
    ],
)
def test_five_valid_runs_before_begin_one_and_five_after_end_it(
    verdicts: str, found: list[tuple[str, str | None]]
) -> None:
    assert of_verdicts(verdicts) == found


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        ("vvvvviuuuuu", [("5", None)]),
        ("vvvvviuuuuuvvvvv", [("5", "15")]),
        ("vvvvvivvuvvv", [("5", "11")]),
        ("uuuuui", []),
        ("vvuvvvi", [("6", None)]),
        ("vivvvvuuuuuui", []),
    ],
)
def test_an_unknown_run_proves_nothing(verdicts: str, found: list[tuple[str, str | None]]) -> None:
    assert of_verdicts(verdicts) == found
