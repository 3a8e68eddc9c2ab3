"""The promises of a system, as the judge recorded them, and which of them a failed check breaks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from history import Counterexample
from history.records.check_records import check_records
from history.records.finding import findings_in
from history.records.violations import LINEARIZABLE, counterexamples_of
from reports.load.run import LoadedRun

#: Each has ``claim``, ``of``, ``source``, ``checks`` and ``kinds``; see ``harness.systems.promise``.
Promises = Sequence[Mapping[str, Any]]


def promises_of(run: LoadedRun) -> list[dict[str, Any]]:
    """Return the promises of the system under test.

    ``of`` names only operations that the run has; if it has none of them, all are named.
    """
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
    """Return the promises that a violation breaks: those of its kind, else of its check, else of its operations.

    ``kinds`` are the kinds of the violation; if empty, every kind that the check can find.  ``operations`` are the
    operations that are wrong.
    """
    named = [one for one in promises if check in one["checks"]]
    of_kind = [one for one in named if not set(kinds).isdisjoint(one["kinds"])]
    about = set(operations)
    if of_kind:
        return of_kind
    of_check = [one for one in named if not (kinds and one["kinds"])]
    return of_check or [one for one in promises if about and (_of_everything(one) or not about.isdisjoint(one["of"]))]


def _of_everything(one: Mapping[str, Any]) -> bool:
    """Return whether a promise names neither operations nor checks, as in the file of a program."""
    return not one["of"] and not one["checks"]


def behind_checks(run: LoadedRun, of_clients: str) -> dict[str, Promises]:
    """Map each check to the promises that it rests on; a failed check only to those that it shows broken.

    Promises about operations belong only to the check ``of_clients``.
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
    """Return the promises that a counterexample shows to be broken."""
    about = operations_at_fault(example) if check in LINEARIZABLE else set()
    return broken_by(promises, check, {example.kind}, about)


def operations_at_fault(example: Counterexample) -> set[str]:
    """Return the functions that a counterexample blames: its suspects', or all if it has no suspects."""
    return {one.f for one in example.suspects or example.operations}


def _names(one: Mapping[str, Any], field: str) -> list[str]:
    found = one.get(field)
    return list(map(str, found)) if isinstance(found, list | tuple) else []
