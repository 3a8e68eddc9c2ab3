"""The bench of planted bugs: its runs are plans that can be run, and its table says what they found."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from bench import planted, programs, series
from bench.series import ROOT, Series, read_series, write_table
from harness.cli.run import run
from harness.systems.dledger import SYSTEM


def test_every_bug_has_its_kind_of_run_and_that_can_be_asked_for() -> None:
    assert {trial.bug for trial in planted.TRIALS} == {*planted.PLANTED_BUGS, planted.NONE}
    for trial in planted.TRIALS:
        words = trial.words("netns:x")
        context = run.make_context("run", words[1:])
        assert context.params["planted_bug"] == (trial.bug if trial.bug != planted.NONE else "")
    assert len({trial.name for trial in planted.TRIALS}) == len(planted.TRIALS)


def test_every_workload_has_a_bug_to_find() -> None:
    tried = {trial.workload for trial in planted.TRIALS if trial.bug != planted.NONE}
    assert tried == {workload.name for workload in SYSTEM.workloads}


def test_series_of_one_bug_are_distinguished_by_their_workload() -> None:
    lines = planted.table({"apply-twice:set": Series.of(2, 1, {"1": 1, "0": 1}, {"elements": 1})}).splitlines()
    (mine,) = (line for line in lines if line.startswith("| `apply-twice` | 0.4.0, set "))
    assert "| 1 of 2 | `elements` 1 |" in mine
    assert all("not run" in line for line in lines[2:] if line != mine)


def row(seed: int, code: int, *invalid: str) -> dict[str, Any]:
    return {"seed": seed, "exit": code, "seconds": 1.0, "invalid": list(invalid)}


def test_a_later_call_goes_on_where_the_last_one_was_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row(2, 1, "replicas-agree", "recovery"), row(3, 255, "replicas-agree"), row(4, 0), row(5, 1, "recovery")]
    made: list[int] = []

    def run_once(words: list[str], seed: int, store: Path, as_expected: object) -> dict[str, Any]:
        made.append(seed)
        return next(one for one in rows if one["seed"] == seed)

    monkeypatch.setattr(series, "run_once", run_once)
    found = {"skip-entry": Series.of(1, 1, {"1": 1}, {"replicas-agree": 1})}
    asked = argparse.Namespace(runs=4, seed=1, cluster="", store=tmp_path, counts=tmp_path / "counts.json")
    (trial,) = (one for one in planted.TRIALS if one.name == "skip-entry")
    planted.make(trial, asked, found)
    assert made == [2, 3, 4, 5], "the harness failed in the second: one more"
    assert read_series(asked.counts) == found
    assert found["skip-entry"].exits == {"1": 3, "0": 1}
    (line,) = (line for line in planted.table(found).splitlines() if "`skip-entry`" in line)
    assert line.endswith("| `replicas-agree` or `linearizable` | 2 of 4 | `replicas-agree` 2, `recovery` 2 |")


@pytest.mark.parametrize("bench", [planted, programs])
def test_the_tables_of_the_page_are_those_of_the_recorded_counts(bench: Any) -> None:
    counts = read_series(ROOT / "bench" / "counts" / f"{Path(bench.__file__).stem}.json")
    assert bench.table(counts) in bench.PAGE.read_text()


def test_the_page_keeps_its_words_around_the_table(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    begin, end = f"<!-- made by {planted.COMMAND} -->", "<!-- end -->"
    page.write_text(f"before\n{begin}\nan old table\n{end}\nafter\n")
    for _ in range(2):
        write_table(page, planted.COMMAND, planted.table({}))
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith(f"{end}\nafter\n")
    assert text.count("`vote-twice`") == 1
    assert "an old table" not in text
