"""Marks on the time axis of charts and plots: the operations of violations, and findings about nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from history import Counterexample
from history.records.caveats import is_least
from reports.analysis.counterexample import labels_by_elements
from reports.analysis.findings import MAX_LISTED, Drawn, recorded_examples, violation_count
from reports.analysis.invariant_violations import moments_by_check

#: How many marks fit on a wide chart.
BUCKETS: Final = 2000


@dataclass(frozen=True, slots=True)
class ViolationMark:
    """Mark of a violation; operations are given by the indexes of their invocations.

    ``culprit`` is the operation whose answer rules out every order; it was answered at ``at`` (seconds of the run).
    ``says`` is each operation's role in a broken promise, and ``labels`` say what a long answer held (else empty); both
    are in the order of ``operations``.
    """

    kind: str
    key: Any
    operations: tuple[int, ...]
    culprit: int | None
    suspects: tuple[int, ...]
    at: float
    says: tuple[str, ...]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FindingMark:
    """Mark where ``node`` was seen to fail ``check``, at ``at`` seconds of the run; ``text`` says how.

    ``until`` is the time of the last of several consecutive answers that showed it.
    """

    check: str
    at: float
    node: str
    text: str
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Marks:
    """The first :data:`reports.analysis.findings.MAX_LISTED` marks of each type, and the times of others (s).

    The run is divided into :data:`BUCKETS` parts, and ``further_…`` has at most one time for each.  ``violated``
    counts all violations, ``recorded`` those in the results, which have marks.  ``least``: there may be more than
    were counted.
    """

    violations: tuple[ViolationMark, ...]
    findings: tuple[FindingMark, ...]
    violated: int
    recorded: int = 0
    further_violations: tuple[float, ...] = ()
    further_findings: tuple[float, ...] = ()
    least: bool = False


def marks_of(drawn: Drawn) -> Marks:
    """Return all marks of a run: violations in the order of the page, findings in order of time."""
    recorded = [_violation(case.key, case.example) for case in recorded_examples(drawn.run)]
    observed = [
        FindingMark(name, moment.at, moment.node, moment.text, moment.until)
        for name, every in moments_by_check(drawn)
        for moment in every
    ]
    observed.sort(key=lambda mark: mark.at)
    end = drawn.run.end / 1e9
    return Marks(
        tuple(recorded[:MAX_LISTED]),
        tuple(observed[:MAX_LISTED]),
        max(violation_count(drawn.run), len(recorded)),
        len(recorded),
        _bucketed([mark.at for mark in recorded[MAX_LISTED:]], end),
        _bucketed([mark.at for mark in observed[MAX_LISTED:]], end),
        is_least(drawn.run.results),
    )


def _bucketed(moments: Sequence[float], end: float) -> tuple[float, ...]:
    """Keep the first moment in each part of the run."""
    width = max(end, 1e-9) / BUCKETS
    first: dict[int, float] = {}
    for moment in sorted(moments):
        first.setdefault(int(moment / width), moment)
    return tuple(first.values())


def _violation(key: Any, example: Counterexample) -> ViolationMark:
    order = sorted(range(len(example.operations)), key=lambda place: example.operations[place].invoked)
    culprit, words = example.completing, labels_by_elements(example)
    return ViolationMark(
        kind=example.kind,
        key=key,
        operations=tuple(example.operations[place].invoke_index for place in order),
        culprit=culprit.invoke_index if culprit else None,
        suspects=tuple(suspect.invoke_index for suspect in example.suspects),
        at=example.completed_at / 1e9,
        says=tuple(example.roles[place].says for place in order) if example.roles else (),
        labels=tuple(words(example.operations[place]) for place in order),
    )
