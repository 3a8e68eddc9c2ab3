"""A line of a log that is a violation by itself is shown where it stands, and dated where it has a date."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import reports
from history import RunFiles, node_logs
from history.records.finding import AlarmPattern, Alarms
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.story.breaks import Break
from reports.story.diagnosis import diagnosis_of
from tests.support.reports.checks import recorded
from tests.support.reports.made import Maker
from tests.support.reports.recorded_runs import recorded_run

ALARM = {
    "name": "node-logs", "kind": "check", "verdict": "invalid", "asked": "no such line", "seen": "a digest mismatch",
    **recorded(Alarms(nodes=("n1",), patterns=(AlarmPattern("digest mismatch", ("n1",), "[main]"),))),
}  # fmt: skip
BEFORE = "12 [main] ERROR digest mismatch while loading\n13 INFO following\n"


def reported(fresh: Maker, line: str) -> tuple[Break, str]:
    files = fresh("valid")
    results = json.loads(files.results.read_text())
    files.results.write_text(json.dumps({**results, "verdict": "invalid", "checks": [*results["checks"], ALARM]}))
    for node in ("n1", "n2"):
        (files.nodes / node / "register.log").write_text(BEFORE + line)
    found = diagnosis_of(prepare(read_run(files)))
    assert found is not None
    assert reports.write_report(files).warnings == []
    return found.breaks[0], files.report.read_text().partition('id="invariant-1"')[2].partition("</section>")[0]


def test_a_dated_line_dates_the_finding_and_its_fold(fresh: Maker) -> None:
    broken, section = reported(fresh, "2026-03-01 02:00:07.500+0000 ERROR digest mismatch on 7\nafter it\n")
    assert broken.onset == pytest.approx(7.5)
    assert broken.nodes == ("n1",)
    assert broken.whole.startswith("node-logs: a digest mismatch; first seen at 7.5 s, ")
    assert '<details class="excerpt" data-at="7.5"><summary>n1, 7.5 s: line 3 of register.log' in section
    assert "after it" in section
    assert section.count("<details") == 1, "neither n2's nor the line that the alarm leaves out"


def test_a_line_without_a_date_is_known_by_its_place(fresh: Maker) -> None:
    broken, section = reported(fresh, "640 ERROR digest mismatch on 7\n")
    assert broken.onset is None
    assert broken.whole == "node-logs: a digest mismatch; line 3 of n1's register.log, which has no dates."
    assert "<summary>n1, a line without a date: line 3 of register.log" in section


def test_a_log_without_the_line_shows_none(fresh: Maker) -> None:
    """As where it was rotated away: the check counted what the server did."""
    broken, section = reported(fresh, "640 INFO all is well\n")
    assert broken.whole == "node-logs: a digest mismatch."
    assert "<details" not in section


def test_a_zone_without_a_colon_is_read() -> None:
    line = "2026-03-01 03:00:07.500+0100 [main] ERROR x"
    assert node_logs.seconds_of(line, "2026-03-01T02:00:00Z") == pytest.approx(7.5)
    assert node_logs.seconds_of("7500 [main] ERROR x", "2026-03-01T02:00:00Z") is None


def test_a_node_that_logged_an_alarm_and_lacks_nothing_is_said_to_be_healthy(tmp_path: Path) -> None:
    """A follower logs the line as well where the leader's tree is the wrong one."""
    found = diagnosis_of(prepare(read_run(RunFiles(recorded_run("three-losses", tmp_path)))))
    assert found is not None
    (alarm,) = (one for one in found.breaks if one.severity == "alarm")
    assert (
        "on n1, n2, n3, n4, n5 (the node's tree and the leader's differ, and either may be the wrong one)" in alarm.text
    )
    assert alarm.detail == "n2 and n4 logged it too, and no check found that anything is missing there."


def test_an_alarm_says_nothing_of_healthy_nodes_where_the_one_that_logged_it_lacks_elements(tmp_path: Path) -> None:
    found = diagnosis_of(prepare(read_run(RunFiles(recorded_run("element-lost", tmp_path)))))
    assert found is not None
    assert [one.detail for one in found.breaks if one.severity == "alarm"] == [""]
