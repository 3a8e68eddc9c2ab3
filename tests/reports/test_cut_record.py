"""A history of which only a part is left is told beside the gates, which were judged by the whole of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import reports
from history import RunFiles
from reports.load.check_rows import checks_of
from reports.load.cut_record import cut_of
from reports.load.run import read_run
from tests.support.reports.recorded_runs import recorded_run


def _edit_state(files: RunFiles, **changes: Any) -> None:
    state = json.loads(files.state.read_text())
    files.state.write_text(json.dumps(state | changes))


def test_a_cut_history_is_told_before_the_gates(tmp_path: Path) -> None:
    """Its gate saw 214 ok tails in the main phase, the table of what clients were answered has none."""
    files = RunFiles(recorded_run("ledgers-lost", tmp_path))
    said = "it holds 45 of about 512 operations that were begun in the main phase."
    assert said in cut_of(read_run(files))
    reports.write_report(files)
    page = files.report.read_text()
    assert page.index(said) < page.index("92 windows, 214 tails, 57 recovers")


@pytest.mark.parametrize("name", ["data-lost", "element-lost", "epoch-granted-twice"])
def test_of_a_whole_history_nothing_is_said(name: str, tmp_path: Path) -> None:
    assert cut_of(read_run(RunFiles(recorded_run(name, tmp_path)))) == ""


@pytest.mark.parametrize("pace", [{}, None, {"invoked_per_s": None}, {"invoked_per_s": 5.0}])
def test_what_was_not_counted_or_is_there_is_no_cut(pace: Any, tmp_path: Path) -> None:
    files = RunFiles(recorded_run("ledgers-lost", tmp_path))
    _edit_state(files, pace=pace)
    assert cut_of(read_run(files)) == ""


def test_what_a_cut_history_cannot_test_any_more_is_named(tmp_path: Path) -> None:
    """Nothing of ``ledgers-kept``'s main phase is left, so that none of its green rows can be seen in it."""
    kept, lost = (RunFiles(recorded_run(name, tmp_path)) for name in ("ledgers-kept", "ledgers-lost"))
    assert cut_of(read_run(kept)).endswith(
        "What is left does not hold ok operations of the kind create or window or tail or recover or close in the main "
        "phase, nor any ok operation under #0 kill-all, #2 hammer-time: it tests nothing of that."
    )
    assert "does not hold ok operations of the kind tail or recover in the main phase" in cut_of(read_run(lost))
    rows = {row["name"]: row["seen"] for row in checks_of(read_run(kept))}
    assert rows["operations"] == "61 windows, 235 tails, 40 recovers; before the history was cut"
