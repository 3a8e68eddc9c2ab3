"""``harness show`` of recorded runs: no line is wider than the terminal, and a narrow one lacks no figure."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import reports
from harness.files import wording_of
from history import RunFiles
from reports.analysis.findings import prepare
from reports.load.cut_record import cut_of
from reports.load.run import read_run
from reports.text.terminal import render
from tests.support.reports.recorded_runs import RUNS, recorded_run

COMMANDS = ("run again: ", "replay the faults: ", "report: ")
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
                assert f"#{window.id} rate during it: over only {window.measured_s:.1f} s" in table
        spans = [line for line in wide.splitlines() if " s  from " in line]
        flat = " ".join(text.split())
        assert all(" ".join(line.split()) in flat for line in spans)
        assert " ".join(cut_of(drawn.run).split()) in flat


def test_what_was_not_tested_stands_apart_from_what_broke(tmp_path: Path) -> None:
    """On a terminal as on the page: under the same words, after where to look next."""
    files = RunFiles(recorded_run("stale-reads", tmp_path))
    results = json.loads(files.results.read_text())
    results["checks"].append({"name": "node-logs", "verdict": "unknown", "asked": "nothing", "seen": "no logs"})
    files.results.write_text(json.dumps(results))
    text = " ".join(render(prepare(read_run(files)), 80).split())
    broke, after, apart, row = map(
        text.index,
        (
            "Planted stale-reads: ",
            "Next: ",
            "What this run did not test, or left undecided: node-logs: no logs",
            "asked: ",
        ),
    )
    assert broke < after < apart < row
    assert "Planted: stale-reads: log reads are answered from the node's own memory, on any node." in text


def test_a_moment_under_no_fault_names_the_one_that_was_healed_before(tmp_path: Path) -> None:
    """As the page does: n3's log was cut 0.05 s after the partition was healed."""
    files = RunFiles(recorded_run("logs-cut", tmp_path))
    text = " ".join(render(prepare(read_run(files)), 80).split())
    assert "fault: none; #1 partition-majorities-ring was healed 0.0 s before" in text
    assert "fault: none " not in text


def test_violations_of_several_checks_are_counted_by_check_in_every_text(tmp_path: Path) -> None:
    """The story counts those of its check, the head of the counterexamples all: without the split they contradict."""
    files = RunFiles(recorded_run("epoch-granted-twice", tmp_path))
    shown = render(prepare(read_run(files)), 160)
    head = shown[shown.index("Counterexamples: ") :].partition(", 3 shown")[0]
    assert re.fullmatch(r"Counterexamples: at least \d+ violations \(linearizable at least \d+, epochs 1\)", head)
    reports.write_report(files)
    assert head.removeprefix("Counterexamples: ") in files.report.read_text()
