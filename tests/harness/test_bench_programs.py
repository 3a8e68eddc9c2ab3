"""The bench of wrong and right programs: its runs are plans that can be run, and its tables say what they found."""

from __future__ import annotations

from typing import Any

import pytest

from bench import programs
from harness.cli.run import run


def row(seed: int, code: int, *kinds: str, invalid: tuple[str, ...] = ("linearizable",)) -> dict[str, Any]:
    return {"seed": seed, "exit": code, "seconds": 1.0, "kinds": list(kinds), "invalid": list(invalid)}


@pytest.mark.parametrize("program", [*programs.WRONG, *programs.RIGHT], ids=lambda program: program.name)
def test_every_run_can_be_asked_for(program: programs.Wrong | programs.Right) -> None:
    for number in range(20 if isinstance(program, programs.Right) else 1):
        context = run.make_context("run", program.words(number)[1:])
        planted = program.name if isinstance(program, programs.Wrong) else ""
        assert context.params["planted_bug"] == planted


def test_a_wrong_program_is_caught_by_the_right_name_alone() -> None:
    rows = [row(1, 1, "stale-read"), row(2, 1, "never-written"), row(3, 255, "stale-read"), row(4, 0, invalid=())]
    lines = programs.table({"old-snapshot": rows}).splitlines()
    (line,) = (line for line in lines if "`old-snapshot`" in line)
    assert "| 1 of 3 |" in line


def test_a_right_program_is_counted_by_its_verdicts() -> None:
    rows = [row(1, 0, invalid=()), row(2, 1), row(3, 2, invalid=()), row(4, 0, invalid=())]
    (line,) = (line for line in programs.table({"holder-go": rows}).splitlines() if line.startswith("| holder-go"))
    assert line == "| holder-go | 20 | 4 | 2 | 1 | 1 |"
