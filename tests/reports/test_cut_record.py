"""A history of which only a part is left is named beside the gates, which were judged by the whole of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reports
from history import RunFiles
from history.records.finding import OkCounts
from reports.load.check_rows import checks_of
from reports.load.cut_record import cut_of
from reports.load.run import read_run
from reports.load.run_row import row_of
from reports.page.compare import curves_of
from reports.page.series import phases_of
from tests.support.reports.checks import recorded
from tests.support.reports.recorded_runs import recorded_run


def _edit_state(files: RunFiles, **changes: Any) -> None:
    state = json.loads(files.state.read_text())
    files.state.write_text(json.dumps(state | changes))


def test_a_cut_history_is_reported_before_the_gates(tmp_path: Path) -> None:
    """Its gate saw 214 ok tails in the main phase, the table of what clients were answered has none."""
    files = RunFiles(recorded_run("ledgers-lost", tmp_path))
    said = "it holds 45 of about 512 operations that began in the main phase."
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
        "What is left does not include ok operations of the kind create or window or tail or recover or close in the "
        "main phase, nor any ok operation under #0 kill-all, #2 hammer-time, so it tests nothing there, although gates "
        "may have seen some."
    )
    assert "does not include ok operations of the kind tail or recover in the main phase" in cut_of(read_run(lost))
    rows = {row["name"]: row["seen"] for row in checks_of(read_run(kept))}
    assert rows["operations"] == "61 windows, 235 tails, 40 recovers; before the history was cut"


def test_gates_that_counted_what_is_left_are_not_said_to_have_counted_before_the_cut(tmp_path: Path) -> None:
    """``three-losses`` was judged after it was cut: its gate saw 1979 adds, and so does the table of operations."""
    run = read_run(RunFiles(recorded_run("three-losses", tmp_path)))
    rows = {row["name"]: row["seen"] for row in checks_of(run)}
    assert rows["operations"] == "1979 adds, 487 reads; of what is left of the history"
    assert rows["under-fault"] == "1832 ok operations; of what is left of the history"
    assert "Gates, counts, tables and charts cover what is left" in cut_of(run)
    assert "who removed them, and how they were chosen, is not recorded" in cut_of(run)
    whole = read_run(RunFiles(recorded_run("ledgers-lost", tmp_path)))
    assert "Gates counted before the cut; counts, tables" in cut_of(whole)


def test_a_gate_that_counted_what_is_left_did_not_count_before_the_cut(tmp_path: Path) -> None:
    """``ledgers-kept`` judged again: its gates count what is left, none."""
    files = RunFiles(recorded_run("ledgers-kept", tmp_path))
    results = json.loads(files.results.read_text())
    (gate,) = [one for one in results["checks"] if one["name"] == "operations"]
    gate |= {**recorded(OkCounts(least=14, ok={"window": 0, "tail": 0, "recover": 0})), "verdict": "unknown"}
    files.results.write_text(json.dumps(results))
    run = read_run(files)
    assert "Gates, counts, tables and charts cover what is left" in cut_of(run)
    rows = {row["name"]: row["seen"] for row in checks_of(run)}
    assert rows["final-reads"].endswith("; of what is left of the history")


def test_that_a_history_was_cut_stands_before_what_it_left_undecided(tmp_path: Path) -> None:
    """Without it "no operation was ok" is read as a load that failed."""
    files = RunFiles(recorded_run("ledgers-kept", tmp_path))
    results = json.loads(files.results.read_text())
    (gate,) = [one for one in results["checks"] if one["name"] == "under-fault"]
    gate["seen"], gate["verdict"], results["verdict"] = "no operation was ok", "unknown", "unknown"
    files.results.write_text(json.dumps(results))
    reports.write_report(files)
    page, shown = files.report.read_text(), " ".join(reports.render_run(files).split())
    for text in (page, shown):
        assert text.index("The history was cut: it holds") < text.index("no operation was ok")


@pytest.mark.parametrize("name", [pytest.param("three-losses", marks=pytest.mark.slow), "ledgers-lost"])
def test_of_a_cut_history_no_rate_gap_or_way_back_is_printed(name: str, tmp_path: Path) -> None:
    """Rates of 29, 45 and 28 a second, and a rate that was back after 32 ms, were those of the cut."""
    files = RunFiles(recorded_run(name, tmp_path))
    reports.write_report(files)
    page = files.report.read_text()
    part = page.partition('id="faults"')[2].partition("</section>")[0]
    for label in ("ok/s before", "ok/s during", "ok/s after", "longest gap, s", "first ok, ms", "rate back, ms"):
        cells = set(re.findall(rf'data-label="{label}">(.*?)</td>', part))
        assert cells == {"–"}, label
    assert "Rates are taken" not in page
    assert 'id="outages"' not in page
    assert "operations per second succeeded" not in page
    assert "No operation succeeded" not in page
    assert "these are not the cluster's rates" in page
    text = reports.render_run(files)
    assert "Longest time without a success" not in text
    assert "operations per second succeeded" not in text


@pytest.mark.parametrize("name", ["three-losses", "ledgers-lost", "ledgers-kept"])
def test_summary_list_and_comparison_give_no_rates_of_a_cut_history_either(name: str, tmp_path: Path) -> None:
    files = RunFiles(recorded_run(name, tmp_path))
    text = reports.render_run(files, 120)
    faults = text.partition("\nFaults (rates are ok operations a second)\n")[2].partition("\n\n")[0]
    rows = [row for row in faults.splitlines() if re.match(r" +\d+ ", row)]
    assert rows
    for row in rows:
        assert row.split()[-6:] == ["–"] * 6
    assert "By kind of operation" not in text
    assert "By fault, over" not in text
    listed = row_of(files)
    assert (listed.rate, listed.gap_s, listed.recovery_s, listed.never) == (None, None, None, 0)
    assert listed.sentence.startswith("(its history was cut: no rates) ")
    curves = curves_of(files)
    assert curves is not None
    assert set(curves["ok"]) == {None}
    assert curves["available"][1] == []
    assert {fault["gap_s"] for fault in curves["faults"]} == {None}
    assert curves["recovery"]["faults"] == 0


def test_of_a_whole_history_summary_list_and_comparison_give_rates(tmp_path: Path) -> None:
    files = RunFiles(recorded_run("element-lost", tmp_path))
    assert "By fault, over its windows" in reports.render_run(files)
    row, curves = row_of(files), curves_of(files)
    assert row.rate is not None
    assert not row.sentence.startswith("(")
    assert curves is not None
    assert any(curves["ok"])


def test_the_main_phase_of_a_cut_history_begins_when_the_harness_began_it(tmp_path: Path) -> None:
    """The first operation of ``ledgers-lost``'s main phase that is left is of 7.0 s."""
    run = read_run(RunFiles(recorded_run("ledgers-lost", tmp_path)))
    assert [(one["name"], round(one["start"], 2)) for one in phases_of(run)] == [("main", 2.02), ("final", 19.45)]
    whole = read_run(RunFiles(recorded_run("element-lost", tmp_path)))
    first = min(
        int(whole.operations.invoked[row])
        for row in np.flatnonzero(whole.operations.phase.codes == whole.operations.phase.code("main"))
    )
    assert phases_of(whole)[0] == {"name": "main", "start": first / 1e9}
