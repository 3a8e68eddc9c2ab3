"""The first sentence of a page without a verdict, and its next step."""

from __future__ import annotations

import json

import reports
from history import RunFiles
from reports.load.run import read_run
from reports.story.undecided import undecided
from tests.support.reports.made import Maker


def _faults_gate(files: RunFiles, bare: list[str]) -> None:
    """Leave one fault without effect, or another check undecided."""
    results = json.loads(files.results.read_text())
    finding = {
        "type": "FaultStates",
        "check": "faults",
        "states": {"kill-leader": {"skipped": 2}, "pause-leader": {"installed": 4}},
        "bare": bare,
        "reasons": {name: ["n5 is under another fault"] for name in bare},
        "unfelt": [],
    }
    gate = {
        "name": "faults",
        "kind": "gate",
        "verdict": "unknown",
        "asked": "asked",
        "seen": "seen",
        "findings": [finding],
    }
    results["checks"] = [one for one in results["checks"] if one["verdict"] == "valid" and one["name"] != "faults"]
    results["checks"].append(gate)
    files.results.write_text(json.dumps({**results, "verdict": "unknown"}))


def test_a_fault_that_never_took_effect_opens_the_page_in_a_sentence(fresh: Maker) -> None:
    files = fresh("valid")
    _faults_gate(files, ["kill-leader"])
    found = undecided(read_run(files))
    assert found is not None
    assert "kill-leader was skipped 2 times (n5 is under another fault)" in found.sentence
    assert "why kill-leader was not started, " in found.step
    assert "pause-leader" not in found.sentence
    assert (found.sentence[0].isupper(), found.sentence[-1], found.place) == (True, ".", "faults")
    reports.write_report(files)
    head = files.report.read_text().partition('id="verdict"')[2].partition("</section>")[0]
    assert f'<strong>Next:</strong> <a href="#faults">{found.step}</a>.' in head


def test_a_fault_that_was_started_and_not_felt_is_not_called_skipped(fresh: Maker) -> None:
    files = fresh("valid")
    _faults_gate(files, ["kill-leader", "pause-leader"])
    results = json.loads(files.results.read_text())
    results["checks"][-1]["findings"][0]["states"]["pause-leader"] = {"skipped": 1, "unfelt": 3}
    files.results.write_text(json.dumps(results))
    found = undecided(read_run(files))
    assert found is not None
    assert "pause-leader was skipped 1 time, not felt 3 times" in found.sentence
    assert "kill-leader was not started and pause-leader was without effect, " in found.step


def test_any_other_undecided_check_is_named_with_what_it_saw(fresh: Maker) -> None:
    files = fresh("valid")
    _faults_gate(files, [])
    found = undecided(read_run(files))
    assert found is not None
    assert (found.place, "seen" in found.sentence, found.sentence[-1]) == ("check-faults", True, ".")


def test_a_valid_run_has_nothing_undecided(fresh: Maker) -> None:
    assert undecided(read_run(fresh("valid"))) is None
