"""The verdicts that a cell may end with, and the outcome of comparing them with a run.

A *planted bug* is expected by the kinds of violation that it causes.  A *known defect* of a release is expected by its
fingerprint (``harness.judge.known_defects``): a violation of the same kind without those marks is a new one.  If a
violation shows only sometimes, write both verdicts: ``expect = ["valid", "invalid"]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from harness.judge.known_defects import Defect
from history import Verdict
from history.records.violations import Violation

Outcome: TypeAlias = Literal[
    "passed", "violation", "missing-violation", "unknown", "harness-failure", "not-run", "skipped"
]

#: The exit code of a suite whose worst outcome this is.  A cell that was not run proved nothing.
CODE_OF: Final[Mapping[Outcome, int]] = {
    "passed": 0,
    "skipped": 0,
    "violation": 1,
    "missing-violation": 1,
    "unknown": 2,
    "not-run": 2,
    "harness-failure": 255,
}


@dataclass(frozen=True, slots=True)
class Expectation:
    """The verdicts that a cell may end with, and the violations that an invalid one may have.

    Those are violations of these ``kinds``, whatever their cause, or with the marks of ``known`` defects.  ``why``
    refers to the finding.
    """

    verdicts: tuple[Verdict, ...] = ("valid",)
    kinds: tuple[str, ...] = ()
    why: str = ""
    known: tuple[Defect, ...] = ()

    def words(self) -> str:
        """Return text such as ``valid`` or ``sometimes invalid (no-recovery), else valid``."""
        if "invalid" not in self.verdicts:
            return " or ".join(self.verdicts)
        others = [verdict for verdict in self.verdicts if verdict != "invalid"]
        names = ", ".join([*self.kinds, *(defect.name for defect in self.known)])
        return f"{'sometimes ' if others else ''}invalid ({names})" + (
            f", else {' or '.join(others)}" if others else ""
        )


#: Returns the violations that none of the defects explains (``harness.judge.known_defects.unexplained``).
Unexplained: TypeAlias = Callable[[Sequence[Violation], Sequence[Defect]], list[Violation]]


def compare(
    expected: Expectation,
    verdict: Verdict,
    violations: Sequence[Violation],
    unexplained: Unexplained,
    undecided: Sequence[str] = (),
) -> tuple[Outcome, str]:
    """Return the outcome of a judged run, with a short explanation where needed.

    ``violations`` holds every violation of the run, and each one must be expected.  ``undecided`` names the checks and
    gates that decided nothing, which is acceptable only if an unknown verdict is expected.
    """
    if verdict == "invalid" and "invalid" in expected.verdicts:
        others = [violation for violation in violations if violation.kind not in expected.kinds]
        if strange := unexplained(others, expected.known) if expected.known else others:
            return "violation", f"{', '.join(map(str, strange))} {_beside(expected, strange)}"
        if undecided and "unknown" not in expected.verdicts:
            return "unknown", f"undecided, unexpectedly: {', '.join(undecided)}"
        return "passed", "as expected"
    if verdict == "invalid":
        return "violation", ""
    if verdict in expected.verdicts:
        return "passed", "the known bug did not show this time" if "invalid" in expected.verdicts else ""
    if verdict == "unknown":
        return "unknown", ""
    missing = (
        "the expected violation did not appear" if "invalid" in expected.verdicts else "valid, but expected otherwise"
    )
    return "missing-violation", f"{missing}: {expected.words()}"


def _beside(expected: Expectation, strange: Sequence[Violation]) -> str:
    """Say why these violations differ from the expectation."""
    alike = [d.name for d in expected.known if any(violation.kind in d.kinds for violation in strange)]
    if alike:
        return f"without the marks of {' or '.join(alike)}: a new defect, or one that has changed"
    return f"in addition to the expected {expected.words()}"
