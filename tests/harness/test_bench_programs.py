"""The bench of wrong and right programs: its runs are plans that can be run, and its tables say what they found."""

from __future__ import annotations

from typing import Any

import pytest

from bench import programs
from bench.series import Series
from harness.cli.run import run


def row(seed: int, code: int, *kinds: str, invalid: tuple[str, ...] = ("linearizable",)) -> dict[str, Any]:
    return {"seed": seed, "exit": code, "seconds": 1.0, "kinds": list(kinds), "invalid": list(invalid)}


@pytest.mark.parametrize("program", [*programs.WRONG, *programs.RIGHT], ids=lambda program: program.name)
def test_every_run_can_be_asked_for(program: programs.Wrong | programs.Right) -> None:
    for number in range(20 if isinstance(program, programs.Right) else 1):
        context = run.make_context("run", program.words(number)[1:])
        planted = program.name if isinstance(program, programs.Wrong) else ""
        assert context.params["planted_bug"] == planted


def series_of(program: programs.Wrong | programs.Right, rows: list[dict[str, Any]]) -> Series:
    series = Series()
    for one in rows:
        series.add(one, {*one["kinds"], *one["invalid"]}, hit=program.is_as_intended(one))
    return series


def test_a_wrong_program_is_caught_by_the_right_name_alone() -> None:
    (program,) = (one for one in programs.WRONG if one.name == "old-snapshot")
    rows = [row(1, 1, "stale-read"), row(2, 1, "never-written"), row(3, 0, invalid=())]
    lines = programs.table({program.name: series_of(program, rows)}).splitlines()
    (line,) = (line for line in lines if "`old-snapshot`" in line)
    assert line.endswith("| 1 of 3 | `linearizable` 2, `stale-read` 1, `never-written` 1 |")


def test_a_right_program_is_counted_by_its_verdicts() -> None:
    (program,) = (one for one in programs.RIGHT if one.name == "holder-go")
    rows = [row(1, 0, invalid=()), row(2, 1), row(3, 2, invalid=()), row(4, 0, invalid=())]
    lines = programs.table({program.name: series_of(program, rows)}).splitlines()
    (line,) = (line for line in lines if line.startswith("| holder-go"))
    assert line == "| holder-go | 20 | 4 | 2 | 1 | 1 |"
