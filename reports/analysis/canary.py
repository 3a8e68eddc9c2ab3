"""What a verdict means, also on a run whose server has a planted bug: that tests the harness, not the system."""

from __future__ import annotations

from typing import Any, Final

from history.records.violations import canary_outcome
from reports.analysis.findings import checks_of
from reports.load.run import HARNESS_FAILURE, Run

VERDICT_WORDS: Final = {
    "valid": "Valid",
    "invalid": "Invalid",
    "unknown": "Unknown",
    HARNESS_FAILURE: "Harness failure",
}
MEANINGS: Final = {
    "valid": "Every check passed, and the run was worth something: every gate was met.",
    "invalid": "",
    "unknown": "This run proves nothing, for the system or against it.",
    HARNESS_FAILURE: "The harness broke down. This says nothing about the system under test.",
}
BROKE_OFF: Final = (
    "The harness broke down, so that this run as a whole proves nothing. What it had recorded until then was judged, "
    "and a check failed: that is a finding about the system under test all the same."
)


def found(run: Run) -> bool:
    """Check whether a check that looks for the planted bug failed."""
    return canary_outcome(run.plan, run.results) == "found"


def word_of(run: Run) -> str:
    """Return the page's first word."""
    word = VERDICT_WORDS[run.verdict]
    if not run.plan.get("canary") or run.verdict == HARNESS_FAILURE:
        return word
    return f"{word}, as intended" if found(run) else f"{word}: the planted bug was not found"


def meaning_of(run: Run) -> str:
    """Write what the verdict says of the system under test, or of the harness."""
    bug: Any = run.plan.get("canary")
    if run.failure and not bug and any(row["state"] == "invalid" for row in checks_of(run)):
        return BROKE_OFF
    if not bug or run.verdict == HARNESS_FAILURE:
        return MEANINGS[run.verdict]
    if found(run):
        return (
            f"The planted bug {bug} was found, as intended: the harness can see it. The server was wrong on purpose; "
            "this says nothing about the system under test."
        )
    if run.verdict == "unknown":
        return f"The planted bug {bug} was not found, and this run proves nothing, not even that the harness is blind."
    return (
        f"The planted bug {bug} was not found. The server was wrong on purpose and the harness did not see it: it is "
        "blind, and its valid runs prove nothing until that is understood."
    )
