"""``--json``: one document on standard output and nothing else there; ``docs/results.md`` describes its fields."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from harness.execution.progress import Progress
from harness.exits import EXIT_FAILURE, exit_code
from harness.runstate import RunState
from harness.store import read_object_if_any

if TYPE_CHECKING:
    from history import Results, RunFiles

json_option: Final = click.option(
    "--json", "as_json", is_flag=True, help="One JSON document on standard output; all else goes to standard error."
)


def progress_of(*, as_json: bool) -> Progress:
    """Progress whose results go to standard error where standard output is for a document."""
    return Progress(results=sys.stderr if as_json else None)


def json_line(document: Mapping[str, Any]) -> str:
    """One line of plain ASCII: it fits every terminal, and no recorded text can control one."""
    return json.dumps(document)


def run_document(files: RunFiles, code: int | None = None, judged: Results | None = None) -> dict[str, Any]:
    """The essentials of one run, judged or broken off; ``code`` None: the exit code that its results stand for.

    ``judged`` are results that perhaps could not be written; None: those in the run's directory.
    """
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
    """The first failure of the harness in a run, or None."""
    try:
        failures = RunState.read(files.state).failures
    except ValueError as error:
        return str(error)
    return failures[0] if failures else None
