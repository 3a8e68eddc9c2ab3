"""``harness show`` of recorded runs: no line is wider than the terminal, and a narrow one lacks no figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.files import wording_of
from history import RunFiles
from reports.analysis.findings import prepare
from reports.load.cut_record import cut_of
from reports.load.run import read_run
from reports.text.terminal import render
from tests.support.reports.recorded_runs import RUNS, recorded_run

COMMANDS = ("run again: ", "same settings, other faults: ", "replay the faults: ", "report: ")
"""Whole, so that they can be copied."""


@pytest.mark.parametrize("name", RUNS)
def test_every_line_fits_and_every_figure_is_there(tmp_path: Path, name: str) -> None:
    files = RunFiles(recorded_run(name, tmp_path))
    drawn = prepare(read_run(files, wording_of(files.history)))
    wide, cut = render(drawn, 160), cut_of(drawn.run)
    for columns in (60, 80):
        text = render(drawn, columns)
        lines = [line for line in text.splitlines() if not line.startswith(COMMANDS)]
        assert [line for line in lines if len(line) > columns] == []
        table = text[text.index("Faults (rates") : text.index("Longest time without" if not cut else "0 to ")]
        assert "…\n" not in table.replace("…\n ", "")
        for window in drawn.windows:
            if window.longest_gap_ms is not None:
                assert f"{window.longest_gap_ms / 1000:.2f}" in table
            if window.measured_s is not None:
                assert f"#{window.id} rate during it: of {window.measured_s:.1f} s alone" in table
        spans = [line for line in wide.splitlines() if " s  from " in line]
        flat = " ".join(text.split())
        assert all(" ".join(line.split()) in flat for line in spans)
        assert " ".join(cut_of(drawn.run).split()) in flat
