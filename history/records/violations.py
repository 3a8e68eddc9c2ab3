"""The violations in ``results.json``, the worst first: what kind, how bad, found by which check, of which nodes.

Also the counterexamples in it: those of the keys, and those that other checks recorded.
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

#: The check of what clients were answered: the first recordings call it by its second name, and of transactions it is
#: the third.
LINEARIZABLE: Final = frozenset({"linearizable", "linearizability", "isolation"})
#: The name of that check beside the counterexamples of the keys.
OF_KEYS: Final = "linearizable"
#: Whether the harness found the bug that was planted in the server; empty: none was.
PlantedBugOutcome: TypeAlias = Literal["", "found", "missed"]

#: The verdict that is shown of a run whose planted bug no check found, in place of *valid*.
MISSED: Final = "missed"
#: How an invalid verdict on a planted bug is qualified, without and with a violation found by another check.
AS_INTENDED: Final = "as intended"
MORE_FOUND: Final = "as intended, and more was found"

#: Checks of what nodes reported and logged; all others rest on what clients were answered, or also on that.
OF_NODES: Final = frozenset(
    {"replicas-agree", "election-safety", "terms-kept", "leader-complete", "log-order", "committed-kept", "node-logs"}
)


@dataclass(frozen=True, slots=True)
class Violation:
    """One kind of violation that one check of a run found; ``nodes`` are those that it names.

    ``objects`` are what the violation is of, by the names that the nodes' logs give them, where a check knows these.
    """

    check: str
    kind: str
    nodes: tuple[str, ...] = ()
    severity: Severity = field(default="inconsistent", compare=False)
    objects: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return self.kind + (f" of {', '.join(self.nodes)}" if self.nodes else "")


def violations_of(results: Mapping[str, Any], looking: frozenset[str] = frozenset()) -> tuple[Violation, ...]:
    """List every violation in a run's ``results.json``, the worst first.

    Those come before all others that were found by the checks ``looking`` for a planted bug (:func:`checks_looking`):
    no other is known to come from it.  Equally bad ones stand in the order of the checks, and those of clients in that
    in which they were seen.
    """
    found = dict.fromkeys(_violations(results))
    return tuple(sorted(found, key=lambda one: (one.check not in looking, SEVERITIES.index(one.severity))))


def _violations(results: Mapping[str, Any]) -> Iterator[Violation]:
    for check in check_records(results):
        if check.get("verdict") != "invalid":
            continue
        name = str(check.get("name") or "")
        found = [one for one in findings_in(check) if one.verdict == "invalid"]
        for one in found:
            yield Violation(name, one.kind, one.nodes, one.severity, getattr(one, "logged", ()))
        if not found:
            yield Violation(name, name, severity="alarm" if name == "node-logs" else "inconsistent")


class Shown(NamedTuple):
    """A counterexample in the results: of which check, on which object, and its record."""

    check: str
    key: Any
    record: Mapping[str, Any]

    @property
    def example(self) -> Counterexample:
        return Counterexample.from_json(dict(self.record))


def counterexamples_of(results: Mapping[str, Any]) -> list[Shown]:
    """List the counterexamples of the keys, and then those of other checks that say more than these.

    One of the same kind about the same key says no more, but where a check tells losses apart, if it is about another
    answer.
    """
    found = [
        Shown(OF_KEYS, key.get("key"), record)
        for key in results.get("keys") or ()
        for record in key.get("counterexamples") or ()
    ]
    known = {(str(one.key), one.record.get("kind")) for one in found}
    shown = {(str(one.key), one.record.get("kind"), _answer(one.record)) for one in found}
    for check in check_records(results):
        by_loss = bool(losses_of(check))
        for record in _recorded(check):
            one = Shown(str(check.get("name", "")), Counterexample.from_json(record).key, record)
            said = (str(one.key), record.get("kind"))
            if (*said, _answer(record)) not in shown if by_loss else said not in known:
                found.append(one)
    return found


def in_shown_order(results: Mapping[str, Any]) -> list[Shown]:
    """Put the counterexamples into the order in which they are shown.

    The earliest one of each check, the earliest one of something lost, and one of each loss come first, so that none
    hides another; then the others, earliest first.
    """
    by_time = sorted(counterexamples_of(results), key=lambda one: one.example.completed_at)
    losses = {str(check.get("name")) for check in check_records(results) if losses_of(check)}
    kinds = ((one.check, one.record.get("kind") in LOST) for one in by_time)
    first = {kind: place for place, kind in reversed(list(enumerate(kinds)))}
    leading = {*first.values(), *(place for place, one in enumerate(by_time) if one.check in losses)}
    return [by_time[place] for place in sorted(range(len(by_time)), key=lambda place: place not in leading)]


def losses_of(check: Mapping[str, Any]) -> list[Loss]:
    """List what a check of sets found that each node's last read lacks; empty for any other check."""
    return [loss for one in findings_in(check) if isinstance(one, Elements) for loss in one.losses]


def found_in(results: Mapping[str, Any], kind: type[F]) -> F | None:
    """The first finding of this type in ``results.json``; None where there is none."""
    found = (first_of(kind, check) for check in check_records(results))
    return next((one for one in found if one is not None), None)


def _answer(record: Mapping[str, Any]) -> int | None:
    """The place of the operation whose answer leaves no order, by a counterexample's JSON that may be malformed."""
    try:
        last = Counterexample.from_json(dict(record)).completing
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return last.invoke_index if last else None


def counts_of(results: Mapping[str, Any]) -> dict[str, int]:
    """Count by check the violations that counterexamples can show, also those beyond the recorded ones."""
    counts = Counter(one.check for one in counterexamples_of(results))
    counts[OF_KEYS] = sum(int(key.get("violations") or 0) for key in results.get("keys") or ())
    for check in check_records(results):
        if recorded := _recorded(check):
            every = sum(one.count for one in findings_in(check) if isinstance(one, Contradiction))
            counts[str(check.get("name", ""))] += every - len(recorded)
    return dict(counts)


def _recorded(check: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """The counterexamples of a failed check."""
    found = check.get("counterexamples")
    return found if isinstance(found, list) and check.get("verdict") == "invalid" else ()


def state_of(check: Mapping[str, Any]) -> str:
    """Return a check's verdict, or *skipped* where it says why there was nothing for it to judge.

    Its verdict is *valid* then, as nothing is wrong; but nothing was tested either.
    """
    verdict = check.get("verdict")
    if verdict == "valid" and _nothing_asked(check):
        return "skipped"
    return verdict if verdict in ("valid", "invalid") else "unknown"


def _nothing_asked(check: Mapping[str, Any]) -> bool:
    """Whether a check that passed had nothing to judge."""
    if first_of(Skipped, check):
        return True
    under = first_of(UnderFault, check)
    return under is not None and all(one.exempt for one in under.faults) and not under.before


def contents_differ(checks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the failed checks by which nodes hold different contents, or lack what was acknowledged.

    Beside one of them the check ``recovery``, which goes by applied indexes, says less than a reader takes it to say.
    """
    return [
        str(one.get("name"))
        for one in checks
        if state_of(one) == "invalid"
        and (
            one.get("name") == "replicas-agree"
            or losses_of(one)
            or (one.get("name") not in LINEARIZABLE and any(found.kind == "lost-element" for found in findings_in(one)))
        )
    ]


def finding_name(severity: str, kind: str, planted_bug: str = "", beside: str = "") -> str:
    """Name what was found in a run wherever runs are listed: how bad it is, and the kind where that says more.

    Without a ``severity`` there is no violation, and the ``kind`` is what kept the run from proving anything.
    ``beside`` names what was found beside a planted bug (:func:`beside_planted_bug`), and is said in place of the bug.
    """
    plain = not severity or kind == "no-recovery"
    named = (severity or kind) if plain else f"{severity}: {kind}"
    if planted_bug == "missed":
        return f"planted bug not found; {named}" if severity else "planted bug not found"
    if planted_bug:
        return f"{MORE_FOUND}: {beside}" if beside else f"{AS_INTENDED}: {named}"
    return named


def beside_planted_bug(plan: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    """Name the worst finding that a planted bug, which was found, may or may not explain; or empty."""
    looking = checks_looking(plan)
    if planted_bug_outcome(plan, results) != "found":
        return ""
    worst = next((one for one in violations_of(results) if one.check not in looking), None)
    return finding_name(worst.severity, worst.kind) if worst else ""


def checks_looking(plan: Mapping[str, Any]) -> frozenset[str]:
    """Name the checks that must find the planted bug, if there is one; those of the clients where a plan names none."""
    if not plan.get("planted_bug"):
        return frozenset()
    named = plan.get("planted_bug_found_by")
    looking = frozenset(name for name in named if isinstance(name, str)) if isinstance(named, list) else LINEARIZABLE
    return looking | LINEARIZABLE if looking & LINEARIZABLE else looking


def planted_bug_outcome(plan: Mapping[str, Any], results: Mapping[str, Any]) -> PlantedBugOutcome:
    """Say whether a check that looks for the planted bug failed.

    Empty where no bug was planted, and where the run was not judged.
    """
    if not plan.get("planted_bug") or not results:
        return ""
    failed = {check.get("name") for check in check_records(results) if check.get("verdict") == "invalid"}
    return "found" if checks_looking(plan) & failed else "missed"


def headlines_of(results: Mapping[str, Any], plan: Mapping[str, Any]) -> list[str]:
    """List the sentences about what broke; of a run with a planted bug the first says what became of that."""
    found = results.get("headlines")
    listed = [str(one) for one in found] if isinstance(found, list | tuple) else []
    if not listed or not (bug := plan.get("planted_bug")):
        return listed
    became = "found, as intended" if planted_bug_outcome(plan, results) == "found" else "not found"
    return [f"The planted bug {bug} was {became}.", *listed]


def shown_verdict(verdict: str, planted_bug: str) -> str:
    """The verdict as it is shown wherever runs are: one that is valid though a bug was planted is *missed*."""
    return MISSED if (verdict, planted_bug) == ("valid", "missed") else verdict


def listed_verdict(verdict: str, planted_bug: str, beside: str) -> str:
    """The verdict as lists and trends show it: also *as intended* in place of invalid where a planted bug was found.

    Not where something was found ``beside`` it (:func:`beside_planted_bug`), which the bug may not explain.
    """
    if (verdict, planted_bug, beside) == ("invalid", "found", ""):
        return AS_INTENDED
    return shown_verdict(verdict, planted_bug)


def verdict_words(verdict: str, plan: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    """Write the verdict as a page, a summary and a terminal begin: with what became of a planted bug."""
    planted_bug = planted_bug_outcome(plan, results)
    if not planted_bug or verdict not in ("valid", "invalid", "unknown"):
        return verdict
    if planted_bug == "missed":
        return f"{shown_verdict(verdict, planted_bug)}: the planted bug was not found"
    return f"{verdict}, {MORE_FOUND if beside_planted_bug(plan, results) else AS_INTENDED}"
