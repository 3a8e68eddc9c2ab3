"""Check one object, or a whole history key by key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias, Unpack

from checker.core.calls import calls_of
from checker.core.definition import is_linearization
from checker.core.model import Model, ModelError
from checker.core.options import DEFAULTS, CheckKeywords, CheckOptions
from checker.core.result import CertificateError, EngineResult, Limits, Report
from checker.core.scene import Scene
from checker.dispatch import decide
from checker.engines.queues import decide_operations_of_queue
from checker.engines.search_columns import decide_operations
from checker.explain.explain import explain, key_verdict, unexplained
from checker.logs_and_sets import MAX_PROVEN_OPERATIONS, check_log, check_set
from checker.models.ledger import Ledger, dense
from checker.models.objects import FifoQueue, GrowSet, Log
from checker.models.registry import model_named
from history import KeyVerdict, Operation, worst


def check_operations(
    operations: Sequence[Operation], model: str | Model, **options: Unpack[CheckKeywords]
) -> KeyVerdict:
    """Check the operations on one object; ``options`` are the fields of ``CheckOptions``.

    Raises ModelError when an operation is none of the model's, or when the operations are of several keys.
    """
    return check_object(operations, model_named(model), CheckOptions(**options))


def check_object(operations: Sequence[Operation], model: Model, options: CheckOptions) -> KeyVerdict:
    """Check the operations on one object.  Raises ModelError as ``check_operations`` does."""
    limits, engine, proofs = options.limits(), options.engine, options.proofs
    keys = {operation.key for operation in operations}
    if len(keys) > 1:
        raise ModelError(f"one object's operations are expected, found {len(keys)} keys")
    key = next(iter(keys), None)
    shortcut = _SHORTCUTS.get(type(model), Shortcut())
    if shortcut.check is not None:
        verdict = shortcut.check(operations, model, key, limits, options)
        if verdict is not None:
            return verdict
    proven = proofs and len(operations) <= MAX_PROVEN_OPERATIONS
    found = None if engine or proven else shortcut.decide(operations, model, limits)
    if found is not None and not (proofs and found[0].verdict == "invalid"):
        return key_verdict(key, *found, unexplained(found[0]), limits)
    calls = calls_of(operations, model)
    result = decide(calls, model, limits, engine=engine, proof=proofs and len(calls) <= MAX_PROVEN_OPERATIONS)
    if result.order is not None and not is_linearization(result.order, calls, model):
        raise CertificateError(f"the engine {result.engine} gave an order that is no linearization")
    explained = explain(result, calls, Scene(operations, model, key), limits) if proofs else unexplained(result)
    return key_verdict(key, result, len(calls), explained, limits)


def _check_ledger(
    operations: Sequence[Operation], _model: Model, _key: str | int | None, _limits: Limits, options: CheckOptions
) -> KeyVerdict:
    """Check a ledger as the log of its known entries.

    A hole in that is none in the ledger: an index that only a refuted answer named leaves one.
    """
    verdict = check_object(dense(operations), Log(), options)
    kept = tuple(example for example in verdict.counterexamples if example.kind != "log-hole")
    fewer = len(verdict.counterexamples) - len(kept)
    return replace(verdict, counterexamples=kept, violations=verdict.violations - fewer)


def check_keys(
    operations: Iterable[Operation], model: str | Model = "register", options: CheckOptions = DEFAULTS
) -> Report:
    """Check operations key by key (linearizability is local: Herlihy and Wing 1990).

    Half of the deadline is shared out evenly, the rest goes to the keys that need more.
    Raises ModelError for operations that are none of the model's.
    """
    started, deadline_s = options.clock(), options.deadline_s
    chosen = model_named(model)
    objects = list(by_key(operations).values())
    verdicts: dict[int, KeyVerdict] = {}

    def attempt(number: int, seconds: float | None) -> None:
        verdicts[number] = check_object(objects[number], chosen, replace(options, deadline_s=seconds))

    if len(objects) == 1:
        attempt(0, deadline_s)
        return Report(verdicts[0].verdict, (verdicts[0],))
    for number in range(len(objects)):
        # The least that a key costs may be more than its share.
        share = deadline_s
        if deadline_s is not None:
            share = min(deadline_s / (2 * len(objects)), deadline_s - (options.clock() - started))
        attempt(number, share)
    hard = [number for number, verdict in verdicts.items() if verdict.verdict == "unknown"]
    for place, number in enumerate(hard):
        left = 0.0 if deadline_s is None else deadline_s - (options.clock() - started)
        # One invalid key decides the whole; the others need not be known.
        if left > 0 and all(verdict.verdict != "invalid" for verdict in verdicts.values()):
            attempt(number, left / (len(hard) - place))
    keys = tuple(verdicts[number] for number in range(len(objects)))
    return Report(worst(verdict.verdict for verdict in keys), keys)


def by_key(operations: Iterable[Operation]) -> dict[str | int | None, list[Operation]]:
    """The operations of each key, in their order."""
    keys: dict[str | int | None, list[Operation]] = {}
    for operation in operations:
        keys.setdefault(operation.key, []).append(operation)
    return keys


_Check: TypeAlias = Callable[[Sequence[Operation], Model, str | int | None, Limits, CheckOptions], KeyVerdict | None]
_Decide: TypeAlias = Callable[[Sequence[Operation], Model, Limits], tuple[EngineResult, int] | None]


class Shortcut(NamedTuple):
    """The ways of one model around the engines on calls; both return None where they do not apply.

    ``check`` makes the whole verdict; ``decide`` an engine's result, and of how many operations, without proofs.
    """

    check: _Check | None = None
    decide: _Decide = decide_operations


_SHORTCUTS: Final[Mapping[type[Model], Shortcut]] = {
    Log: Shortcut(check_log),
    GrowSet: Shortcut(check_set),
    Ledger: Shortcut(_check_ledger),
    FifoQueue: Shortcut(decide=lambda operations, _model, limits: decide_operations_of_queue(operations, limits)),
}
