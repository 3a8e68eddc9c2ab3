"""A node that does not start again: by the run's own record, or by the last lines of its log; and what is none."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import reports
from history import Probe, RunFiles
from history.records.finding import Comeback
from reports.analysis.failed_starts import failed_starts
from reports.analysis.findings import prepare
from reports.load.run import LoadedRun, read_run
from reports.story.diagnosis import Diagnosis, diagnosis_of
from tests.support.reports.checks import recorded
from tests.support.reports.made import Maker

S = 10**9
ENDING = """9642 [main] INFO SnapStream - compression.method = CHECKED
10229 [main] ERROR QuorumPeer - Unable to load database on disk
java.lang.RuntimeException: Unable to run quorum server
\tat org.example.Main.main(Main.java:91)
Caused by: java.io.IOException: No snapshot found, but there are log entries
10270 [main] ERROR ServiceUtils - Exiting JVM with code 1
"""
QUIET = "".join(f"{number} [main] INFO Server - following\n" for number in range(60))
CAUSE = "java.io.IOException: No snapshot found, but there are log entries"


def silent_after(files: RunFiles, since: int) -> None:
    """n3 gives no answer any more; the recovery check names it."""
    header, *lines = files.probes.read_text().splitlines()
    probes = [json.loads(line) for line in lines]
    gone = [
        Probe(one["time"], "n3", error="refused").to_json() if one["node"] == "n3" and one["time"] > since else one
        for one in probes
    ]
    files.probes.write_text("\n".join([header, *map(json.dumps, gone)]) + "\n")
    results = json.loads(files.results.read_text())
    for check in results["checks"]:
        if check["name"] == "recovery":
            check |= recorded(Comeback(healed_ns=0, nodes=("n3",), behind=("n3",)))
    files.results.write_text(json.dumps(results))


def a_run(fresh: Maker, log: str = ENDING, since: int = 4 * S) -> LoadedRun:
    """A run whose fault at n3 stood from 5 to 8 s, and whose healing started n3 again."""
    files = fresh("no-recovery")
    silent_after(files, since)
    (files.nodes / "n3" / "register.log").write_text(log)
    run = read_run(files)
    last = run.receipts[-1]
    struck = replace(
        last, id=9, nodes=("n3",), started=5 * S, heal_started=7 * S, healed=8 * S, witness={"pids_now": {"n3": 41}}
    )
    return replace(run, receipts=[struck])


def reported(run: LoadedRun) -> Diagnosis:
    found = diagnosis_of(prepare(run))
    assert found is not None
    assert run.notes.warnings == []
    return found


def test_a_server_that_was_started_and_ended_is_named_with_the_root_of_its_exception(fresh: Maker) -> None:
    diagnosed = reported(a_run(fresh))
    text = diagnosed.breaks[0].text
    assert text.startswith("n3 does not start again: n3 gave its last answer at ")
    assert text.endswith(f"; the end of its log says: {CAUSE}")
    assert diagnosed.step == f"Read the last lines of the register.log of n3, which does not start again: {CAUSE}"
    assert (diagnosed.place, diagnosed.at) == ("recovery", 8.0)


@pytest.mark.parametrize(
    ("log", "since"),
    [(QUIET, 4 * S), (ENDING + QUIET, 4 * S), (ENDING, 9 * S), (ENDING, 1000 * S)],
    ids=["no error", "errors of an earlier start", "it had answered after its start", "it answers at the end"],
)
def test_it_is_not_said_of_a_node_of_which_nothing_shows_it(fresh: Maker, log: str, since: int) -> None:
    run = a_run(fresh, log, since)
    assert failed_starts(run, prepare(run).timelines) == []


def test_what_the_harness_recorded_counts_also_where_no_log_was_collected(fresh: Maker) -> None:
    run = a_run(fresh, QUIET)
    recorded = replace(run, state={**run.state, "died_starting": ["n3"]}, receipts=[])
    assert reported(recorded).breaks[0].text.startswith("n3 does not start again: ")
    other = replace(recorded, state={"died_starting": ["n2"]})
    assert "not start" not in reported(other).breaks[0].text, "n2 answers"


def test_a_dated_line_gives_the_moment_and_loses_its_date(fresh: Maker) -> None:
    run = a_run(fresh, "2026-03-01 02:00:07.500 ERROR main - Fail to load snapshot from /data\nSocket closed\n")
    diagnosed = reported(run)
    assert diagnosed.at == pytest.approx(7.5)
    assert diagnosed.step.endswith(": ERROR main - Fail to load snapshot from /data")


@pytest.mark.parametrize(
    ("stamp", "said"),
    [
        ("2026-03-01 02:00:07.500", " (7.5 s)"),
        ("2026-03-01 02:59:07.500", " (3547.5 s, after the end of the record)"),
        ("", ""),
    ],
)
def test_the_end_of_a_log_is_dated_in_seconds_of_the_run(fresh: Maker, stamp: str, said: str) -> None:
    """It need not be of the time of the node's last answer: the harness may start a server after the end."""
    trace = "java.lang.RuntimeException: first\n\tat org.example.main\nCaused by: java.io.IOException: x\n"
    text = reported(a_run(fresh, f"{stamp} ERROR main - failed to start\n{trace}")).breaks[0].text
    assert f"; the end of its log{said} says: java.io.IOException: x" in text


def test_the_page_has_the_lines_that_next_opens(fresh: Maker) -> None:
    files = a_run(fresh).files
    state = json.loads(files.state.read_text())
    files.state.write_text(json.dumps({**state, "died_starting": ["n3"]}))
    assert reports.write_report(files).warnings == []
    page = files.report.read_text()
    at = page.partition('class="next"')[2].partition('data-at="')[2].partition('"')[0]
    fold = page.partition('id="recovery"')[2].partition(f'<details class="excerpt" data-at="{at}">')[2]
    assert fold.startswith("<summary>n3 does not start again: the last 6 lines of its register.log")
    assert "Exiting JVM with code 1" in fold.partition("</details>")[0]


def test_a_fault_that_was_never_healed_is_not_said_to_have_been(fresh: Maker) -> None:
    files = fresh("no-recovery")
    reports.write_report(files)
    assert "The last fault was healed at " in files.report.read_text()
    lines = files.history.read_text().splitlines()
    healing = max(n for n, line in enumerate(lines) if '"nemesis"' in line and '"type":"ok"' in line)
    files.history.write_text("\n".join([*lines[:healing], *lines[healing + 1 :]]) + "\n")
    reports.write_report(files)
    assert "Never healed: #" in files.report.read_text()
    assert "The last fault was healed" not in files.report.read_text()
