"""The results of a suite: ``results.json``, ``summary.txt`` and the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.exits import EXIT_FAILURE, EXIT_INTERRUPTED, worst_code
from harness.suite.cell_process import Attempt
from harness.suite.cells import Cell
from harness.suite.expectation import CODE_OF, Outcome
from harness.suite.journal import Journal
from harness.terminal import tables
from history.records.text import counted
from history.schema import record_of
from reports.style.format import one_line

FORMAT: Final = "harness-suite-results"
VERSION: Final = 1

_HEADINGS: Final[dict[Outcome, str]] = {
    "violation": "unexpected violations",
    "missing-violation": "expected violations that did not appear",
    "harness-failure": "harness failures",
    "unknown": "proved nothing",
    "not-run": "not run",
}


@dataclass(frozen=True, slots=True)
class CellResult:
    """A cell's outcome and all its attempts."""

    cell: Cell
    outcome: Outcome
    sentence: str
    attempts: tuple[Attempt, ...]

    @property
    def last(self) -> Attempt | None:
        return self.attempts[-1] if self.attempts else None


@dataclass(frozen=True, slots=True)
class SuiteResults:
    """The results of all cells of a suite.

    ``why_ended`` says why cells were left out, and is empty if none was.  ``warnings`` never change an outcome.
    """

    journal: Journal
    cells: tuple[CellResult, ...]
    seconds: float
    why_ended: str = ""
    failure: str = ""
    renewed: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """The worst exit code of all cells. A proven violation counts even if the suite itself failed."""
        codes = [CODE_OF[result.outcome] for result in self.cells]
        codes += [EXIT_FAILURE] if self.failure else []
        return worst_code([*codes, EXIT_INTERRUPTED] if self.why_ended == "interrupted" else codes)

    @property
    def counts(self) -> dict[str, int]:
        return dict(Counter(result.outcome for result in self.cells))

    def to_json(self) -> dict[str, Any]:
        begun = self.journal.begun
        return {
            "format": FORMAT,
            "version": VERSION,
            "suite": begun.name,
            "seed": begun.seed,
            "shard": begun.shard,
            "code": self.code,
            "counts": self.counts,
            "seconds": self.seconds,
            "retried": retried(self.cells),
            "renewed": self.renewed,
            "why_ended": self.why_ended,
            "harness_failure": self.failure or None,
            "warnings": list(self.warnings),
            "cells": [_cell_json(result) for result in self.cells],
        }


def conclude(
    journal: Journal, seconds: float, why_ended: str = "", failure: str = "", renewed: int = 0
) -> SuiteResults:
    """Return the suite's results from its journal.  A pure function."""
    cells = tuple(_result(cell, tuple(journal.of(cell)), failure or why_ended) for cell in journal.begun.cells)
    return SuiteResults(journal, cells, round(seconds, 1), why_ended, failure, renewed)


def retried(cells: Sequence[CellResult]) -> int:
    """Count the retries of all cells."""
    return sum(max(len(result.attempts) - 1, 0) for result in cells)


def summary(results: SuiteResults, columns: int | None = None) -> str:
    """Return a human-readable summary: unexpected outcomes, with how to reproduce them, then a row for every cell.

    Rows are wrapped to ``columns``; if it is None, each row is one line.
    """
    begun = results.journal.begun
    minutes, seconds = divmod(round(results.seconds), 60)
    head = (
        f"suite {begun.name}  seed {begun.seed}  shard {begun.shard}  {minutes}:{seconds:02}  exit code {results.code}"
    )
    lines = [head, _sums(results), ""]
    if results.failure:
        lines += [f"the suite itself failed: {results.failure}", ""]
    if results.why_ended:
        lines += [f"ended early: {results.why_ended}", ""]
    for outcome, heading in _HEADINGS.items():
        lines += _part(results, outcome, heading)
    lines += [f"warning: {warning}" for warning in results.warnings]
    lines += ["cells", tables.render(map(_row, results.cells), columns)]
    return "\n".join(lines) + "\n"


def _result(cell: Cell, attempts: tuple[Attempt, ...], why_not: str) -> CellResult:
    if attempts:
        return CellResult(cell, attempts[-1].outcome, attempts[-1].sentence, attempts)
    if cell.skip:
        return CellResult(cell, "skipped", cell.skip, ())
    return CellResult(cell, "not-run", why_not or "the suite ended before it", ())


def _cell_json(result: CellResult) -> dict[str, Any]:
    last = result.last
    return {
        "name": result.cell.name,
        "outcome": result.outcome,
        "expected": record_of(result.cell.expected),
        "verdict": last.verdict if last else "",
        "kinds": list(last.kinds) if last else [],
        "sentence": result.sentence,
        "seed": result.cell.plan.seed,
        "command": result.cell.command,
        "run": last.run if last else "",
        "attempts": record_of(result.attempts),
    }


def _sums(results: SuiteResults) -> str:
    parts = [f"{count} {outcome}" for outcome, count in sorted(results.counts.items())]
    again = retried(results.cells)
    parts += [f"{counted(again, 'attempt')} repeated after a harness failure"] if again else []
    often = "once" if results.renewed == 1 else f"{results.renewed} times"
    parts += [f"cluster recreated {often}"] if results.renewed else []
    return ", ".join(parts)


def _part(results: SuiteResults, outcome: Outcome, heading: str) -> list[str]:
    chosen = [result for result in results.cells if result.outcome == outcome]
    if not chosen:
        return []
    lines = [heading]
    for result in chosen:
        lines += [f"  {result.cell.name}", f"      {one_line(result.sentence, 400)}"]
        if result.last and result.last.run:
            lines += [f"      run: {result.last.run}", f"      again: {result.cell.command}"]
    return [*lines, ""]


def _row(result: CellResult) -> tuple[str, ...]:
    last = result.last
    finding = "" if last is None else last.found
    seconds = "" if last is None else f"{last.seconds:.0f} s"
    tries = f"  {len(result.attempts)} attempts" if len(result.attempts) > 1 else ""
    expected = "" if result.cell.expected.verdicts == ("valid",) else f"  [expected {result.cell.expected.words()}]"
    return f"  {result.outcome:<18}", f"{seconds:>5}", result.cell.name, f"{finding}{tries}{expected}"
