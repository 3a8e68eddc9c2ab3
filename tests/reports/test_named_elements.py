"""The elements that a check of sets found lost can be read in full on the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import reports
from history import RunFiles
from tests.support.reports.recorded_runs import recorded_run


def page_with(below: Path, **details: Any) -> str:
    """The page of a run of which 61 elements are lost, where the check of sets found something else."""
    files = RunFiles(recorded_run("element-lost", below))
    results = json.loads(files.results.read_text())
    (check,) = [one for one in results["checks"] if one["name"] == "elements"]
    check["findings"][0] |= details
    check["findings"][1] |= {name: details[name] for name in ("severity",) if name in details}
    files.results.write_text(json.dumps(results))
    assert reports.write_report(files).warnings == []
    return files.report.read_text()


def test_all_lost_elements_stand_in_a_fold_beside_their_number(tmp_path: Path) -> None:
    lost = list(range(200, 261))
    page = page_with(tmp_path, named={"lost": lost})
    assert f"<summary>61 that n1 lacks</summary><p>{', '.join(map(str, lost))}</p></details>" in page


def test_a_recording_that_names_some_only_says_how_many(tmp_path: Path) -> None:
    page = page_with(tmp_path, named={"lost": [120, 122, 123, 124]})
    assert "<summary>61 that n1 lacks, the first 4 of them</summary><p>120, 122, 123, 124</p>" in page


def test_what_no_node_holds_is_lost(tmp_path: Path) -> None:
    losses = [{"node": "n1", "lost": 61, "elsewhere": 0, "seen_ns": 32_961_843_177}]
    page = page_with(tmp_path, losses=losses, severity="data lost")
    assert "<summary>61 lost</summary>" in page
    assert ">Data lost</a>: n1 lacks 61 acknowledged elements" in page


def test_a_node_whose_own_reads_had_shown_what_it_lacks_later_is_named(tmp_path: Path) -> None:
    """Its story is another than that of a node which never held it."""
    files = RunFiles(recorded_run("element-lost", tmp_path))
    assert "itself had shown" not in reports.render_run(files)
    head, *lines = files.history.read_text().splitlines()
    events = [json.loads(line) for line in lines]
    check = next(one for one in json.loads(files.results.read_text())["checks"] if one["name"] == "elements")
    lost = check["findings"][0]["named"]["lost"]
    answers = [one for one in events if (one["type"], one["f"]) == ("ok", "read") and 12e9 < one["time"] < 30e9]
    for answer, held in zip(answers, (lost[:17], lost[:3]), strict=False):
        asked = [one for one in events[: events.index(answer)] if one["process"] == answer["process"]][-1]
        asked["node"] = answer["node"] = "n1"
        answer["value"] = [one for one in answer["value"] if one not in lost] + held
    files.history.write_text("\n".join([head, *map(json.dumps, events), ""]))
    said = f"n1 itself had shown 17 of what it lacks, for the last time at {answers[1]['time'] / 1e9:.1f} s."
    assert said in " ".join(reports.render_run(files, 160).split())


@pytest.mark.parametrize("named", [None, [], {}, {"lost": []}, {"lost": 3}])
def test_where_none_are_named_there_is_no_fold(named: Any, tmp_path: Path) -> None:
    assert 'class="elements"' not in page_with(tmp_path, named=named)
