"""``junit.xml``: every check and gate as a test case, so that any CI system shows which one failed.

A violation is a ``failure``. A run that proved nothing (unknown), or whose harness failed, is an ``error``.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from history.records.violations import (
    beside_planted_bug,
    checks_looking,
    finding_name,
    planted_bug_outcome,
    shown_verdict,
    violations_of,
)
from reports.load.check_rows import checks_of
from reports.load.run import HARNESS_FAILURE, LoadedRun, quoted_command
from reports.style.format import xml_text
from reports.text.junit_xml import add_properties, count_cases, write_document


def junit_of(run: LoadedRun) -> ET.Element:
    """Build the document: one suite named after the run."""
    checks = checks_of(run)
    suites = ET.Element("testsuites", name="harness")
    suite = ET.SubElement(
        suites, "testsuite", name=xml_text(run.test), time=f"{run.end / 1e9:.3f}", hostname="localhost"
    )
    if run.started:
        suite.set("timestamp", xml_text(run.started))
    properties = {
        "run": run.name,
        "seed": run.seed,
        "verdict": shown_verdict(run.verdict, planted_bug_outcome(run.plan, run.results)),
        "finding": _finding(run),
        "command": quoted_command(run.plan.get("command")),
    }
    add_properties(suite, {name: value for name, value in properties.items() if value})
    for check in checks:
        _case(suite, check, run)
    if run.failure or not checks:
        case = ET.SubElement(suite, "testcase", classname=xml_text(run.test), name="harness")
        error = HARNESS_FAILURE if run.failure else run.verdict
        ET.SubElement(case, "error", type=error.replace(" ", "-"), message=xml_text(run.sentence))
    count_cases(suite)
    return suites


def _finding(run: LoadedRun) -> str:
    """Return the worst violation, or that a planted bug was missed."""
    worst = next(iter(violations_of(run.results, checks_looking(run.plan))), None)
    broke = run.verdict == HARNESS_FAILURE
    planted_bug = "" if broke else planted_bug_outcome(run.plan, run.results)
    beside = "" if broke else beside_planted_bug(run.plan, run.results)
    return finding_name(worst.severity if worst else "", worst.kind if worst else "", planted_bug, beside)


def _case(suite: ET.Element, check: dict[str, Any], run: LoadedRun) -> None:
    case = ET.SubElement(suite, "testcase", classname=xml_text(run.test), name=xml_text(check.get("name", "check")))
    text = f"asked: {check.get('asked', '')}\nseen: {check.get('seen', '')}"
    if check["state"] == "skipped":
        ET.SubElement(case, "skipped", message=xml_text(check.get("seen", "")))
    elif check["state"] != "valid":
        tag = "failure" if check["state"] == "invalid" else "error"
        element = ET.SubElement(case, tag, type=check["state"], message=xml_text(check.get("seen", "")))
        element.text = xml_text(f"{text}\n{run.sentence}\n{quoted_command(run.plan.get('command'))}".strip())
    else:
        ET.SubElement(case, "system-out").text = xml_text(text)


def write(run: LoadedRun, path: Path) -> None:
    """Write ``junit.xml``.  Raises OSError."""
    write_document(junit_of(run), path)
