"""What a suite leaves: results, summary, JUnit, a table for CI; and what a person sees meanwhile."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.suite import junit
from harness.suite.expectation import Expectation
from harness.suite.journal import Journal, begin
from harness.suite.markdown import markdown
from harness.suite.outcome import SuiteResults, conclude, summary
from harness.suite.table import ProgressTable, last_line
from tests.support.harness.suite_toys import EXAMPLE, attempt, begun, cell, leave_run

NOW = datetime(2026, 1, 2, tzinfo=UTC)
#: What removes the three lines of the status.
ERASED = "\r\x1b[2K" + 2 * "\x1b[1A\x1b[2K"
PLANTED_BUG = Expectation(("invalid",), ("stale-read",), "planted")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """One cell of every outcome."""
    cells = (cell("good"), cell("bad", 2), cell("green", 3, PLANTED_BUG), cell("doubt", 4), cell("ours", 5),
             cell("left"), cell("never", skip="too slow"), cell("known", 8, PLANTED_BUG))  # fmt: skip
    journal = begin(tmp_path, begun(*cells), NOW)
    run = leave_run(tmp_path, cells[1].plan, verdict="invalid", keys=[{"counterexamples": [EXAMPLE] * 5}])
    for one in (
        attempt("good", run="somewhere/1", environment={"jar_sha256": "ab12"}),
        attempt("bad", "violation", run=str(run.relative_to(tmp_path))),
        attempt("green", "missing-violation"),
        attempt("doubt", "unknown"),
        attempt("ours", "harness-failure", sentence="disk <full> & \x1b[31mred"),
        attempt("ours", "harness-failure", sentence="disk <full> & \x1b[31mred"),
        attempt("known", code=1, verdict="invalid", kinds=("stale-read",), sentence="as expected"),
    ):
        journal.add(one)
    return journal


def results(journal: Journal, **more: str) -> SuiteResults:
    return conclude(journal, 99.0, **more)  # type: ignore[arg-type]


def test_every_cell_is_reported_with_what_it_came_to(journal: Journal) -> None:
    record = results(journal).to_json()
    assert {one["name"]: one["outcome"] for one in record["cells"]} == {
        "good": "passed", "bad": "violation", "green": "missing-violation", "doubt": "unknown",
        "ours": "harness-failure", "left": "not-run", "never": "skipped", "known": "passed",
    }  # fmt: skip
    assert (record["code"], record["retried"]) == (1, 1)
    assert json.loads(json.dumps(record)) == record
    assert all(one["command"].startswith("harness run --seed ") for one in record["cells"])


@pytest.mark.parametrize(
    ("kept", "code"), [(["good"], 0), (["good", "doubt"], 2), (["good", "doubt", "bad"], 1), (["green", "left"], 1)]
)
def test_the_exit_code_is_the_worst(journal: Journal, kept: list[str], code: int) -> None:
    found = results(journal)
    chosen = tuple(one for one in found.cells if one.cell.name in kept)
    assert SuiteResults(journal, chosen, 1.0).code == code


def test_an_interruption_and_a_failure_of_the_suite_itself_have_their_codes(journal: Journal) -> None:
    assert results(journal, why_ended="interrupted").code == 130
    assert SuiteResults(journal, (), 1.0, failure="no nodes").code == 255


def test_a_violation_that_was_proven_outranks_a_failure_of_the_suite_itself(journal: Journal) -> None:
    assert results(journal, failure="no nodes").code == 1


def test_the_summary_says_first_what_is_wrong_and_how_to_do_it_again(journal: Journal) -> None:
    text = summary(results(journal, why_ended="stopped after ours"))
    parts = ["unexpected violations", "expected violations that did not appear", "harness failures",
             "proved nothing", "not run", "cells"]  # fmt: skip
    places = [text.index(f"\n{part}\n") for part in parts]
    assert places == sorted(places)
    assert "again: harness run --seed 2" in text
    assert "1 attempt repeated" in text
    assert "[expected invalid (stale-read)]" in text
    assert "\x1b" not in text


def test_junit_has_a_case_for_each_cell(journal: Journal, tmp_path: Path) -> None:
    junit.write(results(journal), tmp_path, tmp_path / "junit.xml")
    suite = ET.parse(tmp_path / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    found = {
        case.get("name"): [part.tag for part in case if part.tag != "properties"] for case in suite.iter("testcase")
    }
    assert found == {
        "good": ["system-out"], "bad": ["failure"], "green": ["failure"], "doubt": ["error"], "ours": ["error"],
        "left": ["error"], "never": ["skipped"], "known": ["system-out"],
    }  # fmt: skip
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["8", "2", "3", "1"]


def test_junit_shows_how_to_do_it_again_and_draws_the_counterexample(journal: Journal, tmp_path: Path) -> None:
    root = junit.junit_of(results(journal), tmp_path)
    cases = {case.get("name"): case for case in root.iter("testcase")}
    properties = {one.get("name"): one.get("value") for one in cases["bad"].iter("property")}
    assert properties["seed"] == "2"
    assert properties["kinds"] == "stale-read"
    assert properties["run"] == "register-no-fault-0.4.0/20260101T000000.000Z-2"
    assert {one.get("name"): one.get("value") for one in cases["good"].iter("property")}["jar_sha256"] == "ab12"
    failure = cases["bad"].find("failure")
    assert failure is not None
    assert failure.text is not None
    assert failure.text.count("process 2 read 1 although 2 had replaced it") == 3  # of five
    assert "read 1 0." in failure.text
    assert "├──" in failure.text
    assert "again: harness run --seed 2" in failure.text


def test_junit_of_a_suite_that_failed_itself(journal: Journal, tmp_path: Path) -> None:
    suite = junit.junit_of(results(journal, failure="no nodes"), tmp_path).find("testsuite")
    assert suite is not None
    assert suite.get("tests") == "9"
    assert suite.get("errors") == "4"


def test_the_table_for_ci_has_a_row_for_each_cell_and_nothing_in_it_is_markup(journal: Journal) -> None:
    text = markdown(results(journal, why_ended="<b>")).splitlines()
    rows = [line for line in text if line.startswith("| ") and "outcome" not in line]
    assert len(rows) == 8
    assert all(row.count("|") == 8 for row in rows)
    assert "disk &#60;full&#62; &#38; " in "\n".join(rows)
    assert "<b>" not in "".join(text)


# -- the live table ---------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_in_a_log_there_are_rows_only() -> None:
    one, two = cell("one"), cell("two", skip="slow")
    stream = io.StringIO()
    table = ProgressTable([one, two], stream)
    table.begins(one, 1, Path("/none"))
    table.tick()
    table.ended(one, attempt("one", "violation", notes=("n1: left",)), again=False)
    table.skipped(two, "slow")
    lines = stream.getvalue().splitlines()
    assert lines[0].split() == [
        "[",
        "1/2]",
        "violation",
        "20",
        "s",
        "one",
        "invalid",
        "(stale-read);",
        "one",
        "violation",
    ]
    assert lines[1].strip() == "n1: left"
    assert "skipped" in lines[2]
    assert "\x1b" not in stream.getvalue()


def test_on_a_terminal_the_run_under_way_is_drawn_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    log = tmp_path / "log"
    log.write_text("first\n  12.0 s  main  ok 5\x1b[2J\n\n")
    stream, now = Terminal(), [0.0]
    table = ProgressTable([cell("one")], stream, lambda: now[0])
    table.begins(cell("one"), 2, log)
    assert "one  attempt 2" in stream.getvalue()
    assert "12.0 s main ok 5\ufffd[2J" in stream.getvalue()
    before = stream.getvalue()
    table.tick()
    assert stream.getvalue() == before  # too soon
    now[0] = 5.0
    table.tick()
    assert stream.getvalue().count(ERASED) == 1
    table.ended(cell("one"), attempt("one"), again=False)
    assert stream.getvalue().endswith("[  1/1]  passed               20 s  one  valid\n")
    assert stream.getvalue().count(ERASED) == 2


def test_colours_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    ProgressTable([cell("one")], stream).ended(cell("one"), attempt("one", "violation"), again=False)
    assert "\x1b[31mviolation" in stream.getvalue()


@pytest.mark.parametrize("columns", [60, 80])
def test_rows_and_the_living_part_fit_the_terminal(
    tmp_path: Path, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    log = tmp_path / "log"
    log.write_text("warning: " + "x" * 300)
    one = cell("register-" + "kill-leader+" * 5)
    stream = Terminal()
    table = ProgressTable([one], stream)
    table.begins(one, 1, log)
    table.ended(one, attempt(one.name, "violation"), again=False)
    lines = stream.getvalue().replace(ERASED, "\n").splitlines()
    assert len(lines) == 4
    assert max(map(len, lines)) == columns - 1


def test_a_dumb_terminal_gets_rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    table = ProgressTable([cell("one")], stream)
    table.begins(cell("one"), 1, Path("/none"))
    table.ended(cell("one"), attempt("one"), again=False)
    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()


class Gone(Terminal):
    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


def test_a_reader_that_goes_away_costs_the_suite_nothing() -> None:
    table = ProgressTable([cell("one")], Gone())
    table.begins(cell("one"), 1, Path("/none"))
    table.say("n1: left")
    table.ended(cell("one"), attempt("one"), again=False)
    table.skipped(cell("one"), "slow")


@pytest.mark.parametrize(("text", "line"), [("", ""), ("a\n\n", "a"), ("a\nb", "b"), ("x" * 9000 + "\nend", "end")])
def test_the_last_line_of_a_growing_file(tmp_path: Path, text: str, line: str) -> None:
    (tmp_path / "log").write_text(text)
    assert last_line(tmp_path / "log") == line
    assert last_line(tmp_path / "none") == ""
