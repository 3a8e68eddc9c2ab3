"""What a system promises, as the judge recorded it, and which of that a failed check shows to be broken."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from history import Counterexample
from history.records.check_records import check_records
from history.records.finding import findings_in
from history.records.violations import LINEARIZABLE, counterexamples_of
from reports.load.run import Run

#: ``claim``, ``of``, ``source``, ``checks`` and ``kinds``, as ``harness.systems.promise`` says.
Promises = Sequence[Mapping[str, Any]]


def promises_of(run: Run) -> list[dict[str, Any]]:
    """List what the system promises; ``of`` names only operations that the run has, where it has some of them."""
    found = run.environment.get("promises")
    asked = set(run.operations.f.names)
    return [
        {
            "claim": str(one.get("claim")),
            "of": [name for name in _names(one, "of") if name in asked] or _names(one, "of"),
            "source": str(one.get("source") or ""),
            "checks": _names(one, "checks"),
            "kinds": _names(one, "kinds"),
        }
        for one in (found if isinstance(found, list) else ())
        if isinstance(one, Mapping)
    ]


def broken_by(promises: Promises, check: str, kinds: Collection[str], operations: Collection[str]) -> Promises:
    """List the promises that a violation breaks: those of its kind, else of its check, else of its operations.

    ``kinds``: of the violation (none: all that the check can find); ``operations``: those that are wrong.
    """
    named = [one for one in promises if check in one["checks"]]
    of_kind = [one for one in named if not set(kinds).isdisjoint(one["kinds"])]
    about = set(operations)
    if of_kind:
        return of_kind
    of_check = [one for one in named if not (kinds and one["kinds"])]
    return of_check or [one for one in promises if about and (_of_everything(one) or not about.isdisjoint(one["of"]))]


def _of_everything(one: Mapping[str, Any]) -> bool:
    """Whether it names neither operations nor checks, as the sentences in the file of any program."""
    return not one["of"] and not one["checks"]


def behind_checks(run: Run, of_clients: str) -> dict[str, Promises]:
    """Map each check to the promises that it rests on; of one that failed only to those that it shows broken.

    What is promised of operations is behind the check ``of_clients`` alone.
    """
    promises, found = promises_of(run), {}
    for check in check_records(run.results):
        name, failed = str(check.get("name")), check.get("verdict") == "invalid"
        examples = [one.example for one in counterexamples_of(run.results) if one.check == name] if failed else []
        kinds = {one.kind for one in examples or findings_in(check)}
        about = {f for one in examples for f in operations_at_fault(one)} or set(run.operations.f.names)
        ones = broken_by(promises, name, kinds if failed else (), about if name == of_clients else ())
        found[name] = ones
    return {name: ones for name, ones in found.items() if ones}


def broken_in(promises: Promises, check: str, example: Counterexample) -> Promises:
    """List the promises that a counterexample shows to be broken."""
    about = operations_at_fault(example) if check in LINEARIZABLE else set()
    return broken_by(promises, check, {example.kind}, about)


def operations_at_fault(example: Counterexample) -> set[str]:
    """Name the operations that a counterexample shows to be wrong: the one that fits nowhere, else all of them."""
    return {one.f for one in example.suspects or example.operations}


def _names(one: Mapping[str, Any], field: str) -> list[str]:
    found = one.get(field)
    return list(map(str, found)) if isinstance(found, list | tuple) else []
