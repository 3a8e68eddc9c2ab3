"""Explain an invalid result: each violation becomes a counterexample with a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from checker.core.calls import Call, calls_of
from checker.core.definition import linearizable
from checker.core.engine import ByColumns
from checker.core.result import CertificateError, EngineResult, Limits
from checker.core.scene import Scene, set_aside
from checker.counterexamples.any_state import from_any_state
from checker.counterexamples.counters import find_in_counter
from checker.counterexamples.enumerate import (
    MAX_TRIED_CORE,
    Findings,
    ProvenViolation,
    find_all,
    find_by_columns,
    has_linearization,
)
from checker.counterexamples.kv import find_in_kv
from checker.counterexamples.one_register import (
    SingleRegisterFinding,
    as_transactions,
    find_in_single_registers,
    on_register,
)
from checker.dispatch import decide, engine_titled
from checker.engines.kv import KV
from checker.engines.kv_pieces import pieces_of
from checker.engines.transactions import TRANSACTIONS
from checker.explain import registers
from checker.explain.counters import explain_counter
from checker.explain.explanation import Explanation
from checker.explain.generic import explain_generic
from checker.explain.kv import explain_kv
from checker.explain.legal_answers import with_answers
from checker.explain.points import with_points
from checker.models.transactions import RwRegister
from checker.transactions.check import broken_by
from history import Counterexample, Operation
from history.readers.transactions import columns_of_operations

#: Memory in bytes for deciding whether a core depends on what its processes did before.
_JUDGE_BYTES: Final = 4 << 20


def explain(result: EngineResult, calls: Sequence[Call], scene: Scene, limits: Limits) -> Explanation:
    """Make the counterexamples of a result.

    Each is verified by the definition.  Raises CertificateError if one is linearizable.
    """
    find = _FINDERS.get(result.engine) or _FINDERS.get(scene.model.encoding)
    explanation = find(result, calls, scene, limits) if find is not None and result.verdict == "invalid" else None
    if explanation is None:
        findings = _find_by_process(result, calls, scene, limits) or find_all(result, calls, scene.model, limits)
        explanation = explain_findings(findings, result, scene)
    return with_legal_answers(explanation, lambda: calls, scene, limits)


def _find_by_process(result: EngineResult, calls: Sequence[Call], scene: Scene, limits: Limits) -> Findings | None:
    """Find all violations in terms of what each process did before.

    Returns None if the model does not allow that, or if a core is not a violation without that knowledge.
    """
    same = scene.model.by_process(scene.operations) if result.verdict == "invalid" else None
    if same is None or (anywhere := from_any_state(scene.model, calls)) is None:
        return None
    model, operations = same
    findings = find_all(result, calls_of(operations, model), model, limits)
    for finding in findings.held:
        sources = {call.source for call in finding.core}
        core = [call for call in calls if call.source in sources]
        if decide(core, anywhere, replace(limits, memory=_JUDGE_BYTES), proof=False).verdict != "invalid":
            return None
    return findings


def explain_columns(
    decided: ByColumns, operations: Sequence[Operation], scene: Scene, limits: Limits
) -> Explanation | None:
    """Make the counterexamples of an invalid verdict from columns; None if that needs calls."""
    title, model, proof = decided.result.engine, scene.model, decided.proof
    findings = None if proof is None else find_by_columns(title, proof, operations, model, limits)
    if findings is None:
        return None
    explained = explain_findings(findings, decided.result, scene)
    return with_legal_answers(explained, lambda: calls_of(operations, model), scene, limits)


def with_legal_answers(
    explanation: Explanation, calls: Callable[[], Sequence[Call]], scene: Scene, limits: Limits
) -> Explanation:
    """Add the legal answers of each blamed operation, if there is time.

    ``calls`` is called only in that case.
    """
    if limits.over() or not any(example.linearization for example in explanation.examples):
        return explanation
    return replace(explanation, examples=with_answers(explanation.examples, calls(), scene))


def explain_findings(findings: Findings, result: EngineResult, scene: Scene) -> Explanation:
    """Explain the findings.  Raises CertificateError if one is linearizable."""
    for finding in findings.held:
        if has_linearization(finding, scene.model):
            raise _false(result)
    # Also for those that are not shown: the suspect dates the violation.
    examples = [with_points(_example(finding, scene), finding.core, scene) for finding in findings.held]
    return Explanation.of(examples, findings, result, scene)


def _example(finding: ProvenViolation, scene: Scene) -> Counterexample:
    core, result = finding.core, finding.result
    scene = scene.as_known(core)
    engine = engine_titled(result.engine)
    if engine is not None and engine.explain is not None:
        example = engine.explain(core, scene, result)
    else:
        example = registers.explain(core, scene) or explain_generic(core, scene, result, finding.under)
    aside = {call.invoke for call in set_aside(core, scene.operations)}
    places = (place for place, op in enumerate(example.operations) if aside and scene.rank_of(op) in aside)
    return replace(example, sentence=example.sentence + scene.aside(core), set_aside=tuple(places))


def _kv(result: EngineResult, calls: Sequence[Call], scene: Scene, limits: Limits) -> Explanation | None:
    pieces = pieces_of(calls)
    findings = None if pieces is None else find_in_kv(calls, pieces, limits)
    if pieces is None or findings is None:
        return None
    examples = (explain_kv(finding.core, scene, finding.result, pieces) for finding in findings.held)
    return Explanation.of(examples, findings, result, scene)


def _counter(result: EngineResult, calls: Sequence[Call], scene: Scene, limits: Limits) -> Explanation:
    findings = find_in_counter(result, calls, limits)
    if any(len(shown.core) <= MAX_TRIED_CORE and linearizable(shown.core, shown.model) for shown in findings.held):
        raise _false(result)
    return Explanation.of((explain_counter(shown, scene) for shown in findings.held), findings, result, scene)


def _one_register(result: EngineResult, calls: Sequence[Call], scene: Scene, limits: Limits) -> Explanation | None:
    """Explain transactions that are wrong on single registers; None if there are no such violations."""
    findings = find_in_single_registers(calls, limits)
    if findings is None:
        return None

    def example(alone: SingleRegisterFinding) -> Counterexample:
        there = on_register(scene, alone.register)
        if has_linearization(alone.finding, there.model):
            raise _false(result)
        return as_transactions(_example(alone.finding, there), alone.register)

    return Explanation.of(map(example, findings.held), findings, result, scene)


def _transactions(result: EngineResult, calls: Sequence[Call], scene: Scene, limits: Limits) -> Explanation | None:
    """Explain transactions by one register if that suffices, else by cycles; None if the search found no cycle."""
    if (explanation := _one_register(result, calls, scene, limits)) is not None:
        return explanation
    taken = [scene.operations[call.source] for call in calls]
    model = RwRegister("strict-serializable")
    examples, kinds = broken_by(columns_of_operations(taken, model.holds), model)
    examples = tuple(sorted(examples, key=lambda example: max(of.return_index or 0 for of in example.operations)))
    return Explanation(examples, sum(kind.count for kind in kinds), None, kinds) if kinds else None


def _false(result: EngineResult) -> CertificateError:
    return CertificateError(f"the engine {result.engine} gave a counterexample that is linearizable")


_Find: TypeAlias = Callable[[EngineResult, Sequence[Call], Scene, Limits], Explanation | None]

#: By engine, or else by encoding: functions that find violations instead of ``find_all``.  They return None if they
#: cannot.
_FINDERS: Final[Mapping[str | None, _Find]] = {
    KV.title: _kv, TRANSACTIONS.title: _transactions, "sums": _counter, "rows": _one_register,
}  # fmt: skip
