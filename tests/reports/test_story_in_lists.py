"""The first sentences of a page are those of the list of runs and of the summary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import reports
from harness.judge import conclude
from history import Check, Counterexample, Results, RunFiles
from history.recording import Recording
from history.records.finding import findings_in
from reports.load.run_row import row_of
from reports.text.difference import difference
from tests.support.reports.recorded_runs import recorded_run

SYMPTOM = "n3 and n5 stuck at 2001 of 2038"


def with_story(name: str, below: Path) -> RunFiles:
    """A recorded run whose results hold the story, as they do when this release judges it."""
    files = RunFiles(recorded_run(name, below))
    results = json.loads(files.results.read_text())
    files.results.write_text(json.dumps({**results, **reports.story_of(files)._asdict()}))
    return files


def test_the_list_and_the_comparison_lead_with_what_broke(tmp_path: Path) -> None:
    files = with_story("replica-behind", tmp_path)
    led = "replica behind: n3 stopped applying at 29.3 s, 0.2 s after #1 kill-followers was healed"
    assert row_of(files).sentence.startswith(led)
    assert json.loads(files.results.read_text())["next_step"].startswith(
        "Look at replica progress in the charts around 29.3 s, n3, n5 first"
    )
    other = RunFiles(recorded_run("stale-reads", tmp_path))
    assert difference(files, other).outcome["sentence"][0].startswith(led)
    reports.write_report(files)
    page = files.report.read_text()
    assert page.index("n3 stopped applying") < page.index(SYMPTOM)


def test_a_planted_bug_is_reported_first(tmp_path: Path) -> None:
    planted = with_story("stale-reads", tmp_path)
    results, plan = json.loads(planted.results.read_text()), json.loads(planted.plan.read_text())
    assert plan["planted_bug"]
    assert results["headlines"]
    led = "The harness detected the planted bug stale-reads, as intended. Intended: inconsistent: stale-read"
    assert row_of(planted).sentence.startswith(led)
    older = RunFiles(recorded_run("replica-behind", tmp_path))
    assert SYMPTOM in row_of(older).sentence


def test_the_judge_records_the_headlines_of_a_run_in_which_a_check_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = RunFiles(recorded_run("three-losses", tmp_path))
    before = json.loads(files.results.read_text())

    def judged(verdict: str) -> Results:
        checks = tuple(
            Check(
                **{name: one[name] for name in ("name", "kind", "verdict", "asked", "seen", "words")},
                findings=findings_in(one),
                counterexamples=tuple(map(Counterexample.from_json, one["counterexamples"])),
            )
            for one in before["checks"]
            if verdict == "invalid" or one["verdict"] == "valid"
        )
        return Results(verdict, "", checks, (), {}, (), ())  # type: ignore[arg-type]

    monkeypatch.setattr(
        conclude, "_tables", lambda *_: (type("T", (), {"key_verdicts": (), "faults": []})(), None, False)
    )
    for verdict in ("invalid", "valid"):
        monkeypatch.setattr(conclude, "judge", lambda *_, verdict=verdict: judged(verdict))
        found = conclude.conclude(Recording(files.root), None).results
        written = json.loads(files.results.read_text())["headlines"]
        assert list(found.headlines) == written
        assert written[:1] == [one for one in written if one.startswith("missing on n1, n3, n5 (")]
        assert bool(written) == (verdict == "invalid")
        step = "Read the counterexample of n1, whose reads lacked elements first"
        assert found.next_step == (step if written else "")
        assert (f"\nNext: {step}.\n" in files.summary.read_text()) == bool(written)
