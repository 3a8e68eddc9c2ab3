"""What a run without a violation says of itself: by its receipts and its history, counted by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import reports
from history import RunFiles
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.story.scope import scope_of
from reports.style.format import number
from tests.support.reports.made import Maker
from tests.support.reports.raw import Raw, S
from tests.support.reports.recorded_runs import recorded_run


def test_operations_under_faults_are_counted_by_the_history(tmp_path: Path) -> None:
    root = recorded_run("stuck-in-ring", tmp_path)
    receipts = json.loads((root / "results.json").read_text())["receipts"]
    spans = [(one["stood"] / S, one["heal_started"] / S) for one in receipts if one["state"] == "installed"]
    operations, open_ones = [], dict[Any, float]()
    raw = Raw(root)
    for event in raw.events:
        if event["process"] == "nemesis":
            continue
        if event["type"] == "invoke":
            open_ones[event["process"]] = event["time"] / S
        else:
            operations.append((open_ones.pop(event["process"]), event["time"] / S, event["type"]))
    operations += [(begun, raw.end, "info") for begun in open_ones.values()]
    under = [one for one in operations if any(one[0] < stop and one[1] > start for start, stop in spans)]
    ok = sum(kind == "ok" for *_, kind in under)
    found = scope_of(prepare(read_run(RunFiles(root))))
    rows = dict(found.rows)
    assert len(spans) == 3
    assert rows["faults injected"] == "partition-majorities-ring 3"
    assert rows["operations during faults"] == (
        f"{number(len(under))} of {number(len(operations))}, {number(ok)} of them ok"
    )
    assert f"{len(under) / len(operations) * 100:.0f} % of operations" in found.sentence


def test_a_skipped_fault_ends_no_reads_after_a_heal(tmp_path: Path) -> None:
    drawn = prepare(read_run(RunFiles(recorded_run("stuck-in-ring", tmp_path))))
    reads = dict(scope_of(drawn).rows)["reads after each heal"]
    last = drawn.windows[-1]
    assert last.healed is not None
    drawn.windows.append(replace(last, id=99, started=last.healed + 0.001, state="skipped"))
    assert dict(scope_of(drawn).rows)["reads after each heal"] == reads
    drawn.windows[-1] = replace(drawn.windows[-1], state="indeterminate")
    assert dict(scope_of(drawn).rows)["reads after each heal"].startswith("at least 0 (after ")


def test_a_fault_that_was_active_is_not_among_what_was_not_tested(tmp_path: Path) -> None:
    drawn = prepare(read_run(RunFiles(recorded_run("stuck-in-ring", tmp_path))))
    last = drawn.windows[-1]
    drawn.windows.append(replace(last, id=98, state="skipped"))
    drawn.windows.append(replace(last, id=99, fault="kill-leader", state="skipped"))
    rows = dict(scope_of(drawn).rows)
    assert last.fault in rows["faults injected"]
    assert "1 more skipped" in rows["faults injected"]
    assert last.fault not in rows["not tested"]
    assert "kill-leader" in rows["not tested"]


def test_a_run_without_a_fault_shows_only_that(fresh: Maker) -> None:
    """And of a fault that was asked for and never stood nothing is claimed either."""
    files = fresh("valid")
    drawn = prepare(read_run(files))
    assert "none" not in scope_of(drawn).sentence
    drawn.windows.clear()
    assert scope_of(drawn).sentence.startswith("No fault was injected: this shows only ")
    assert "faults injected" not in dict(scope_of(drawn).rows)


@pytest.mark.parametrize(("kind", "told"), [("valid", True), ("invalid", False)])
def test_a_page_says_what_was_tested_where_nothing_was_found(fresh: Maker, kind: str, told: bool) -> None:
    files = fresh(kind)
    results = json.loads(files.results.read_text())
    skipped = {"name": "read-back", "kind": "gate", "verdict": "valid", "asked": "asked", "seen": "nothing to read"}
    why = {"type": "Skipped", "check": "read-back", "why": "nothing to read"}
    results["checks"].append({**skipped, "findings": [why]})
    files.results.write_text(json.dumps(results))
    reports.write_report(files)
    page = files.report.read_text()
    assert ("<dt>not tested</dt>" in page) == told
    assert ("read-back (nothing to read)" in page) == told
