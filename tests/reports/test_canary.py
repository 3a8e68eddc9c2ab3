"""A run with a planted bug: found as intended, or the harness is blind; never a broken promise of the system."""

from __future__ import annotations

import json

import pytest

import reports
from history import RunFiles
from reports.analysis.canary import meaning_of, word_of
from reports.analysis.findings import violation_times_of
from reports.load.run import read_run
from tests.support.reports.made import Maker


def with_canary(files: RunFiles) -> RunFiles:
    plan = json.loads(files.plan.read_text())
    files.plan.write_text(json.dumps({**plan, "canary": "stale-reads"}))
    return files


@pytest.mark.parametrize(
    ("kind", "word", "meaning"),
    [
        ("invalid", "Invalid, as intended", "The planted bug stale-reads was found, as intended"),
        ("valid", "Valid: the planted bug was not found", "The planted bug stale-reads was not found"),
        ("no-recovery", "Invalid: the planted bug was not found", "The planted bug stale-reads was not found"),
        ("unknown", "Unknown: the planted bug was not found", "The planted bug stale-reads was not found"),
        ("harness-failure", "Harness failure", "The harness broke down"),
    ],
)
def test_what_a_verdict_means_when_the_bug_is_planted(fresh: Maker, kind: str, word: str, meaning: str) -> None:
    files = fresh(kind)
    plain = read_run(files)
    assert ("planted" in word_of(plain), "planted" in meaning_of(plain)) == (False, False)
    planted = read_run(with_canary(files))
    assert word_of(planted) == word
    assert meaning_of(planted).startswith(meaning)
    assert "broke a promise" not in meaning_of(planted)
    reports.write_report(files)
    assert f'<h1 id="verdict-word">{word}</h1>' in files.report.read_text()


def test_when_violations_were_seen_is_told_where_it_was_counted(fresh: Maker) -> None:
    files = fresh("invalid")
    results = json.loads(files.results.read_text())
    assert violation_times_of(read_run(files)) == ""
    seen = {
        "of": 9,
        "counted": 9,
        "phases": {"main": 9},
        "faults": [{"id": 2, "fault": "bridge", "count": 4}],
        "calm": 5,
    }
    results["checks"][0]["details"] = {"seen": seen}
    files.results.write_text(json.dumps(results))
    assert violation_times_of(read_run(files)) == "9 in main; 4 during #2 bridge, 5 with no fault installed"
    reports.write_report(files)
    assert "When: 9 in main; 4 during #2 bridge, 5 with no fault installed." in files.report.read_text()
    results["checks"][0]["details"] = {"seen": {**seen, "of": 12}}
    files.results.write_text(json.dumps(results))
    assert violation_times_of(read_run(files)).startswith("Of the 9 counted: 9 in main")


def test_the_terminal_says_so_too(fresh: Maker) -> None:
    text = reports.render_run(with_canary(fresh("invalid")))
    assert text.startswith("INVALID, AS INTENDED\nThe planted bug stale-reads was found, as intended")
    assert "planted" not in reports.render_run(fresh("no-recovery"))
