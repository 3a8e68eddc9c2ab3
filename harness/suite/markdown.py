"""``summary.md`` of a suite: a table for the job page of a CI system."""

from __future__ import annotations

from typing import Final

from harness.suite.outcome import CellResult, SuiteResults
from reports.style.format import one_line

_ESCAPED: Final = {ord(mark): f"&#{ord(mark)};" for mark in "\\`*_[]<>|@#&"}
_SHOWN: Final = {"passed": "✅ passed", "skipped": "➖ skipped", "not-run": "⚠️ not run", "unknown": "⚠️ unknown"}


def markdown(results: SuiteResults) -> str:
    """Return a heading and a row for each cell, unexpected outcomes first.  All recorded text is escaped."""
    begun = results.journal.begun
    sums = ", ".join(f"{count} {outcome}" for outcome, count in sorted(results.counts.items()))
    lines = [f"### Suite {_cell(begun.name)}, shard {_cell(begun.shard)}: exit code {results.code}", ""]
    lines += [f"{sums}. Seed {begun.seed}, {results.seconds / 60:.0f} min.", ""]
    notes = (results.failure, results.why_ended and f"Ended early: {results.why_ended}", *results.warnings)
    lines += [f"> {_cell(text)}\n" for text in notes if text]
    lines += [
        "| outcome | cell | verdict | expected | tries | seconds | what was seen |",
        "|---|---|---|---|---|---|---|",
    ]
    ordered = sorted(results.cells, key=lambda result: result.outcome in ("passed", "skipped"))
    return "\n".join([*lines, *map(_row, ordered)]) + "\n"


def _row(result: CellResult) -> str:
    last = result.last
    verdict = "" if last is None else last.found
    seconds = "" if last is None else f"{last.seconds:.0f}"
    cells = (
        _SHOWN.get(result.outcome, f"❌ {result.outcome}"), result.cell.name, verdict, result.cell.expected.words(),
        str(len(result.attempts)), seconds, result.sentence,
    )  # fmt: skip
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(text: str) -> str:
    """Escape a string so that it cannot end the table cell or start a tag, a link or a mention."""
    return one_line(text, 300).translate(_ESCAPED)
