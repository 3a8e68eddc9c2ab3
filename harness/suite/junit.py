"""``junit.xml`` of a suite: one test case for each cell.

A violation, or an expected violation that did not appear, is a ``failure``.  A run that proved nothing, or a harness
failure, is an ``error``.  A cell that is listed but not meant to run is ``skipped``.  The properties hold the command,
the seed, the path of the run, and the environment from its results.  Counterexamples are drawn as text.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Final

from harness.files import wording_of
from harness.store import read_object_if_any
from harness.suite.expectation import Outcome
from harness.suite.outcome import CellResult, SuiteResults
from history import RunFiles
from history.records.violations import counterexamples_of
from reports.style.format import xml_text
from reports.text.junit_xml import add_properties, count_cases, write_document
from reports.text.text_diagram import draw

_TAG: Final[dict[Outcome, str]] = {
    "violation": "failure",
    "missing-violation": "failure",
    "unknown": "error",
    "harness-failure": "error",
    "not-run": "error",
    "skipped": "skipped",
}
_MAX_EXAMPLES: Final = 3


def junit_of(results: SuiteResults, store: Path) -> ET.Element:
    """Return the root element of the document."""
    begun = results.journal.begun
    root = ET.Element("testsuites", name="harness")
    suite = ET.SubElement(root, "testsuite", name=xml_text(begun.name), time=f"{results.seconds:.1f}")
    properties = {"seed": begun.seed, "shard": begun.shard, "suite_file": begun.file, "directory": results.journal.root}
    add_properties(suite, properties)
    for result in results.cells:
        _case(suite, result, begun.name, store)
    if results.failure:
        case = ET.SubElement(suite, "testcase", classname=xml_text(begun.name), name="the suite itself")
        ET.SubElement(case, "error", type="harness-failure", message=xml_text(results.failure))
    count_cases(suite)
    return root


def write(results: SuiteResults, store: Path, path: Path) -> None:
    """Write the document to a file.  Raises OSError."""
    write_document(junit_of(results, store), path)


def _case(suite: ET.Element, result: CellResult, name: str, store: Path) -> None:
    last = result.last
    seconds = sum(attempt.seconds for attempt in result.attempts)
    case = ET.SubElement(
        suite, "testcase", classname=xml_text(name), name=xml_text(result.cell.name), time=f"{seconds:.1f}"
    )
    properties: dict[str, object] = {"seed": result.cell.plan.seed, "command": result.cell.command}
    properties["expected"] = result.cell.expected.words()
    if last is not None:
        known = {"verdict": last.verdict, "kinds": ", ".join(last.kinds), "run": last.run, **last.environment}
        properties |= {key: value for key, value in known.items() if value}
        properties["attempts"] = len(result.attempts)
    add_properties(case, properties)
    text = "\n\n".join(part for part in (result.sentence, *_examples(result, store)) if part)
    if (tag := _TAG.get(result.outcome)) is None:
        ET.SubElement(case, "system-out").text = xml_text(text)
        return
    message = result.sentence.splitlines()[0] if result.sentence else result.outcome
    element = ET.SubElement(case, tag, type=result.outcome, message=xml_text(message))
    element.text = xml_text(f"{text}\n\nagain: {result.cell.command}")


def _examples(result: CellResult, store: Path) -> list[str]:
    """Draw the first counterexamples of the last attempt; return none if they cannot be read."""
    if result.last is None or not result.last.run:
        return []
    try:
        files = RunFiles(store / result.last.run)
        record, wording = read_object_if_any(files.results), wording_of(files.history)
        examples = [counterexample.example for counterexample in counterexamples_of(record)[:_MAX_EXAMPLES]]
        return [f"{example.kind}: {example.sentence}\n{draw(example, wording=wording)}" for example in examples]
    except (AttributeError, KeyError, TypeError, ValueError):
        return []
