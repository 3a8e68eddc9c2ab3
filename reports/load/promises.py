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
    recorded = run.environment.get("promises")
    functions = set(run.operations.f.names)
    return [
        {
            "claim": str(promise.get("claim")),
            "of": [name for name in _names(promise, "of") if name in functions] or _names(promise, "of"),
            "source": str(promise.get("source") or ""),
            "checks": _names(promise, "checks"),
            "kinds": _names(promise, "kinds"),
        }
        for promise in (recorded if isinstance(recorded, list) else ())
        if isinstance(promise, Mapping)
    ]


def broken_by(promises: Promises, check: str, kinds: Collection[str], operations: Collection[str]) -> Promises:
    """Return the promises that a violation breaks: those of its kind, else of its check, else of its operations.

    ``kinds`` are the kinds of the violation; if empty, every kind that the check can find.  ``operations`` are the
    operations that are wrong.
    """
    named = [promise for promise in promises if check in promise["checks"]]
    of_kind = [promise for promise in named if not set(kinds).isdisjoint(promise["kinds"])]
    about = set(operations)
    if of_kind:
        return of_kind
    of_check = [promise for promise in named if not (kinds and promise["kinds"])]
    return of_check or [
        promise for promise in promises if about and (_of_everything(promise) or not about.isdisjoint(promise["of"]))
    ]


def _of_everything(promise: Mapping[str, Any]) -> bool:
    """Return whether a promise names neither operations nor checks, as in the file of a program."""
    return not promise["of"] and not promise["checks"]


def behind_checks(run: LoadedRun, of_clients: str) -> dict[str, Promises]:
    """Map each check to the promises that it rests on; a failed check only to those that it shows broken.

    Promises about operations belong only to the check ``of_clients``.
    """
    promises, by_check = promises_of(run), {}
    for check in check_records(run.results):
        name, failed = str(check.get("name")), check.get("verdict") == "invalid"
        examples = [case.example for case in counterexamples_of(run.results) if case.check == name] if failed else []
        kinds = {finding.kind for finding in examples or findings_in(check)}
        about = {f for example in examples for f in operations_at_fault(example)} or set(run.operations.f.names)
        ones = broken_by(promises, name, kinds if failed else (), about if name == of_clients else ())
        by_check[name] = ones
    return {name: ones for name, ones in by_check.items() if ones}


def broken_in(promises: Promises, check: str, example: Counterexample) -> Promises:
    """Return the promises that a counterexample shows to be broken."""
    about = operations_at_fault(example) if check in LINEARIZABLE else set()
    return broken_by(promises, check, {example.kind}, about)


def operations_at_fault(example: Counterexample) -> set[str]:
    """Return the functions that a counterexample blames: its suspects', or all if it has no suspects."""
    return {operation.f for operation in example.suspects or example.operations}


def _names(promise: Mapping[str, Any], field: str) -> list[str]:
    names = promise.get(field)
    return list(map(str, names)) if isinstance(names, list | tuple) else []
