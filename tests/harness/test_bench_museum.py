"""The bench of known bugs: its table says what was found, and in how many of how many runs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from bench import museum, series
from bench.series import first_wrong_answer_s

PIECE = museum.PIECES[0]


def row(seed: int, code: int, *invalid: str, seconds: float = 60.0, answered: float | None = None) -> dict[str, Any]:
    return {"seed": seed, "exit": code, "seconds": seconds, "invalid": list(invalid), "answered_s": answered}


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(0, 20, 0.0, 0.161), (9, 10, 0.596, 0.982), (10, 10, 0.722, 1.0), (5, 10, 0.237, 0.763)],
)
def test_the_interval_is_wilsons(hits: int, of: int, low: float, high: float) -> None:
    assert list(museum.interval(hits, of)) == pytest.approx([low, high], abs=0.001)


def test_the_table_counts_what_the_right_check_named_and_no_broken_run() -> None:
    bad = [row(1, 1, "linearizable", seconds=50, answered=27.2), row(2, 1, "recovery"), row(3, 255, "linearizable")]
    good = [row(1, 0), row(2, 1, "recovery")]
    lines = museum.table({PIECE.name: {PIECE.bad: bad, PIECE.good: good}}).splitlines()
    (line,) = (line for line in lines if f"[{PIECE.name}]" in line)
    assert "| 1 of 2 (9-91 %) | 27 s (27 to 27) | 50 s (50 to 50) |" in line
    assert line.endswith(f"| {PIECE.good}: 1 of 2 (9-91 %) |"), "whatever a good release is blamed for is counted"
    assert "not run" in lines[-1]


def test_the_first_wrong_answer_is_when_it_came_and_not_when_it_was_asked_for() -> None:
    operation = {"process": 1, "f": "read", "key": "set", "value": None, "result": [],
                 "outcome": "ok", "invoked": 26_700_000_000, "returned": 26_800_000_000,
                 "invoke_index": 2, "return_index": 3}  # fmt: skip
    example = {"kind": "lost-element", "sentence": "", "operations": [operation]}
    assert first_wrong_answer_s({"keys": [{"key": "set", "counterexamples": [example]}]}) == 26.8
    assert first_wrong_answer_s({"keys": [{"key": "set"}]}) is None


def test_a_later_call_goes_on_where_the_last_one_was_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, int]] = []

    def run_once(words: list[str], seed: int, store: Path, as_expected: object) -> dict[str, Any]:
        made.append((words[2].partition("@")[2], seed))
        return row(seed, 255 if made == [(PIECE.good, 1)] else 1)

    monkeypatch.setattr(series, "run_once", run_once)
    results: dict[str, museum.Rows] = {PIECE.name: {PIECE.bad: [row(1, 1, "linearizable")]}}
    asked = argparse.Namespace(runs=2, seed=1, cluster="", store=tmp_path, results=tmp_path / "r.json")
    museum.make(PIECE, asked, results)
    assert made == [(PIECE.good, 1), (PIECE.good, 2), (PIECE.bad, 2), (PIECE.good, 3)], "a failure is made again"
    assert json.loads((tmp_path / "r.json").read_text()) == results
