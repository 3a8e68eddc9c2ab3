"""A count that may be too low, and counterexamples that may be too large, wherever violations are counted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import reports
from history import RunFiles
from history.records.caveats import is_least
from reports.analysis.findings import prepare, violating_keys
from reports.analysis.marks import marks_of
from reports.analysis.trends import groups_of, trends_of
from reports.load.run import read_run
from reports.load.run_row import row_of
from reports.load.store_index import StoreIndex
from reports.page.series import marks_data
from reports.site.site import packed_row, trends_page
from reports.text.difference import difference, render_difference
from tests.support.reports.recorded_runs import RUNS, recorded_run


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("three-losses", "there may be more than the first 6 violations: the rest was not looked for"),
        ("epoch-granted-twice", "a counterexample of 107 operations may not be minimal"),
    ],
)
def test_what_the_checker_left_open_is_said_everywhere(tmp_path: Path, name: str, words: str) -> None:
    root = recorded_run(name, tmp_path)
    files = RunFiles(root)
    results = json.loads(files.results.read_text())
    assert any(words in key["reason"] for key in results["keys"])
    assert reports.write_report(files).warnings == []
    page = files.report.read_text()
    texts = {
        "page": " ".join(page.split()),
        "terminal": " ".join(reports.render_run(files).split()),
    }
    for where, text in texts.items():
        assert words in text, where
        assert "at least " in text, where
    assert "found are marked, and there may be more" in texts["page"]
    assert row_of(files).least


def test_nothing_is_left_open_where_the_checker_says_nothing(tmp_path: Path) -> None:
    root = recorded_run("stale-reads", tmp_path)
    files = RunFiles(root)
    assert "Not decided by the checker" not in reports.render_run(files)
    assert not row_of(files).least


@pytest.mark.slow
def test_every_node_that_lost_elements_is_named_first_and_has_a_counterexample(tmp_path: Path) -> None:
    """The three losses of one run are disjoint; the check of the order of operations shows that of n1 alone."""
    root = recorded_run("three-losses", tmp_path)
    files = RunFiles(root)
    results = json.loads(files.results.read_text())
    (elements,) = [check for check in results["checks"] if check["name"] == "elements"]
    assert [one["node"] for one in elements["findings"][0]["losses"]] == ["n1", "n5", "n3"]
    head = " ".join(reports.render_run(files).split())
    assert head.startswith("INVALID missing on n1, n3, n5: n1 lacks ")
    assert re.search(r"\bn5 (?:lacks )?455\b", head)
    assert "missing on n1: " not in head, "what two checks found of one node is said once"
    assert "≠ recovery" in head, "recovered, as far as indexes tell"
    assert "it does not require equal contents, and they differ: elements" in head
    reports.write_report(files)
    page = files.report.read_text()
    for node in ("n1", "n5", "n3"):
        assert f" on {node} does not hold " in page


@pytest.mark.slow
def test_every_place_that_counts_violations_says_where_there_may_be_more(tmp_path: Path) -> None:
    store, files = tmp_path / "store", {}
    for name in ("three-losses", "stale-reads"):
        (store / name).mkdir(parents=True)
        files[name] = RunFiles(recorded_run(name, store / name))
    cut, whole = files["three-losses"], files["stale-reads"]
    drawn = prepare(read_run(cut))
    assert marks_data(marks_of(drawn))["least"], "the timeline counts them when one is shown"
    assert [(count, least) for _, _, count, least in violating_keys(drawn.run)] == [(9, True)]
    reports.write_report(cut)
    text = " ".join(cut.report.read_text().split())
    assert "(linearizable at least 6, elements 3)" in text
    assert "By key:" not in text, "both checks found them on one set"
    found = difference(cut, whole)
    assert found.least == (True, False)
    (line,) = [one for one in render_difference(found, ("A", "B")).splitlines() if one.startswith("  violations")]
    assert line.split()[1:5] == ["at", "least", "9", "22"]
    rows = StoreIndex(store, remember=False).rows()
    assert {group.workload: group.least for group in groups_of(rows)} == {"set": True, "register": False}
    page = trends_page(rows, trends_of(store, rows))
    assert "at least 9</td>" in page
    assert page.count("at least") == 1
    assert [row["least"] for row in map(packed_row, rows)] == [row.least for row in rows]


def test_a_run_whose_results_were_recorded_by_parts_does_not_contradict_itself(tmp_path: Path) -> None:
    """What a check saw stands in its row and in the sentence; what the checker left open in every count."""
    for name in RUNS:
        results = json.loads(RunFiles(recorded_run(name, tmp_path)).results.read_text())
        (recovery,) = [check["seen"] for check in results["checks"] if check["name"] == "recovery"]
        assert recovery in results["sentence"], name
        for check in results["checks"]:
            if check["name"] == "linearizable" and check["verdict"] == "invalid":
                assert ("at least" in check["seen"]) == is_least(results), name
