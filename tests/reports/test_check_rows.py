"""The rows of checks on recorded runs: alike for every release that judged them, and no check mark beside a break."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import reports
from harness.judge.judge import linearizability, settled
from harness.workloads import elements_check
from history import KeyVerdict, Operation, RunFiles
from history.records.verdicts import KindCount
from history.records.violations import contents_differ
from reports.load.check_rows import DIFFER, checks_of, logs_gone
from reports.load.run import read_run
from tests.support.reports.recorded_runs import RUNS, recorded_run


def states_of(root: Path) -> dict[str, str]:
    return {row["name"]: row["state"] for row in checks_of(read_run(RunFiles(root)))}


@pytest.mark.parametrize("name", RUNS)
def test_a_gate_that_had_nothing_to_ask_is_skipped_whichever_release_judged_it(name: str, tmp_path: Path) -> None:
    """Those of November 23rd say so in words alone, and one recorded later by a detail."""
    root = recorded_run(name, tmp_path)
    states, results = states_of(root), json.loads((root / "results.json").read_text())
    checks = {one["name"]: one for one in results["checks"]}
    exempt = all(one["exempt"] for one in checks["under-fault"]["findings"][0].get("faults", ()))
    assert (states["under-fault"] == "skipped") == exempt
    unasked = checks["read-back"]["seen"] == "under no fault could one be acknowledged"
    assert (states["read-back"] == "skipped") == unasked
    assert exempt == unasked == (name in {"ledgers-kept", "ledgers-lost", "stale-reads"})


@pytest.mark.parametrize("name", ["element-lost", "three-losses"])
def test_recovery_is_no_check_mark_where_what_nodes_hold_differs(name: str, tmp_path: Path) -> None:
    root = recorded_run(name, tmp_path)
    assert states_of(root)["recovery"] == DIFFER
    reports.write_report(RunFiles(root))
    row = RunFiles(root).report.read_text().partition('<details class="chip contents-differ"')[2].partition("</dl>")[0]
    assert "≠</span> recovery" in row
    assert "it does not require equal contents, and they differ: elements" in row
    text = reports.render_run(RunFiles(root))
    assert next(line.split()[:2] for line in text.splitlines() if " recovery " in line) == ["≠", "recovery"]


@pytest.mark.parametrize("name", RUNS)
def test_the_summary_lists_what_failed_first(name: str, tmp_path: Path) -> None:
    root = recorded_run(name, tmp_path)
    results = json.loads((root / "results.json").read_text())
    checks = reports.render_run(RunFiles(root)).split("\n\n")[1].splitlines()
    marks = [line[2] for line in checks if line[2] != " "]
    assert len(marks) == len(results["checks"])
    assert marks == sorted(marks, key="✕?≠–✓".index)


@pytest.mark.parametrize("name", ["logs-cut", "replica-behind", "data-lost"])
def test_recovery_is_what_it_was_where_contents_do_not_differ(name: str, tmp_path: Path) -> None:
    root = recorded_run(name, tmp_path)
    results = json.loads((root / "results.json").read_text())
    assert contents_differ(results["checks"]) == []
    assert states_of(root)["recovery"] == next(one["verdict"] for one in results["checks"] if one["name"] == "recovery")


def test_what_some_nodes_lack_and_others_have_is_not_lost() -> None:
    added = [Operation(0, "add", "s", value, None, "ok", value, value, value, value) for value in (1, 2)]

    def severities(*held: list[int]) -> set[str]:
        reads = [
            Operation(0, "read", "s", None, answer, "ok", 10 + at, 10 + at, 10 + at, 10 + at, f"n{at}", phase="final")
            for at, answer in enumerate(held)
        ]
        clients = KeyVerdict("s", "invalid", "set sweep", 4, 0.0, 1, kinds=(KindCount("lost-element", 1),))
        checks = settled([linearizability([clients], 4, None), elements_check([*added, *reads])])
        return {one.severity for check in checks for one in check.findings if one.kind == "lost-element"}

    assert severities([1], [1, 2]) == {"missing on nodes"}
    assert severities([1], [1]) == {"data lost"}
    assert severities([1], [2], [2]) == {"missing on nodes"}
    assert severities([1, 2]) == {"inconsistent"}, "some read lacked it, and no last one does"
    assert severities() == {"data lost"}, "nobody read it at the end"


def test_logs_that_were_read_and_are_not_there_any_more_are_said_so(tmp_path: Path) -> None:
    """A check mark and *5 logs read* stood on a page that holds none of them."""
    root = recorded_run("logs-cut", tmp_path)
    said = "5 logs read; the logs were read when the run was judged, but are no longer in its directory"
    assert {row["name"]: row["seen"] for row in checks_of(read_run(RunFiles(root)))}["node-logs"] == said
    reports.write_report(RunFiles(root))
    page = RunFiles(root).report.read_text()
    assert "No log was collected" not in page
    assert "The logs were read when the run was judged, but its directory no longer has them." in page
    (root / "nodes" / "n1").mkdir(parents=True)
    (root / "nodes" / "n1" / "server.log").write_text("a line\n")
    assert {row["name"]: row["seen"] for row in checks_of(read_run(RunFiles(root)))}["node-logs"] == "5 logs read"


@pytest.mark.parametrize("name", ["element-lost", "epoch-granted-twice", "ledgers-kept"])
def test_of_logs_that_are_there_nothing_of_that_kind_is_said(name: str, tmp_path: Path) -> None:
    run = read_run(RunFiles(recorded_run(name, tmp_path)))
    assert logs_gone(run) == (name == "ledgers-kept")
