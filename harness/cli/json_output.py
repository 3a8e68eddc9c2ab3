"""The ``--json`` option: exactly one document on standard output.  ``docs/results.md`` describes its fields."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from harness.exits import EXIT_FAILURE, exit_code

if TYPE_CHECKING:
    from harness.execution.progress import Progress
    from history import Results, RunFiles

json_option: Final = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON document to standard output, and everything else to standard error.",
)


def progress_of(*, as_json: bool) -> Progress:
    """Return a Progress that sends results to standard error if standard output is reserved for a document."""
    from harness.execution.progress import Progress

    return Progress(results=sys.stderr if as_json else None)


def json_line(document: Mapping[str, Any]) -> str:
    """Return a document as one line of plain ASCII, which no terminal takes for control codes."""
    return json.dumps(document)


def run_document(files: RunFiles, code: int | None = None, judged: Results | None = None) -> dict[str, Any]:
    """Return the essentials of one run, judged or not.

    ``code`` is the exit code; if None, it follows from the results.  ``judged`` are the results, which may not have
    been written; if None, they are read from the run's directory.
    """
    from harness.store import read_object_if_any

    results = read_object_if_any(files.results) if judged is None else judged.to_json()
    failure = results.get("harness_failure") or _failure(files)
    if code is None:
        code = exit_code(results["verdict"], failure) if results else EXIT_FAILURE
    return {
        "run": str(files.root),
        "verdict": results.get("verdict"),
        "exit_code": code,
        "sentence": results.get("sentence"),
        "checks": results.get("checks", []),
        "harness_failure": failure,
        "warnings": results.get("warnings", []),
        "results": str(files.results) if results and files.results.exists() else None,
        "report": str(files.report) if files.report.exists() else None,
    }


def _failure(files: RunFiles) -> str | None:
    """Return the first harness failure in a run, or None."""
    from harness.runstate import RunState

    try:
        failures = RunState.read(files.state).failures
    except ValueError as error:
        return str(error)
    return failures[0] if failures else None
