"""What the page says that a blamed operation could have answered: all of it, or why not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reports
from checker.models.sync_state_set import SyncStateSet
from history import RunFiles
from reports.analysis.findings import prepare
from reports.load.run import read_run
from tests.support.reports.raw import Raw, S
from tests.support.reports.recorded_runs import recorded_run

Change = Callable[[dict[str, Any]], dict[str, Any]]


def said(root: Path, change: Change = lambda linearization: linearization) -> str:
    """The sentence of the page below its first counterexample, of results with other linearizations."""
    results = json.loads((root / "results.json").read_text())
    for key in results["keys"]:
        for example in key["counterexamples"]:
            example["linearization"] = change(example["linearization"])
    (root / "results.json").write_text(json.dumps(results))
    files = RunFiles(root)
    reports.write_report(files)
    return " ".join(files.report.read_text().partition('<p class="context">')[2].partition("</p>")[0].split())


def test_a_read_of_a_sync_state_set_has_all_its_answers_named(tmp_path: Path) -> None:
    """The alters in doubt are the raw file's: of epoch 69, each that names it could have been granted as 70."""
    root = recorded_run("epoch-granted-twice", tmp_path)
    events = [json.loads(line) for line in (root / "history.jsonl").read_text().splitlines()[1:]]
    alters = [event["value"] for event in events if (event["f"], event["type"]) == ("alter", "invoke")]
    asked = {json.dumps(members) for *expected, members in alters if expected == [2, 10, 69]}
    text = said(root)
    assert "; given everything that had happened to it until then it could have answered " in text
    named = text.partition("could have answered ")[2].partition(" and nothing else")[0]
    for answer in ("[2, 10, [1, 2, 3], 69]", *(f"[2, 10, {members}, 70]" for members in asked)):
        assert answer in named
    assert named.count(" or ") == len(asked)


def test_its_drawing_holds_what_matters_and_its_words_say_which_were_in_doubt(tmp_path: Path) -> None:
    """Four alters of epoch 69 are in doubt; of what ended before, the two that led to that epoch say all."""
    files = RunFiles(recorded_run("epoch-granted-twice", tmp_path))
    (first, *_) = prepare(read_run(files, SyncStateSet().wording)).violations
    assert first.picture is not None
    asked = [box.label.partition(": expected ")[2][:8] for box in first.picture.boxes]
    assert asked == ["epoch 67", "epoch 68", "epoch 69", "epoch 69", "epoch 69", "epoch 69", ""]
    assert [box.culprit for box in first.picture.boxes] == [False] * 6 + [True]
    assert first.picture.left_out == len(first.example.operations) - 7
    assert {text.partition(": expected ")[2][:8] for text, _ in first.in_doubt} == {"epoch 69"}
    assert sum(times for _, times in first.in_doubt) == 4
    for answer in first.legal.answers:
        assert re.fullmatch(r"master 2 of epoch 10, sync state set \[[\d, ]+\] of epoch (69|70)", answer)
    reports.write_report(files, SyncStateSet().wording)
    page = " ".join(files.report.read_text().split())
    assert "In doubt when it was answered (each may have taken effect or not): " in page


def test_why_they_are_not_named_is_said(tmp_path: Path) -> None:
    root = recorded_run("epoch-granted-twice", tmp_path)
    why = "there are too many orders to try them all"
    text = said(root, lambda found: {**found, "legal": [], "whole": False, "unnamed": why})
    assert f"; what it could have answered is unknown: {why}." in text
    assert "nothing else" not in text


def test_a_list_of_many_is_shown_by_its_length(tmp_path: Path) -> None:
    root = recorded_run("element-lost", tmp_path)
    events = [json.loads(line) for line in (root / "history.jsonl").read_text().splitlines()[1:]]
    added = sum(event["type"] == "ok" and event["f"] == "add" for event in events)
    text = said(root)
    assert f">a list of {added}</span> and nothing else" in text


@pytest.mark.parametrize("name", ["epoch-granted-twice"])
def test_results_of_an_earlier_release_claim_no_more_than_they_know(tmp_path: Path, name: str) -> None:
    def earlier(found: dict[str, Any]) -> dict[str, Any]:
        return {key: found[key] for key in ("initial", "points", "suspects")} | {"legal": []}

    assert "could have answered" not in said(recorded_run(name, tmp_path), earlier)


@pytest.mark.slow
def test_of_a_read_of_a_set_with_too_many_orders_it_is_said_what_every_answer_holds(tmp_path: Path) -> None:
    """An element acknowledged or read before belongs to all of them, one whose add was open to some."""
    root = recorded_run("three-losses", tmp_path)
    raw = Raw(root)
    (first, *_) = prepare(read_run(RunFiles(root))).violations
    (suspect,) = first.example.suspects
    every = raw.operations()
    begun, ended = suspect.invoked / S, (suspect.returned or 0) / S
    before = [one for one in every if one["type"] == "ok" and one["end"] < begun]
    held = {one["value"] for one in before if one["f"] == "add"}
    held.update(element for one in before if one["f"] == "read" for element in one["result"])
    adds = [one for one in every if one["f"] == "add" and one["type"] != "fail" and one["begin"] < ended]
    open_ones = {one["value"] for one in adds} - held
    assert len(held) > 400
    assert first.legal.text == (
        f"all of {len(held):,} elements that had been acknowledged or read before, "
        f"with or without some of {len(open_ones):,} whose adds were under way or in doubt"
    )
    shown = said(root)
    given = "given everything that had happened to it until then it could have answered"
    assert f'{given} <span class="mono">{first.legal.text}' in shown
    assert "have answered is unknown" not in shown
