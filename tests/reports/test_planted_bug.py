"""A run with a planted bug: found as intended, or the harness is blind; never a broken promise of the system."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from msgspec import structs

import reports
from history import RunFiles
from history.records.finding import FaultCount, ViolationTimes
from history.records.violations import MORE_FOUND, verdict_words
from reports.analysis.findings import prepare, violation_times_of
from reports.analysis.invariant_violations import invariant_violations
from reports.analysis.trend_rows import Trends
from reports.analysis.trends import groups_of, strip
from reports.load.run import read_run
from reports.load.run_row import row_of
from reports.page.context import sections_of
from reports.site import site
from reports.story.diagnosis import Diagnosis, diagnosis_of
from reports.story.planted_bug import grouped, meaning_of, verdict_shown, word_of
from reports.text import junit
from tests.support.reports.checks import DELETED, recorded
from tests.support.reports.made import Maker
from tests.support.reports.recorded_runs import recorded_run


def with_planted_bug(files: RunFiles) -> RunFiles:
    plan = json.loads(files.plan.read_text())
    files.plan.write_text(json.dumps({**plan, "planted_bug": "stale-reads"}))
    return files


@pytest.mark.parametrize(
    ("kind", "word", "meaning"),
    [
        ("invalid", "Invalid, as intended", "The harness detected the planted bug stale-reads, as intended"),
        ("valid", "Missed: the planted bug was not found", "The planted bug stale-reads was not found"),
        ("no-recovery", "Invalid: the planted bug was not found", "The planted bug stale-reads was not found"),
        ("unknown", "Unknown: the planted bug was not found", "The planted bug stale-reads was not found"),
        ("harness-failure", "Harness failure", "The harness broke down"),
    ],
)
def test_what_a_verdict_means_when_the_bug_is_planted(fresh: Maker, kind: str, word: str, meaning: str) -> None:
    files = fresh(kind)
    plain = read_run(files)
    assert ("planted" in word_of(plain), "planted" in meaning_of(plain)) == (False, False)
    planted = read_run(with_planted_bug(files))
    assert word_of(planted) == word
    assert meaning_of(planted).startswith(meaning)
    assert "broke a promise" not in meaning_of(planted)
    reports.write_report(files)
    assert f'<h1 id="verdict-word">{word}</h1>' in files.report.read_text()
    assert reports.render_run(files).splitlines()[0] == word.upper()


def test_every_text_begins_with_what_the_planted_bug_alone_does_not_explain(fresh: Maker) -> None:
    """Its next step is there, too; the twin in which only the planted bug was found leads to its counterexample."""
    files = with_planted_bug(fresh("invalid"))
    alone = read_run(files)
    assert word_of(alone) == "Invalid, as intended"
    assert diagnosed(files).place == "counterexample"
    row = row_of(files)
    assert (row.shown, row.beside, row.group) == ("as intended", "", "planted bug found")
    assert row.finding.startswith("as intended: ")
    results = json.loads(files.results.read_text())
    results["checks"].append({"kind": "check", "verdict": "invalid", "asked": "asked", **DELETED})
    files.results.write_text(json.dumps(results))
    run, row = read_run(files), row_of(files)
    words = "invalid: the planted bug, and another violation"
    assert verdict_words(run.verdict, run.plan, run.results) == words
    assert (row.beside, row.group) == ("data lost: committed-entries-deleted", "planted bug found, and more")
    assert row.shown == "invalid", "what else was found may be about the system"
    (group,) = groups_of([replace(row, version="0.4.0 planted-bug stale-reads")])
    (dot,) = strip(group)[0]
    assert (dot.verdict, f"planted bug found, {MORE_FOUND}, " in dot.text) == ("invalid", True)
    assert group.samples[0].shown == "invalid"
    cell = site.trends_page([row], Trends((group,), (), ""))
    assert "1 and more was found</span>" in cell
    assert " as intended<" not in cell
    assert row.finding == "as intended, and more was found: data lost: committed-entries-deleted"
    assert "more was found: data lost" in site.list_page([row])
    assert reports.render_run(files).splitlines()[0] == words.upper()
    found = diagnosed(files)
    assert (found.place, found.breaks[0].place) == ("invariant-1", "counterexample")
    junit.write(read_run(files), files.junit)
    assert f'name="finding" value="{row.finding}"' in files.junit.read_text()
    files.plan.write_text(json.dumps({**run.plan, "planted_bug": ""}))
    assert (row_of(files).beside, row_of(files).finding) == ("", "data lost: committed-entries-deleted")


def test_of_a_run_that_was_not_judged_nothing_is_said_to_be_missed(fresh: Maker) -> None:
    files = with_planted_bug(fresh("valid"))
    assert "was not found" in meaning_of(read_run(files))
    files.results.unlink()
    run = read_run(files)
    assert word_of(run) == "Unknown"
    assert meaning_of(run).endswith("The run was not judged, so whether it was found is unknown.")


def test_what_was_found_though_not_the_planted_bug_is_named(fresh: Maker) -> None:
    row = row_of(with_planted_bug(fresh("no-recovery")))
    assert (row.shown, row.finding) == ("invalid", "planted bug not found; replica behind")
    assert row_of(with_planted_bug(fresh("unknown"))).finding == "planted bug not found"


def test_a_missed_bug_is_shown_as_missed_everywhere_and_blames_no_blindness_that_is_not_known(fresh: Maker) -> None:
    files = with_planted_bug(fresh("valid"))
    plan = json.loads(files.plan.read_text())
    files.plan.write_text(json.dumps({**plan, "planted_bug_found_by": ["linearizable", "replicas-agree"]}))
    run, row = read_run(files), row_of(files)
    assert (run.verdict, verdict_shown(run), row.verdict, row.shown) == ("valid", "missed", "valid", "missed")
    assert "either it did not, or the harness is blind" in meaning_of(run)
    reports.write_report(files)
    page = files.report.read_text()
    assert 'class="banner missed"' in page
    assert "Valid" not in page.partition("<main>")[2].partition("<table")[0]
    assert "<strong>Next:</strong> Run it again with other seeds and for longer; while no" in page
    assert '<dt>checks for the planted bug</dt><dd class="mono">linearizability</dd>' in page
    assert "planted_bug_found_by" not in page
    text = reports.render_run(files, colour=True)
    assert text.startswith("\x1b[31mMISSED: THE PLANTED BUG WAS NOT FOUND\x1b[0m")
    assert "\nNext: Run it again with other seeds" in text
    assert '<td class="verdict missed nowrap">missed</td>' in site.list_page([row])
    (group,) = groups_of([replace(row, version="0.4.0 planted-bug stale-reads")])
    assert [dot.verdict for dot in strip(group)[0]] == ["missed"]


def test_faults_that_did_not_stand_are_named_where_the_bug_was_missed(fresh: Maker) -> None:
    run = read_run(with_planted_bug(fresh("valid")))
    skipped = replace(run.receipts[0], state="skipped", witness={})
    reported = meaning_of(replace(run, receipts=[skipped, *run.receipts[1:]]))
    assert f"Of {len(run.receipts)} fault 1 was skipped (#{skipped.id} {skipped.fault} skipped)" in reported
    doubtful = replace(run.receipts[0], id=7, state="indeterminate")
    reported = meaning_of(replace(run, receipts=[doubtful, skipped, replace(skipped, id=8)]))
    assert "Of 3 faults 2 were skipped and 1 may not have taken effect (#7 " in reported
    assert "Of 1 fault 1 may not have taken effect (#7 " in meaning_of(replace(run, receipts=[doubtful]))
    stood = [one for one in run.receipts if one.state == "installed"]
    assert "may not have taken effect" not in meaning_of(replace(run, receipts=stood))


def test_what_the_planted_bug_was_not_to_break_is_distinguished(fresh: Maker) -> None:
    """Committed entries that are gone from a log are worse, and no stale read removes them."""
    files = with_planted_bug(fresh("invalid"))
    results = json.loads(files.results.read_text())
    assert "this says nothing about the system under test" in meaning_of(read_run(files))
    assert [title for title, _ in grouped(read_run(files), diagnosed(files).breaks)] == ["Planted stale-reads"]
    deleted = {"kind": "check", "verdict": "invalid", "asked": "asked", **DELETED}
    results["checks"].insert(0, deleted)
    files.results.write_text(json.dumps(results))
    run = read_run(files)
    reported = grouped(run, diagnosed(files).breaks)
    assert [title for title, _ in reported] == [
        "Planted stale-reads",
        "Also found, which the planted bug may or may not explain",
    ]
    assert [one.checks for _, ones in reported for one in ones][1:] == [("committed-kept",)]
    assert "this says nothing" not in meaning_of(run)
    assert "also failed, which may be about the system under test" in meaning_of(run)
    assert sections_of(reported, invariant_violations(prepare(run)))[:2] == ["counterexample", "invariant-1"]
    reports.write_report(files)
    banner = files.report.read_text().partition('class="banner')[2].partition("</section>")[0]
    parts = (
        "Planted stale-reads:",
        "#counterexample",
        "Also found, which the planted bug may or may not explain:",
        "Data lost</a>: committed",
    )
    places = [banner.index(text) for text in parts]
    assert places == sorted(places)
    text = reports.render_run(files)
    other = "\nAlso found, which the planted bug may or may not explain:\ndata lost: committed"
    assert text.index("\nPlanted stale-reads:\n") < text.index(other)
    assert row_of(files).kind != "committed-entries-deleted"


def diagnosed(files: RunFiles) -> Diagnosis:
    found = diagnosis_of(prepare(read_run(files)))
    assert found is not None
    return found


WHEN = "9 in the main phase; between the contradicted change and the answer, #2 bridge was active for 4, no fault for 5"


def test_when_violations_were_seen_is_reported_where_it_was_counted(fresh: Maker) -> None:
    files = fresh("invalid")
    results = json.loads(files.results.read_text())
    assert violation_times_of(read_run(files)) == ""
    times = ViolationTimes(
        check="linearizable", of=9, counted=9, phases={"main": 9}, faults=(FaultCount(2, "bridge", 4),), calm=5
    )
    results["checks"][0] |= recorded(times)
    files.results.write_text(json.dumps(results))
    assert violation_times_of(read_run(files)) == WHEN
    reports.write_report(files)
    assert f"When: {WHEN}." in files.report.read_text()
    results["checks"][0] |= recorded(structs.replace(times, of=12))
    files.results.write_text(json.dumps(results))
    assert violation_times_of(read_run(files)).startswith(f"9 of these are dated: {WHEN}")


def test_the_terminal_says_so_too(fresh: Maker) -> None:
    text = reports.render_run(with_planted_bug(fresh("invalid")))
    assert text.startswith("INVALID, AS INTENDED\nThe harness detected the planted bug stale-reads")
    assert "planted" not in reports.render_run(fresh("no-recovery"))


def test_the_page_says_what_the_bug_does_and_how_to_look_for_longer(fresh: Maker) -> None:
    """Of one that was missed; one that was found needs no other run, and without a bug there is none to tell of."""

    def head(kind: str, planted_bug: str) -> str:
        files = fresh(kind)
        plan = json.loads(files.plan.read_text())
        command = "harness run --seed 7 --nemesis kill --time-limit 40 --unsafe-test-mode --planted-bug lose-write"
        files.plan.write_text(json.dumps({**plan, "planted_bug": planted_bug, "command": command, "time_limit": 40}))
        results = json.loads(files.results.read_text())
        reported = {"planted_bug": "one write in a thousand is not applied"} if planted_bug else {}
        environment = {**results["environment"], **reported}
        files.results.write_text(json.dumps({**results, "environment": environment}))
        assert reports.write_report(files).warnings == []
        text = files.report.read_text().partition('id="verdict"')[2].partition("</section>")[0]
        shutil.rmtree(files.root)
        return text

    longer = "<code>harness run --nemesis kill --unsafe-test-mode --planted-bug lose-write --time-limit 200</code>"
    does = "Planted: lose-write: one write in a thousand is not applied."
    missed, found, plain = head("valid", "lose-write"), head("invalid", "lose-write"), head("valid", "")
    assert (does in missed, longer in missed) == (True, True)
    assert (does in found, longer in found) == (True, False)
    assert ("Planted" in plain, longer in plain) == (False, False)


@pytest.mark.parametrize(("name", "recorded"), [("stale-reads", True), ("ledgers-lost", False)])
def test_the_page_says_what_the_planted_bug_does_if_that_is_recorded(name: str, recorded: bool, tmp_path: Path) -> None:
    files = RunFiles(recorded_run(name, tmp_path))
    does = json.loads(files.results.read_text())["environment"].get("planted_bug")
    assert (does is not None) == recorded
    reports.write_report(files)
    page = unescape(files.report.read_text())
    assert ("Planted: " in page) == recorded
    assert str(does or "The harness detected the planted bug") in page
    assert "No known defects" not in page
