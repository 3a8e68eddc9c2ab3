"""Runs with failed checks of nodes."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from history import Counterexample, RunFiles
from history.records.finding import EntriesDeleted, Fall, Finding, contradictions_of_keys
from history.records.verdicts import count_kinds
from history.records.violations import LINEARIZABLE
from reports.analysis.findings import Drawn, prepare
from reports.load.run import read_run

S = 10**9


def with_checks(files: RunFiles, *checks: dict[str, Any]) -> Drawn:
    results = json.loads(files.results.read_text())
    plain = {"kind": "check", "verdict": "invalid", "asked": "asked", "seen": "seen"}
    results.update(verdict="invalid", checks=[{**plain, **check} for check in checks])
    files.results.write_text(json.dumps(results))
    return prepare(read_run(files))


def count_again(results: dict[str, Any]) -> None:
    """Count the violations of all keys as the judge does, after a test changed their counterexamples."""
    counted = []
    for key in results["keys"]:
        dated = [(one.kind, one.completed_at) for one in map(Counterexample.from_json, key["counterexamples"])]
        counted.append((key["key"], count_kinds(dated, len(dated)), False))
        key["violations"] = len(dated)
    (check,) = (one for one in results["checks"] if one["name"] in LINEARIZABLE)
    check["findings"] = msgspec.to_builtins(contradictions_of_keys(check["name"], counted))


def recorded(finding: Finding) -> dict[str, Any]:
    """Return the part of a check's record that holds this finding."""
    return {"findings": [msgspec.to_builtins(finding, str_keys=True)]}


FALLS = (Fall("n1", 7 * S + S // 2, 5, 90), Fall("n2", 2 * S, -1, 60))
DELETED: dict[str, Any] = {
    "name": "committed-kept",
    "seen": "n1's log ended at 5 although 90 had been committed there; n2's log ended at -1",
    **recorded(
        EntriesDeleted(severity="data lost", moments=(Fall("n1", 7 * S + S // 2, 5, 90), Fall("n2", 2 * S, -1, 60)))
    ),
}
