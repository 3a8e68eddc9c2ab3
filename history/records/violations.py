"""The violations in ``results.json``, worst first: kind, severity, the check that found them, and the nodes.

Also its counterexamples: those of the keys, and those that other checks recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from history.records.check_records import check_records
from history.records.finding import (
    LOST,
    SEVERITIES,
    Contradiction,
    Elements,
    F,
    Loss,
    Severity,
    Skipped,
    UnderFault,
    findings_in,
    first_of,
)
from history.records.verdicts import Counterexample

#: Names of the check of clients' answers.  The oldest recordings use "linearizability"; for transactions it is
#: "isolation".
LINEARIZABLE: Final = frozenset({"linearizable", "linearizability", "isolation"})
#: The check that the counterexamples of the keys are attributed to.
OF_KEYS: Final = "linearizable"
#: Whether the harness found the bug that was planted in the server; empty if there was none.
PlantedBugOutcome: TypeAlias = Literal["", "found", "missed"]

#: Shown instead of *valid* for a run whose planted bug no check found.
MISSED: Final = "missed"
#: Qualifies an invalid verdict on a planted bug: without and with violations found by other checks.
AS_INTENDED: Final = "as intended"
MORE_FOUND: Final = "as intended, and more was found"

#: Checks that use only what nodes reported and logged.  All others use clients' answers, alone or in addition.
OF_NODES: Final = frozenset(
    {"replicas-agree", "election-safety", "terms-kept", "leader-complete", "log-order", "committed-kept", "node-logs"}
)


@dataclass(frozen=True, slots=True)
class Violation:
    """One kind of violation that one check of a run found, on the ``nodes`` that it names.

    ``objects`` are the objects concerned, by their names in the nodes' logs if the check knows these.  ``shown`` has
    for each of them the entry that clients were shown and that is gone, or is empty.
    """

    check: str
    kind: str
    nodes: tuple[str, ...] = ()
    severity: Severity = field(default="inconsistent", compare=False)
    objects: tuple[str, ...] = field(default=(), compare=False)
    shown: tuple[int, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return self.kind + (f" of {', '.join(self.nodes)}" if self.nodes else "")


def violations_of(results: Mapping[str, Any], looking: frozenset[str] = frozenset()) -> tuple[Violation, ...]:
    """List all violations in a run's ``results.json``, worst first.

    Violations found by checks ``looking`` for a planted bug (:func:`checks_looking`) come before all others, because
    only they are known to come from the bug.  Equally bad ones are in the order of the checks, and those of clients in
    the order in which they were seen.
    """
    violations = dict.fromkeys(_violations(results))
    return tuple(sorted(violations, key=lambda wrong: (wrong.check not in looking, SEVERITIES.index(wrong.severity))))


def _violations(results: Mapping[str, Any]) -> Iterator[Violation]:
    for check in check_records(results):
        if check.get("verdict") != "invalid":
            continue
        name = str(check.get("name") or "")
        findings = [finding for finding in findings_in(check) if finding.verdict == "invalid"]
        for issue in findings:
            yield Violation(
                name, issue.kind, issue.nodes, issue.severity, getattr(issue, "logged", ()), getattr(issue, "shown", ())
            )
        if not findings:
            yield Violation(name, name, severity="alarm" if name == "node-logs" else "inconsistent")


class Shown(NamedTuple):
    """A counterexample in the results: the check that found it, its object, and its record."""

    check: str
    key: Any
    record: Mapping[str, Any]

    @property
    def example(self) -> Counterexample:
        return Counterexample.from_json(dict(self.record))


def counterexamples_of(results: Mapping[str, Any]) -> list[Shown]:
    """List the counterexamples of the keys, then those of other checks that add something new.

    A counterexample of the same kind for the same key adds nothing, unless its check tells losses apart and it concerns
    another answer.
    """
    examples = [
        Shown(OF_KEYS, key.get("key"), record)
        for key in results.get("keys") or ()
        for record in key.get("counterexamples") or ()
    ]
    known = {(str(example.key), example.record.get("kind")) for example in examples}
    shown = {(str(example.key), example.record.get("kind"), _answer(example.record)) for example in examples}
    for check in check_records(results):
        by_loss = bool(losses_of(check))
        for record in _recorded(check):
            example = Shown(str(check.get("name", "")), Counterexample.from_json(record).key, record)
            identity = (str(example.key), record.get("kind"))
            if (*identity, _answer(record)) not in shown if by_loss else identity not in known:
                examples.append(example)
    return examples


def in_shown_order(results: Mapping[str, Any]) -> list[Shown]:
    """Return the counterexamples in the order in which they are shown.

    The earliest one of each check, the earliest one with lost data, and one of each loss come first, so that none hides
    another.  The others follow, earliest first.
    """
    by_time = sorted(counterexamples_of(results), key=lambda shown: shown.example.completed_at)
    losses = {str(check.get("name")) for check in check_records(results) if losses_of(check)}
    kinds = ((shown.check, shown.record.get("kind") in LOST) for shown in by_time)
    first = {kind: place for place, kind in reversed(list(enumerate(kinds)))}
    leading = {*first.values(), *(place for place, shown in enumerate(by_time) if shown.check in losses)}
    return [by_time[place] for place in sorted(range(len(by_time)), key=lambda place: place not in leading)]


def losses_of(check: Mapping[str, Any]) -> list[Loss]:
    """List the losses of elements that a check of sets found; empty for any other check."""
    return [loss for finding in findings_in(check) if isinstance(finding, Elements) for loss in finding.losses]


def found_in(results: Mapping[str, Any], kind: type[F]) -> F | None:
    """Return the first finding of this type in ``results.json``; None if there is none."""
    findings = (first_of(kind, check) for check in check_records(results))
    return next((finding for finding in findings if finding is not None), None)


def _answer(record: Mapping[str, Any]) -> int | None:
    """Return the invoke index of the operation that completes a counterexample; None if its JSON is malformed."""
    try:
        last = Counterexample.from_json(dict(record)).completing
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return last.invoke_index if last else None


def counts_of(results: Mapping[str, Any]) -> dict[str, int]:
    """Count by check the violations that counterexamples can show, including those without a recorded one."""
    counts = Counter(example.check for example in counterexamples_of(results))
    counts[OF_KEYS] = sum(int(key.get("violations") or 0) for key in results.get("keys") or ())
    for check in check_records(results):
        if recorded := _recorded(check):
            every = sum(finding.count for finding in findings_in(check) if isinstance(finding, Contradiction))
            counts[str(check.get("name", ""))] += every - len(recorded)
    return dict(counts)


def _recorded(check: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """Return the recorded counterexamples of a failed check; empty for any other."""
    examples = check.get("counterexamples")
    return examples if isinstance(examples, list) and check.get("verdict") == "invalid" else ()


def state_of(check: Mapping[str, Any]) -> str:
    """Return a check's verdict, or *skipped* if it had nothing to judge.

    The recorded verdict is *valid* then, because nothing is wrong, although nothing was tested either.
    """
    verdict = check.get("verdict")
    if verdict == "valid" and _nothing_asked(check):
        return "skipped"
    return verdict if verdict in ("valid", "invalid") else "unknown"


def _nothing_asked(check: Mapping[str, Any]) -> bool:
    """Return whether a check that passed had nothing to judge."""
    if first_of(Skipped, check):
        return True
    under = first_of(UnderFault, check)
    return under is not None and all(fault.exempt for fault in under.faults) and not under.before


def contents_differ(checks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the failed checks that show nodes with different contents or without acknowledged data.

    If there are any, a passed check ``recovery`` means less than readers expect, because it only compares applied
    indexes.
    """
    return [
        str(check.get("name"))
        for check in checks
        if state_of(check) == "invalid"
        and (
            check.get("name") == "replicas-agree"
            or losses_of(check)
            or (check.get("name") not in LINEARIZABLE and any(hit.kind == "lost-element" for hit in findings_in(check)))
        )
    ]


def finding_name(severity: str, kind: str, planted_bug: str = "", beside: str = "") -> str:
    """Describe a run's worst finding for lists of runs: its severity, and its kind if that is more specific.

    Without a ``severity`` there is no violation, and ``kind`` says why the run proves nothing.  ``planted_bug`` is
    ``found``, ``missed`` or empty.  If the bug was found, ``beside`` names the worst finding apart from it
    (:func:`beside_planted_bug`), which is then described instead.
    """
    plain = not severity or kind == "no-recovery"
    named = (severity or kind) if plain else f"{severity}: {kind}"
    if planted_bug == "missed":
        return f"planted bug not found; {named}" if severity else "planted bug not found"
    if planted_bug:
        return f"{MORE_FOUND}: {beside}" if beside else f"{AS_INTENDED}: {named}"
    return named


def beside_planted_bug(plan: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    """Name the worst finding apart from the planted bug, in a run whose planted bug was found; else empty.

    The bug may or may not explain that finding.
    """
    looking = checks_looking(plan)
    if planted_bug_outcome(plan, results) != "found":
        return ""
    worst = next((violation for violation in violations_of(results) if violation.check not in looking), None)
    return finding_name(worst.severity, worst.kind) if worst else ""


def checks_looking(plan: Mapping[str, Any]) -> frozenset[str]:
    """Name the checks that should find the plan's planted bug; empty if there is no bug.

    If the plan names no checks, these are the checks of clients' answers.
    """
    if not plan.get("planted_bug"):
        return frozenset()
    named = plan.get("planted_bug_found_by")
    looking = frozenset(name for name in named if isinstance(name, str)) if isinstance(named, list) else LINEARIZABLE
    return looking | LINEARIZABLE if looking & LINEARIZABLE else looking


def planted_bug_outcome(plan: Mapping[str, Any], results: Mapping[str, Any]) -> PlantedBugOutcome:
    """Return ``found`` if a check that looks for the planted bug failed, else ``missed``.

    Empty if no bug was planted or the run was not judged.
    """
    if not plan.get("planted_bug") or not results:
        return ""
    failed = {check.get("name") for check in check_records(results) if check.get("verdict") == "invalid"}
    return "found" if checks_looking(plan) & failed else "missed"


def headlines_of(results: Mapping[str, Any], plan: Mapping[str, Any]) -> list[str]:
    """List the sentences about what broke, starting with the outcome of a planted bug if there is one."""
    headlines = results.get("headlines")
    listed = [str(headline) for headline in headlines] if isinstance(headlines, list | tuple) else []
    if not listed or not (bug := plan.get("planted_bug")):
        return listed
    if planted_bug_outcome(plan, results) == "found":
        return [f"The harness detected the planted bug {bug}, as intended.", *listed]
    return [f"The planted bug {bug} was not found.", *listed]


def shown_verdict(verdict: str, planted_bug: str) -> str:
    """Return the verdict to show for a run: *missed* instead of valid if a planted bug was not found."""
    return MISSED if (verdict, planted_bug) == ("valid", "missed") else verdict


def listed_verdict(verdict: str, planted_bug: str, beside: str) -> str:
    """Return the verdict to show in lists and trends.

    Like :func:`shown_verdict`, but *as intended* instead of invalid if a planted bug was found.  The verdict stays
    invalid if ``beside`` names another finding (:func:`beside_planted_bug`) that the bug may not explain.
    """
    if (verdict, planted_bug, beside) == ("invalid", "found", ""):
        return AS_INTENDED
    return shown_verdict(verdict, planted_bug)


def verdict_words(verdict: str, plan: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    """Format the verdict for the top of a page, summary or terminal output, with the outcome of a planted bug."""
    planted_bug = planted_bug_outcome(plan, results)
    if not planted_bug or verdict not in ("valid", "invalid", "unknown"):
        return verdict
    if planted_bug == "missed":
        return f"{shown_verdict(verdict, planted_bug)}: the planted bug was not found"
    if beside_planted_bug(plan, results):
        return f"{verdict}: the planted bug, and another violation"
    return f"{verdict}, {AS_INTENDED}"
