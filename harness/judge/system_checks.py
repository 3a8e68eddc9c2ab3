"""The checks that a system provides: its invariants, and checks for workloads that no model judges.

They are third-party functions.  One that fails or returns no check becomes an unknown check that names it: it never
crashes the judge, and never makes a run valid.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import get_args

from harness.systems.api import Evidence, Invariant
from history import Check, Verdict
from history.records.finding import Finding


def own_checks(functions: Iterable[Invariant], evidence: Evidence, others: Iterable[Check]) -> list[Check]:
    """Return the checks that these functions make from the evidence.

    Names of checks are unique, so a name that ``others`` already use gets a number.
    """
    names, checks = {check.name for check in others}, []
    for check in (_made(function, evidence) for function in functions):
        name, number = check.name, 2
        while name in names:
            name, number = f"{check.name}-{number}", number + 1
        names.add(name)
        checks.append(replace(check, name=name))
    return checks


def _made(function: Invariant, evidence: Evidence) -> Check:
    name = getattr(function, "__name__", type(function).__name__).strip("_<>").replace("_", "-")
    try:
        check = function(evidence)
    except Exception as error:  # noqa: BLE001 (see above)
        return _unknown(name, f"{name} failed: {type(error).__name__}: {error}")
    if not isinstance(check, Check) or check.verdict not in get_args(Verdict):
        return _unknown(name, f"{name} returned no check: {str(check)[:100]}")
    if not _are_findings(check.findings):
        return _unknown(name, f"{name} returned findings of another type: {str(check.findings)[:100]}")
    return replace(check, kind="check")


def _are_findings(findings: object) -> bool:
    return isinstance(findings, tuple) and all(isinstance(finding, Finding) for finding in findings)


def _unknown(name: str, summary: str) -> Check:
    return Check(name, "check", "unknown", "a check of the system's own", summary)
