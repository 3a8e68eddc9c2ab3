"""A count that may be too low, and counterexamples that may be too large, wherever violations are counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import reports
from history import RunFiles
from reports.load.run_row import row_of
from tests.support.reports.recorded_runs import recorded_run


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("three-losses", "there may be more than the first 3 violations: the rest was not looked for"),
        ("epoch-granted-twice", "a counterexample of 292 operations may not be minimal"),
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
        "summary": " ".join(reports.render_summary(results).split()),
    }
    for where, text in texts.items():
        assert words in text, where
        assert "at least " in text, where
    assert "looked for marked, and there may be more" in texts["page"]
    assert row_of(files).least


def test_nothing_is_left_open_where_the_checker_says_nothing(tmp_path: Path) -> None:
    root = recorded_run("stale-reads", tmp_path)
    files = RunFiles(root)
    assert "Left open by the checker" not in reports.render_run(files)
    assert not row_of(files).least


def test_every_node_that_lost_elements_is_named_first_and_has_a_counterexample(tmp_path: Path) -> None:
    """The three losses of one run are disjoint; the check of the order of operations shows that of n1 alone."""
    root = recorded_run("three-losses", tmp_path)
    files = RunFiles(root)
    results = json.loads(files.results.read_text())
    (elements,) = [check for check in results["checks"] if check["name"] == "elements"]
    assert [one["node"] for one in elements["details"]["losses"]] == ["n1", "n5", "n3"]
    head = " ".join(reports.render_run(files).split())
    assert head.startswith("INVALID data lost on n1, n3, n5: n1 lacks ")
    assert head.index("n5 lacks 455, seen since ") < head.index("data lost on n1: lost-element: ")
    assert "1.0 s after the heal; but what nodes hold differs: elements" in head, "recovered, as far as indexes tell"
    reports.write_report(files)
    page = files.report.read_text()
    for node in ("n5", "n3"):
        assert f" on {node} does not hold " in page
    assert " on n1 does not hold " not in page, "n1's is drawn by the other check"
