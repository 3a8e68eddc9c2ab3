"""Check one log or one set by columns: verdict, proof and counterexamples, without a call an operation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Final

from checker.core.calls import Call, call_of, calls_of
from checker.core.engine import Engine
from checker.core.intervals import IntArray
from checker.core.model import Model
from checker.core.options import CheckOptions
from checker.core.result import CertificateError, EngineResult, Limits, not_begun
from checker.core.scene import Scene
from checker.counterexamples import enumerate as violations
from checker.engines import log_columns as logs
from checker.engines import set_columns as sets
from checker.engines.logs import LOG
from checker.engines.sets import SET
from checker.explain.explain import explain, explain_findings, key_verdict, unexplained, with_legal_answers
from history import KeyVerdict, Operation
from history.codes import NEVER
from history.records.text import counted
from history.records.verdicts import MAX_COUNTEREXAMPLES

#: Above this many operations no linearization is made and verified.
MAX_PROVEN_OPERATIONS: Final = 2000
#: Up to this many operations calls are faster than columns.
MAX_BY_CALLS: Final = 60


def check_log(
    operations: Sequence[Operation], scene: Scene, limits: Limits, options: CheckOptions
) -> KeyVerdict | None:
    """Check one log by columns; None if they do not decide, or not everything.  Raises CertificateError."""
    model, key = scene.model, scene.key
    columns = logs.log_columns(operations) if _by_columns(LOG, operations, options) else None
    if columns is None:
        return None
    if limits.over():
        return _plain(key, not_begun(LOG.title, columns.size), columns.size, limits)
    found = logs.bounds(columns)
    if found is None:
        return None
    if found.valid or not options.proofs:
        verdict = _plain(key, _result(LOG, valid=found.valid), columns.size, limits)
        if not (found.valid and options.proofs and columns.size <= MAX_PROVEN_OPERATIONS):
            return verdict
        order = logs.linearization(columns, found)
        return _certified(verdict, order, is_sound=logs.is_log_linearization(order, columns))
    crossings = found.crossings()
    pending = set(columns.begun[columns.ended == NEVER].tolist())
    if any(invoked in pending for _, invoked in crossings):
        return None
    shown = crossings[:MAX_COUNTEREXAMPLES]
    early = _calls_at(operations, model, "return_index", {rank for rank, _ in shown})
    late = _calls_at(operations, model, "invoke_index", {rank for _, rank in shown})
    cores = tuple((early[returned], late[invoked]) for returned, invoked in shown)
    thinner = columns.without(violations.completed_by(core, model).invoke for core in cores)
    # Without its longest list the log's entries may be known in part only.
    rest = logs.bounds(thinner) if thinner.listed.size == columns.listed.size else None
    if rest is None or not rest.valid:
        return None
    result = EngineResult("invalid", LOG.title, cores=cores, violations=len(crossings), last=crossings[0][0])
    explained = explain(result, (), scene, limits)
    return key_verdict(key, result, columns.size, explained, limits)


def check_set(
    operations: Sequence[Operation], scene: Scene, limits: Limits, options: CheckOptions
) -> KeyVerdict | None:
    """Check one set by columns; None if they do not fit.  Raises CertificateError."""
    model, key = scene.model, scene.key
    columns = sets.set_columns(operations) if _by_columns(SET, operations, options) else None
    if columns is None:
        return None
    if limits.over():
        return _plain(key, not_begun(SET.title, columns.calls), columns.calls, limits)
    found = sets.levels(columns)
    result = _result(SET, valid=found.valid)
    if found.valid or not options.proofs:
        verdict = _plain(key, result, columns.calls, limits)
        if not (found.valid and options.proofs and columns.calls <= MAX_PROVEN_OPERATIONS):
            return verdict
        order = sets.linearization(columns, found)
        return _certified(verdict, order, is_sound=sets.is_set_linearization(order, columns))
    explained = explain_findings(_set_findings(operations, model, columns, limits), result, scene)
    explained = with_legal_answers(explained, lambda: calls_of(operations, model), scene, limits)
    return key_verdict(key, result, columns.calls, explained, limits)


def _by_columns(engine: Engine, operations: Sequence[Operation], options: CheckOptions) -> bool:
    return options.engine in (None, engine.name) and len(operations) > MAX_BY_CALLS


def _result(engine: Engine, *, valid: bool) -> EngineResult:
    return EngineResult("valid" if valid else "invalid", engine.title)


def _plain(key: str | int | None, result: EngineResult, operations: int, limits: Limits) -> KeyVerdict:
    return key_verdict(key, result, operations, unexplained(result), limits)


def _certified(verdict: KeyVerdict, order: IntArray, *, is_sound: bool) -> KeyVerdict:
    """The verdict with the length of its linearization, which has been verified."""
    if not is_sound:
        raise CertificateError(f"the engine {verdict.engine} gave an order that is no linearization")
    return replace(verdict, certificate=order.size)


def _set_findings(
    operations: Sequence[Operation], model: Model, columns: sets.SetColumns, limits: Limits
) -> violations.Findings:
    """The contradictions, one after the other, each without what completed those before it."""
    held: list[violations.Finding] = []
    gone: set[int] = set()
    more, note = limits.extended(), None
    while (wrong := sets.contradiction(columns, sets.levels(columns))) is not None:
        if len(held) >= MAX_COUNTEREXAMPLES or more.over():
            note = f"there may be more than the first {counted(len(held), 'violation')}: the rest was not looked for"
            break
        begun = sorted(_calls_at(operations, model, "invoke_index", wrong.begun).items())
        core = tuple(call.made_pending() if rank in gone else call for rank, call in begun)
        result = EngineResult("invalid", SET.title, cores=(core,), violations=1, kind=wrong.kind)
        held += violations.find_all(result, (), model, limits).held
        due = violations.completed_by(held[-1].core, model)
        rest = [call for call in held[-1].core if call.source != due.source]
        again = columns.again(due.invoke)[: violations.MAX_FOLDED_READS]
        trials = [violations.Finding((*rest, replace(due, invoke=since, ret=until)), result) for since, until in again]
        alike = (trial.core[-1].invoke for trial in trials if not violations.has_linearization(trial, model))
        gone |= {due.invoke, *alike}
        columns = columns.without(gone)
    return violations.Findings(tuple(sorted(held, key=lambda finding: finding.moment)), len(held), note)


def _calls_at(operations: Sequence[Operation], model: Model, end: str, ranks: Collection[int]) -> dict[int, Call]:
    """The calls whose ``end`` (``invoke_index`` or ``return_index``) is one of these ranks, by that."""
    rank_of = attrgetter(end)
    found = ((source, one) for source, one in enumerate(operations) if rank_of(one) in ranks)
    calls = ((rank_of(one), call_of(one, source, model)) for source, one in found)
    return {rank: call for rank, call in calls if call is not None}


#: By the names of their engines.
BY_COLUMNS: Final = {LOG.name: check_log, SET.name: check_set}
