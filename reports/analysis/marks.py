"""What charts and plots mark on the time axis: the operations of violations, and moments of findings about nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from history import Counterexample
from reports.analysis.findings import MAX_TOLD, Drawn, examples_of, violation_count
from reports.analysis.invariant_violations import told_of


@dataclass(frozen=True, slots=True)
class Violation:
    """``operations``, ``culprit`` and ``suspects`` are indexes of invocations; ``at`` is in seconds of the run."""

    kind: str
    key: Any
    operations: tuple[int, ...]
    culprit: int | None
    suspects: tuple[int, ...]
    at: float


@dataclass(frozen=True, slots=True)
class Finding:
    """At ``at`` seconds of the run ``node`` was seen to break what ``check`` asks; ``told`` says how."""

    check: str
    at: float
    node: str
    told: str


@dataclass(frozen=True, slots=True)
class Marks:
    """The earliest :data:`reports.analysis.findings.MAX_TOLD` of each; ``violated`` counts all violations."""

    violations: tuple[Violation, ...]
    findings: tuple[Finding, ...]
    violated: int


def marks_of(drawn: Drawn) -> Marks:
    """All marks of a run: violations in the order in which the page tells them, findings in that of their times."""
    violations = [_violation(key, example) for key, example in examples_of(drawn.run)]
    findings = [Finding(name, *told) for name, moments in told_of(drawn) for told in moments]
    return Marks(
        tuple(violations),
        tuple(sorted(findings, key=lambda mark: mark.at)[:MAX_TOLD]),
        max(violation_count(drawn.run), len(violations)),
    )


def _violation(key: Any, example: Counterexample) -> Violation:
    operations = sorted(example.operations, key=lambda operation: operation.invoked)
    culprit = example.suspects[-1] if example.suspects else None
    return Violation(
        kind=example.kind,
        key=key,
        operations=tuple(operation.invoke_index for operation in operations),
        culprit=culprit.invoke_index if culprit else None,
        suspects=tuple(suspect.invoke_index for suspect in example.suspects),
        at=(culprit.invoked if culprit else example.shown_at) / 1e9,
    )
