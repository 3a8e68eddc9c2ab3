"""What a run prints at its end: one screen, with the verdict, the break, what failed and where to look next."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import reports
from history import RunFiles
from reports.analysis.findings import prepare
from reports.load.check_rows import checks_of
from reports.load.run import read_run
from reports.story.diagnosis import diagnosis_of
from tests.support.reports.made import Maker
from tests.support.reports.recorded_runs import RUNS, recorded_run
from tests.support.reports.shapes import KINDS

WORDS = {"valid": "VALID", "unknown": "UNKNOWN", "harness-failure": "HARNESS FAILURE"}


@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_run_fits_on_one_screen(name: str, tmp_path: Path) -> None:
    files = RunFiles(recorded_run(name, tmp_path))
    reports.write_report(files)
    lines = reports.render_brief(files).splitlines()
    assert len(lines) <= 40
    assert [one for one in lines if len(one) > 80 and not re.match(r"report: |[a-z ]+: harness ", one)] == []
    drawn = prepare(read_run(files))
    rows = checks_of(drawn.run)
    failed = [row["name"] for row in rows if row["state"] in ("invalid", "unknown")]
    assert [name for name in failed if sum(line[1:].startswith(f" {name}: ") for line in lines) != 1] == []
    passed = [row["name"] for row in rows if row["state"] == "valid"]
    assert any(f" {len(passed)} check" in line for line in lines)
    text, found = " ".join(" ".join(lines).split()), diagnosis_of(drawn)
    if found is not None:
        assert found.step in text
        marks = next(line for line in lines if line.startswith("  broke "))
        axis = next(line for line in lines if line.startswith(("  faults ", "  ok/s")))
        start = next(place for place, mark in enumerate(axis[8:], 8) if mark != " ")
        onset = min(one.onset for one in found.breaks if one.onset is not None)
        width = len(next(line for line in lines if line.startswith("  faults "))) - start
        assert marks.index("▲") - start == pytest.approx(onset * 1e9 / drawn.run.end * width, abs=1.01)
    assert lines[-2] == f"report: {files.report}"


@pytest.mark.parametrize("columns", [60, 80, 160])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_run_fits(made: Maker, kind: str, columns: int) -> None:
    text = reports.render_brief(made(kind), columns)
    assert text.startswith(WORDS.get(kind, "INVALID"))
    assert len(text.splitlines()) <= (40 if columns >= 80 else 60)
    assert all(len(line) <= columns for line in text.splitlines() if "/" not in line)
    for piece in ("ok/s", "▒", "█", "harness show --verbose"):
        assert piece in text


def test_colour_is_added_and_nothing_else(made: Maker) -> None:
    plain, coloured = (reports.render_brief(made("invalid"), colour=colour) for colour in (False, True))
    assert "\x1b[31mINVALID\x1b[0m" in coloured
    for code in ("31", "32", "33", "1", "2", "0"):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert coloured == plain


def test_hostile_text_cannot_drive_the_terminal(made: Maker) -> None:
    text = reports.render_brief(made("invalid", hostile=True))
    assert not set(text) & {chr(code) for code in [*range(9), *range(11, 32), 127]}


def test_a_run_of_which_nothing_is_known_is_unknown(tmp_path: Path) -> None:
    assert reports.render_brief(RunFiles(tmp_path / "none")).startswith("UNKNOWN")
