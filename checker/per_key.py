"""Check one object, or a whole history key by key."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from checker.core.calls import Call, call_of, calls_of
from checker.core.definition import is_linearization
from checker.core.model import Model, ModelError
from checker.core.options import DEFAULTS, CheckOptions
from checker.core.result import CertificateError, EngineResult, Limits, Report, not_begun
from checker.core.scene import Scene
from checker.counterexamples.enumerate import (
    MAX_FOLDED_READS,
    Finding,
    Findings,
    completed_by,
    find_all,
    has_linearization,
)
from checker.dispatch import decide
from checker.engines.log_columns import Bounds, LogColumns, bounds, is_log_linearization, linearization, log_columns
from checker.engines.logs import ENGINE as LOG_SWEEP
from checker.engines.logs import LOG
from checker.engines.queues import decide_operations_of_queue
from checker.engines.search_columns import decide_operations
from checker.engines.set_columns import SetColumns, contradiction, is_set_linearization, levels, set_columns
from checker.engines.set_columns import linearization as order_of_set
from checker.engines.sets import ENGINE as SET_SWEEP
from checker.engines.sets import SET
from checker.explain.explain import Explanation, explain, explain_findings, unexplained, with_legal_answers
from checker.models.ledger import Ledger, dense
from checker.models.objects import FifoQueue, GrowSet, Log
from checker.models.registry import model_named
from history import KeyVerdict, Operation, worst
from history.codes import NEVER
from history.records.counted import counted
from history.records.verdicts import MAX_COUNTEREXAMPLES

_PROVEN: Final = 2000
# Fewer are decided sooner one by one than by columns.
_FEW: Final = 60


def check_operations(
    operations: Sequence[Operation],
    model: str | Model,
    *,
    deadline_s: float | None = DEFAULTS.deadline_s,
    memory_cap: int = DEFAULTS.memory_cap,
    engine: str | None = None,
    proofs: bool = True,
    clock: Callable[[], float] = DEFAULTS.clock,
) -> KeyVerdict:
    """Check the operations on one object; the arguments after the model are ``CheckOptions``.

    Raises ModelError when an operation is none of the model's, or when the operations are of several keys.
    """
    return check_object(operations, model_named(model), CheckOptions(deadline_s, memory_cap, engine, proofs, clock))


def check_object(operations: Sequence[Operation], model: Model, options: CheckOptions) -> KeyVerdict:
    """Check the operations on one object.  Raises ModelError as ``check_operations`` does."""
    if type(model) is Ledger:
        return _without_holes(check_object(dense(operations), Log(), options))
    limits, engine, proofs = options.limits(), options.engine, options.proofs
    keys = {operation.key for operation in operations}
    if len(keys) > 1:
        raise ModelError(f"one object's operations are expected, found {len(keys)} keys")
    key = next(iter(keys), None)
    name, by_columns = _BY_COLUMNS.get(type(model), (None, None))
    if by_columns is not None and engine in (None, name) and len(operations) > _FEW:
        verdict = by_columns(operations, model, key, limits, proofs)
        if verdict is not None:
            return verdict
    found = None if engine or (proofs and len(operations) <= _PROVEN) else _without_calls(operations, model, limits)
    if found is not None and not (proofs and found[0].verdict == "invalid"):
        return key_verdict(key, *found, unexplained(found[0]), limits)
    calls = calls_of(operations, model)
    result = decide(calls, model, limits, engine=engine, proof=proofs and len(calls) <= _PROVEN)
    _verify(result, calls, model)
    explained = explain(result, calls, Scene(operations, model, key), limits) if proofs else unexplained(result)
    return key_verdict(key, result, len(calls), explained, limits)


def _without_holes(verdict: KeyVerdict) -> KeyVerdict:
    """Drop what is none in a ledger: an index that only a refuted answer named leaves a hole in its dense log."""
    kept = tuple(example for example in verdict.counterexamples if example.kind != "log-hole")
    return replace(
        verdict, counterexamples=kept, violations=verdict.violations - len(verdict.counterexamples) + len(kept)
    )


def _without_calls(operations: Sequence[Operation], model: Model, limits: Limits) -> tuple[EngineResult, int] | None:
    """Decide without making calls, where that is possible: the result, and how many operations took part."""
    own = _WITHOUT_CALLS.get(type(model))
    return decide_operations(operations, model, limits) if own is None else own(operations, limits)


def check_log(
    operations: Sequence[Operation], model: Model, key: str | int | None, limits: Limits, proofs: bool
) -> KeyVerdict | None:
    """Check one log by columns; None if they do not decide, or not everything.  Raises CertificateError."""
    columns = log_columns(operations)
    if columns is None:
        return None
    if limits.over():
        late = not_begun(LOG_SWEEP, columns.size)
        return key_verdict(key, late, columns.size, Explanation((), 0, late.reason), limits)
    found = bounds(columns)
    if found is None:
        return None
    if found.valid:
        verdict = key_verdict(key, EngineResult("valid", LOG_SWEEP), columns.size, Explanation((), 0, None), limits)
        proven = proofs and columns.size <= _PROVEN
        return replace(verdict, certificate=_proof(columns, found)) if proven else verdict
    if not proofs:
        result = EngineResult("invalid", LOG_SWEEP)
        return key_verdict(key, result, columns.size, unexplained(result), limits)
    crossings = found.crossings()
    pending = set(columns.begun[columns.ended == NEVER].tolist())
    if any(late in pending for _, late in crossings):
        return None
    cores = _cores(operations, model, crossings[:MAX_COUNTEREXAMPLES])
    thinner = columns.without(completed_by(core, model).invoke for core in cores)
    # Without its longest list the log's entries may be known in part only.
    rest = bounds(thinner) if thinner.listed.size == columns.listed.size else None
    if rest is None or not rest.valid:
        return None
    result = EngineResult("invalid", LOG_SWEEP, cores=cores, violations=len(crossings), last=crossings[0][0])
    explained = explain(result, (), Scene(operations, model, key), limits)
    return key_verdict(key, result, columns.size, explained, limits)


def _proof(columns: LogColumns, found: Bounds) -> int:
    """Verify the linearization and return its length."""
    order = linearization(columns, found)
    if not is_log_linearization(order, columns):
        raise CertificateError(f"the engine {LOG_SWEEP} gave an order that is no linearization")
    return order.size


def check_set(
    operations: Sequence[Operation], model: Model, key: str | int | None, limits: Limits, proofs: bool
) -> KeyVerdict | None:
    """Check one set by columns; None if they do not fit.  Raises CertificateError."""
    columns = set_columns(operations)
    if columns is None:
        return None
    if limits.over():
        late = not_begun(SET_SWEEP, columns.calls)
        return key_verdict(key, late, columns.calls, Explanation((), 0, late.reason), limits)
    found = levels(columns)
    result = EngineResult("valid" if found.valid else "invalid", SET_SWEEP)
    if found.valid or not proofs:
        verdict = key_verdict(key, result, columns.calls, unexplained(result), limits)
        if not (found.valid and proofs and columns.calls <= _PROVEN):
            return verdict
        order = order_of_set(columns, found)
        if not is_set_linearization(order, columns):
            raise CertificateError(f"the engine {SET_SWEEP} gave an order that is no linearization")
        return replace(verdict, certificate=order.size)
    scene = Scene(operations, model, key)
    explained = explain_findings(_set_findings(operations, model, columns, limits), result, scene)
    explained = with_legal_answers(explained, lambda: calls_of(operations, model), scene, limits)
    return key_verdict(key, result, columns.calls, explained, limits)


def _set_findings(operations: Sequence[Operation], model: Model, columns: SetColumns, limits: Limits) -> Findings:
    """The contradictions, one after the other, each without what completed those before it."""
    held: list[Finding] = []
    gone: set[int] = set()
    more, note = limits.extended(), None
    while (wrong := contradiction(columns, levels(columns))) is not None:
        if len(held) >= MAX_COUNTEREXAMPLES or more.over():
            note = f"there may be more than the first {counted(len(held), 'violation')}: the rest was not looked for"
            break
        core = _begun_at(operations, model, wrong.begun, gone)
        result = EngineResult("invalid", SET_SWEEP, cores=(core,), violations=1, kind=wrong.kind)
        held += find_all(result, (), model, limits).held
        due = completed_by(held[-1].core, model)
        rest = [call for call in held[-1].core if call.source != due.source]
        again = [replace(due, invoke=begun, ret=ended) for begun, ended in columns.again(due.invoke)[:MAX_FOLDED_READS]]
        alike = {call.invoke for call in again if not has_linearization(Finding((*rest, call), result), model)}
        gone |= {due.invoke, *alike}
        columns = columns.without(gone)
    return Findings(tuple(sorted(held, key=lambda finding: finding.moment)), len(held), note)


def _begun_at(
    operations: Sequence[Operation], model: Model, begun: Collection[int], unanswered: Collection[int]
) -> tuple[Call, ...]:
    """The calls that were invoked at these ranks, in that order."""
    found = ((source, operation) for source, operation in enumerate(operations) if operation.invoke_index in begun)
    calls = [call for source, operation in found if (call := call_of(operation, source, model)) is not None]
    calls.sort(key=lambda call: call.invoke)
    return tuple(call.made_pending() if call.invoke in unanswered else call for call in calls)


def _cores(
    operations: Sequence[Operation], model: Model, crossings: Sequence[tuple[int, int]]
) -> tuple[tuple[Call, ...], ...]:
    """The pairs of calls by (return of the first, invocation of the second)."""
    returns, invocations = {early for early, _ in crossings}, {late for _, late in crossings}
    by_return: dict[int | None, Call | None] = {}
    by_invocation: dict[int, Call | None] = {}
    for source, operation in enumerate(operations):
        if operation.return_index in returns:
            by_return[operation.return_index] = call_of(operation, source, model)
        if operation.invoke_index in invocations:
            by_invocation[operation.invoke_index] = call_of(operation, source, model)
    pairs = ((by_return[early], by_invocation[late]) for early, late in crossings)
    return tuple((before, after) for before, after in pairs if before is not None and after is not None)


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


def key_verdict(
    key: str | int | None, result: EngineResult, operations: int, explained: Explanation, limits: Limits
) -> KeyVerdict:
    """The verdict on one key, with the size of its certificate."""
    order = None if result.order is None else len(result.order)
    return KeyVerdict(
        key=key,
        verdict=result.verdict,
        engine=result.engine,
        operations=operations,
        seconds=limits.clock() - limits.started,
        violations=explained.violations,
        counterexamples=explained.examples,
        reason=explained.reason,
        certificate=len(explained.examples[0].operations) if explained.examples else order,
    )


def _verify(result: EngineResult, calls: Sequence[Call], model: Model) -> None:
    if result.order is not None and not is_linearization(result.order, calls, model):
        raise CertificateError(f"the engine {result.engine} gave an order that is no linearization")


_ByColumns: TypeAlias = Callable[[Sequence[Operation], Model, str | int | None, Limits, bool], KeyVerdict | None]
_Decide: TypeAlias = Callable[[Sequence[Operation], Limits], tuple[EngineResult, int] | None]

# Objects of which columns decide everything, proofs and counterexamples too: the engine's name, and the check.
_BY_COLUMNS: Final[Mapping[type[Model], tuple[str, _ByColumns]]] = {
    Log: (LOG.name, check_log),
    GrowSet: (SET.name, check_set),
}
# Objects with a decision of their own on operations.
_WITHOUT_CALLS: Final[Mapping[type[Model], _Decide]] = {FifoQueue: decide_operations_of_queue}
