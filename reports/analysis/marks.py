"""What charts and plots mark on the time axis: the operations of violations, and moments of findings about nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from history import Counterexample
from reports.analysis.findings import MAX_LISTED, Drawn, examples_of, violation_count
from reports.analysis.invariant_violations import moments_by_check


@dataclass(frozen=True, slots=True)
class Violation:
    """``operations``, ``culprit`` and ``suspects`` are indexes of invocations; ``at`` is in seconds of the run.

    ``culprit`` is the operation whose answer leaves no order, and ``at`` when that began.
    ``says`` is what each operation has to do with a broken promise, in the order of ``operations``.
    """

    kind: str
    key: Any
    operations: tuple[int, ...]
    culprit: int | None
    suspects: tuple[int, ...]
    at: float
    says: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """At ``at`` seconds of the run ``node`` was seen to fail ``check``; ``text`` says how."""

    check: str
    at: float
    node: str
    text: str


@dataclass(frozen=True, slots=True)
class Marks:
    """The earliest :data:`reports.analysis.findings.MAX_LISTED` of each; ``violated`` counts all violations."""

    violations: tuple[Violation, ...]
    findings: tuple[Finding, ...]
    violated: int


def marks_of(drawn: Drawn) -> Marks:
    """List all marks of a run: violations in the order of the page, findings in the order of their times."""
    violations = [_violation(one.key, one.example) for one in examples_of(drawn.run)]
    findings = [Finding(name, *one) for name, observed in moments_by_check(drawn) for one in observed]
    return Marks(
        tuple(violations),
        tuple(sorted(findings, key=lambda mark: mark.at)[:MAX_LISTED]),
        max(violation_count(drawn.run), len(violations)),
    )


def _violation(key: Any, example: Counterexample) -> Violation:
    order = sorted(range(len(example.operations)), key=lambda place: example.operations[place].invoked)
    culprit = example.completing
    return Violation(
        kind=example.kind,
        key=key,
        operations=tuple(example.operations[place].invoke_index for place in order),
        culprit=culprit.invoke_index if culprit else None,
        suspects=tuple(suspect.invoke_index for suspect in example.suspects),
        at=(culprit.invoked if culprit else 0) / 1e9,
        says=tuple(example.roles[place].says for place in order) if example.roles else (),
    )
