"""The tables of suites: what each run was, and how many of how many were contradicted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench import suite_table
from harness.plan import Plan


def attempt(store: Path, run: str, cell: str, verdict: str | None, *kinds: str, outcome: str = "", **plan: Any) -> str:
    folder = store / "a-test" / run
    folder.mkdir(parents=True)
    made = Plan(seed=1, system="rocketmq-controller", **plan)
    (folder / "plan.json").write_text(json.dumps(made.to_json()))
    machine = {"machine": "two cores"}
    return json.dumps(
        {
            "cell": cell,
            "verdict": verdict,
            "kinds": kinds,
            "run": f"a-test/{run}",
            "environment": machine,
            "outcome": outcome,
        }
    )


def test_each_judged_run_is_a_row_with_what_marks_it(tmp_path: Path) -> None:
    jraft = {"mode": "jraft", "snapshot_interval": 5}
    lines = [
        attempt(tmp_path, "one", "twin: x", "invalid", "no-recovery", version="5.2.0", options=jraft),
        attempt(tmp_path, "two", "y", "valid", nemesis=("kill-leader", "bridge")),
        attempt(tmp_path, "broken", "y", None),
        attempt(tmp_path, "ours", "y", "valid", outcome="harness-failure"),
    ]
    suite = tmp_path / "suites" / "s" / "1"
    suite.mkdir(parents=True)
    (suite / "attempts.jsonl").write_text("\n".join(lines) + "\n")
    (suite.parent / "latest").symlink_to("1")
    one, two = suite_table.rows_of(tmp_path)
    assert (one["cell"], one["options"], one["version"], one["faults"]) == ("twin", "mode=jraft", "5.2.0", "none")
    assert (two["cell"], two["options"], two["faults"]) == ("", "", "`kill-leader`, `bridge`")
    assert (one["verdict"], one["kinds"], one["run"]) == ("invalid", ["no-recovery"], "one")


def row(
    version: str, verdict: str, *kinds: str, cell: str = "", options: str = "", faults: str = "`bridge`"
) -> dict[str, Any]:
    named = {"run": "", "cell": cell, "faults": faults, "options": options, "environment": ""}
    return {**named, "version": version, "verdict": verdict, "kinds": list(kinds)}


def test_the_table_counts_by_version_and_says_what_was_broken() -> None:
    rows = [row("2", "valid"), row("2", "invalid", "a", "b"), row("2", "unknown"), row("1", "valid")]
    rows += [row("1", "valid", faults="`reset`"), row("1", "invalid", "c", cell="control", options="planted_bug=x")]
    lines = suite_table.table(rows).splitlines()
    assert lines[0] == "| cell | options | faults | 1 | 2 |"
    assert "|  |  | `bridge` | 0 of 1 | 1 of 3: a 1, b 1; unknown 1 |" in lines
    assert "| control | planted_bug=x | `bridge` | 1 of 1: c 1 |  |" in lines
    assert lines[-1] == "| all |  |  | 0 of 2 | 1 of 3: a 1, b 1; unknown 1 |", "controls are no evidence of the system"


def test_faults_with_the_same_results_share_a_row_and_a_single_row_has_no_sum() -> None:
    rows = [row("1", "valid"), row("1", "valid", faults="`reset`"), row("1", "unknown", options="mode=x")]
    assert suite_table.table(rows).splitlines()[2:] == [
        "|  |  | `bridge`; `reset` | 0 of 1 |",
        "|  | mode=x | `bridge` | 0 of 1; unknown 1 |",
        "| all |  |  | 0 of 2 |",
    ]
