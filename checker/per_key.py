"""The verbs: check one object, or a whole history key by key."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from checker.core.calls import NEVER, Call, call_of, calls_of
from checker.core.definition import is_linearization, linearizable
from checker.core.model import Model, ModelError
from checker.core.result import Answer, Limits, Report, not_begun
from checker.core.scene import Scene
from checker.counterexamples.counters import find_in_counter
from checker.counterexamples.enumerate import MOST, Finding, Findings, completed_by, find_all, refuted, second_pass
from checker.counterexamples.kv import find_texts
from checker.counterexamples.one_register import Alone, as_transactions, find_alone, on_register
from checker.dispatch import decide
from checker.engines.kv import ENGINE as TEXTS
from checker.engines.kv_pieces import pieces_of
from checker.engines.log_columns import Bounds, LogColumns, bounds, is_log_linearization, linearization, log_columns
from checker.engines.logs import ENGINE as LOG_SWEEP
from checker.engines.queues import ENGINE as QUEUE_SWEEP
from checker.engines.queues import decide_operations_of_queue
from checker.engines.search_columns import decide_operations
from checker.engines.set_columns import SetColumns, contradiction, is_set_linearization, levels, set_columns
from checker.engines.set_columns import linearization as order_of_set
from checker.engines.sets import ENGINE as SET_SWEEP
from checker.explain.counters import tell_counter
from checker.explain.generic import narrate
from checker.explain.kv import tell_texts
from checker.explain.logs_and_sets import tell_log, tell_set
from checker.explain.queues import tell_queue
from checker.explain.registers import explain
from checker.models.objects import Counter, FifoQueue, GrowSet, Log, MultiRegister
from checker.models.registry import model_named
from history import Counterexample, KeyVerdict, Operation, worst

_PROVEN: Final = 2000
# Fewer are decided sooner one by one than by columns.
_FEW: Final = 60
# So many reads that answer the same are tried whether they are the same violation.
_FOLDED: Final = 2000


@dataclass(frozen=True, slots=True)
class Told:
    """The counterexamples that are shown, how many violations there are, and what else is to be said."""

    examples: tuple[Counterexample, ...]
    violations: int
    reason: str | None


def untold(answer: Answer) -> Told:
    """Only the verdict, and at least one violation if there is any."""
    return Told((), max(answer.violations, answer.verdict == "invalid"), answer.reason)


class CertificateError(AssertionError):
    """An engine's certificate did not stand up to the independent verifier: a defect of the checker."""


def check_operations(
    operations: Sequence[Operation],
    model: str | Model,
    *,
    deadline_s: float | None = None,
    memory_cap: int = 2 << 30,
    engine: str | None = None,
    proofs: bool = True,
    clock: Callable[[], float] = time.monotonic,
) -> KeyVerdict:
    """Check the operations on one object.

    ``deadline_s`` is the time that may be spent, in seconds of ``clock``; ``memory_cap`` is in bytes.  The verdict is
    unknown, with a reason, when one of them does not suffice.  Without ``proofs`` there is only a verdict: no
    linearization is verified, no counterexamples are made, and not all violations are counted.
    Raises ModelError when an operation is none of the model's, or when the operations are of several keys.
    """
    started = clock()
    chosen = model_named(model)
    keys = {operation.key for operation in operations}
    if len(keys) > 1:
        raise ModelError(f"one object's operations are expected, found {len(keys)} keys")
    key = next(iter(keys), None)
    limits = Limits(clock, None if deadline_s is None else started + deadline_s, memory_cap, started)
    if type(chosen) is Log and engine in (None, "log") and len(operations) > _FEW:
        verdict = check_log(operations, chosen, key, limits, proofs=proofs)
        if verdict is not None:
            return verdict
    if type(chosen) is GrowSet and engine in (None, "set") and len(operations) > _FEW:
        verdict = check_set(operations, chosen, key, limits, proofs=proofs)
        if verdict is not None:
            return verdict
    found = None if engine or (proofs and len(operations) <= _PROVEN) else _without_calls(operations, chosen, limits)
    if found is not None and not (proofs and found[0].verdict == "invalid"):
        return key_verdict(key, *found, untold(found[0]), limits)
    calls = calls_of(operations, chosen)
    answer = decide(calls, chosen, limits, engine=engine, proof=proofs and len(calls) <= _PROVEN)
    _verify(answer, calls, chosen)
    told = counterexamples(answer, calls, Scene(operations, chosen, key), limits) if proofs else untold(answer)
    return key_verdict(key, answer, len(calls), told, limits)


def _without_calls(operations: Sequence[Operation], model: Model, limits: Limits) -> tuple[Answer, int] | None:
    """The verdict alone, and how many operations took part, where no calls are needed for that."""
    if type(model) is FifoQueue:
        return decide_operations_of_queue(operations, limits)
    return decide_operations(operations, model, limits)


def check_log(
    operations: Sequence[Operation], model: Log, key: str | int | None, limits: Limits, *, proofs: bool = True
) -> KeyVerdict | None:
    """One log by columns; None if that cannot tell, or not everything.  Raises CertificateError."""
    columns = log_columns(operations)
    if columns is None:
        return None
    if limits.over():
        late = not_begun(LOG_SWEEP, columns.size)
        return key_verdict(key, late, columns.size, Told((), 0, late.reason), limits)
    found = bounds(columns)
    if found is None:
        return None
    if found.valid:
        verdict = key_verdict(key, Answer("valid", LOG_SWEEP), columns.size, Told((), 0, None), limits)
        proven = proofs and columns.size <= _PROVEN
        return replace(verdict, certificate=_proof(columns, found)) if proven else verdict
    if not proofs:
        answer = Answer("invalid", LOG_SWEEP)
        return key_verdict(key, answer, columns.size, untold(answer), limits)
    crossings = found.crossings()
    pending = set(columns.begun[columns.ended == NEVER].tolist())
    if any(late in pending for _, late in crossings):
        return None
    cores = _cores(operations, model, crossings[:MOST])
    thinner = columns.without(completed_by(core, model).invoke for core in cores)
    # Without its longest list the log's entries may be known in part only.
    rest = bounds(thinner) if thinner.listed.size == columns.listed.size else None
    if rest is None or not rest.valid:
        return None
    answer = Answer("invalid", LOG_SWEEP, cores=cores, violations=len(crossings), last=crossings[0][0])
    told = counterexamples(answer, (), Scene(operations, model, key), limits)
    return key_verdict(key, answer, columns.size, told, limits)


def _proof(columns: LogColumns, found: Bounds) -> int:
    """The length of the linearization, which the verifier has seen."""
    order = linearization(columns, found)
    if not is_log_linearization(order, columns):
        raise CertificateError(f"the engine {LOG_SWEEP} gave an order that is no linearization")
    return order.size


def check_set(
    operations: Sequence[Operation], model: GrowSet, key: str | int | None, limits: Limits, *, proofs: bool = True
) -> KeyVerdict | None:
    """One set by columns; None if they do not fit.  Raises CertificateError."""
    columns = set_columns(operations)
    if columns is None:
        return None
    if limits.over():
        late = not_begun(SET_SWEEP, columns.calls)
        return key_verdict(key, late, columns.calls, Told((), 0, late.reason), limits)
    found = levels(columns)
    answer = Answer("valid" if found.valid else "invalid", SET_SWEEP)
    if found.valid or not proofs:
        verdict = key_verdict(key, answer, columns.calls, untold(answer), limits)
        if not (found.valid and proofs and columns.calls <= _PROVEN):
            return verdict
        order = order_of_set(columns, found)
        if not is_set_linearization(order, columns):
            raise CertificateError(f"the engine {SET_SWEEP} gave an order that is no linearization")
        return replace(verdict, certificate=order.size)
    told = _tell(_set_findings(operations, model, columns, limits), answer, Scene(operations, model, key))
    return key_verdict(key, answer, columns.calls, told, limits)


def _set_findings(operations: Sequence[Operation], model: GrowSet, columns: SetColumns, limits: Limits) -> Findings:
    """The contradictions, one after the other, each without what completed those before it."""
    held: list[Finding] = []
    gone: set[int] = set()
    more, note = second_pass(limits), None
    while (wrong := contradiction(columns, levels(columns))) is not None:
        if len(held) >= MOST or more.over():
            note = f"there may be more than the first {len(held)} violations: the rest was not looked for"
            break
        core = _begun_at(operations, model, wrong.begun, gone)
        answer = Answer("invalid", SET_SWEEP, cores=(core,), violations=1, kind=wrong.kind)
        held += find_all(answer, (), model, limits).held
        due = completed_by(held[-1].core, model)
        rest = [call for call in held[-1].core if call.source != due.source]
        again = [replace(due, invoke=begun, ret=ended) for begun, ended in columns.again(due.invoke)[:_FOLDED]]
        alike = {call.invoke for call in again if not refuted(Finding((*rest, call), answer), model)}
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
    return tuple(call.forgotten() if call.invoke in unanswered else call for call in calls)


def _cores(
    operations: Sequence[Operation], model: Log, crossings: Sequence[tuple[int, int]]
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
    operations: Iterable[Operation],
    model: str | Model = "register",
    *,
    deadline_s: float | None = None,
    memory_cap: int = 2 << 30,
    engine: str | None = None,
    proofs: bool = True,
    clock: Callable[[], float] = time.monotonic,
) -> Report:
    """Check operations key by key (linearizability is local: Herlihy and Wing 1990).

    Half of ``deadline_s`` is shared out evenly, the rest goes to the keys that need more.
    Raises ModelError for operations that are none of the model's.
    """
    started = clock()
    chosen = model_named(model)
    objects = list(by_key(operations).values())
    verdicts: dict[int, KeyVerdict] = {}

    def attempt(number: int, seconds: float | None) -> None:
        verdicts[number] = check_operations(
            objects[number], chosen, deadline_s=seconds, memory_cap=memory_cap, engine=engine,
            proofs=proofs, clock=clock,
        )  # fmt: skip

    if len(objects) == 1:
        attempt(0, deadline_s)
        return Report(verdicts[0].verdict, (verdicts[0],))
    for number in range(len(objects)):
        # The least that a key costs may be more than its share.
        share = None if deadline_s is None else min(deadline_s / (2 * len(objects)), deadline_s - (clock() - started))
        attempt(number, share)
    hard = [number for number, verdict in verdicts.items() if verdict.verdict == "unknown"]
    for place, number in enumerate(hard):
        left = 0.0 if deadline_s is None else deadline_s - (clock() - started)
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


def _verify(answer: Answer, calls: Sequence[Call], model: Model) -> None:
    if answer.order is not None and not is_linearization(answer.order, calls, model):
        raise CertificateError(f"the engine {answer.engine} gave an order that is no linearization")


def counterexamples(answer: Answer, calls: Sequence[Call], scene: Scene, limits: Limits) -> Told:
    """The counterexamples of an answer, each verified by the definition.  Raises CertificateError."""
    pieces = pieces_of(calls) if answer.engine == TEXTS and answer.verdict == "invalid" else None
    if pieces is not None and (texts := find_texts(calls, pieces, limits)) is not None:
        stories = (tell_texts(one.core, scene.as_known(one.core), one.answer, pieces) for one in texts.held)
        return Told(tuple(stories), texts.count, answer.reason or texts.note)
    if answer.verdict == "invalid" and type(scene.model) is Counter:
        found = find_in_counter(answer, calls, limits)
        if any(len(one.core) <= MOST and linearizable(one.core, one.model) for one in found.held):
            raise CertificateError(f"the engine {answer.engine} gave a counterexample that is linearizable")
        return Told(tuple(tell_counter(one, scene) for one in found.held), found.count, answer.reason or found.note)
    if type(scene.model) is MultiRegister and answer.verdict == "invalid":
        alone = find_alone(calls, limits)
        if alone is not None:
            told = tuple(_tell_alone(one, scene, answer) for one in alone.held)
            return Told(told, alone.count, answer.reason or alone.note)
    return _tell(find_all(answer, calls, scene.model, limits), answer, scene)


def _tell_alone(one: Alone, scene: Scene, answer: Answer) -> Counterexample:
    """The story of a violation on one of several registers.  Raises CertificateError."""
    there = on_register(scene, one.register)
    if refuted(one.finding, there.model):
        raise CertificateError(f"the engine {answer.engine} gave a counterexample that is linearizable")
    return as_transactions(_told(one.finding.core, there, one.finding.answer), one.register)


def _tell(found: Findings, answer: Answer, scene: Scene) -> Told:
    for finding in found.held:
        if refuted(finding, scene.model):
            raise CertificateError(f"the engine {answer.engine} gave a counterexample that is linearizable")
    examples = tuple(_told(finding.core, scene, finding.answer) for finding in found.held)
    return Told(examples, found.count, answer.reason or found.note)


def key_verdict(key: str | int | None, answer: Answer, operations: int, told: Told, limits: Limits) -> KeyVerdict:
    """The verdict on one key, with the size of its certificate."""
    order = None if answer.order is None else len(answer.order)
    return KeyVerdict(
        key=key,
        verdict=answer.verdict,
        engine=answer.engine,
        operations=operations,
        seconds=limits.clock() - limits.started,
        violations=told.violations,
        counterexamples=told.examples,
        reason=told.reason,
        certificate=len(told.examples[0].operations) if told.examples else order,
    )


def _told(core: Sequence[Call], scene: Scene, answer: Answer) -> Counterexample:
    scene = scene.as_known(core)
    if answer.engine == LOG_SWEEP:
        return tell_log(core, scene, answer)
    if answer.engine == SET_SWEEP:
        return tell_set(core, scene, answer)
    if answer.engine == QUEUE_SWEEP:
        return tell_queue(core, scene)
    example = explain(core, scene) or narrate(core, scene, answer)
    return replace(example, sentence=example.sentence + scene.aside(core))
