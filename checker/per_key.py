"""Check one object, or a whole history key by key.

Code that only counterexamples, long histories or transactions need is loaded when it is used: for a valid history of a
thousand operations, loading it would take longer than the check.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from checker.core.calls import calls_of
from checker.core.definition import is_linearization
from checker.core.engine import MAX_BY_CALLS, MAX_PROVEN_OPERATIONS, ByColumns
from checker.core.model import Model, ModelError, Register, is_register
from checker.core.options import DEFAULTS, CheckKeywords, CheckOptions
from checker.core.result import CertificateError, Limits, Report
from checker.core.scene import Scene
from checker.core.wording import who
from checker.dispatch import decide, first_for
from checker.engines.register_lists import RegisterList, columns_of_list, only_key, order_of_zones, verified
from checker.engines.registers import ZONES, judge_keys
from checker.engines.short_keys import search_short_keys
from checker.engines.zones_columns import takes_part
from checker.explain.explanation import key_verdict, unexplained
from checker.models.registry import model_named
from checker.models.transactions import Transactions
from checker.models.weak_register import SEQUENTIAL, STALENESS, WeakRegister
from checker.search.jit import ENGINE as SEARCH
from checker.turns import in_turns
from checker.weak_levels import as_stale, begun_earlier, check_weak, plain_register
from history import Counterexample, KeyVerdict, Operation, worst
from history.readers.columns import OperationColumns


def check_operations(
    operations: Sequence[Operation], model: str | Model, **options: Unpack[CheckKeywords]
) -> KeyVerdict:
    """Check the operations on one object; ``options`` are the fields of ``CheckOptions``.

    Raises ModelError for an operation that the model does not have, or if the operations have several keys.
    """
    return check_object(operations, model_named(model), CheckOptions(**options))


def check_object(operations: Sequence[Operation], model: Model, options: CheckOptions) -> KeyVerdict:
    """Check the operations on one object.  Raises ModelError as ``check_operations`` does."""
    if isinstance(model, Transactions):
        from checker.transactions.check import check_isolation

        return check_isolation(operations, model, options)
    if isinstance(model, WeakRegister):
        if model.level != STALENESS:
            return check_weak(operations, model, options)
        shifted = begun_earlier(operations, model.bound)
        return as_stale(_check(shifted, plain_register(model), options, shifted), model, shifted, operations)
    return _check(operations, model, options, operations)


def _check(
    operations: Sequence[Operation], model: Model, options: CheckOptions, recorded: Sequence[Operation]
) -> KeyVerdict:
    """Check one object; ``recorded`` are the same operations in the form in which they are shown."""
    limits, engine, proofs = options.limits(), options.engine, options.proofs
    keys = {operation.key for operation in operations}
    if len(keys) > 1:
        raise ModelError(f"expected the operations of one object, found {len(keys)} keys")
    if (other := model.judged_as(operations)) is not None:
        shown = {op.invoke_index: original for op, original in zip(operations, recorded, strict=True)}
        originals = [shown.get(op.invoke_index, op) for op in other[1]]
        judged = _without(model.artefacts, _check(other[1], other[0], options, originals))
        examples = tuple(_witnessed(example, model, recorded) for example in judged.counterexamples)
        certificate = len(examples[0].operations) if examples else judged.certificate
        return replace(judged, counterexamples=examples, certificate=certificate)
    key = next(iter(keys), None)
    first = first_for(model, len(operations))
    if first.by_columns is not None and engine in (None, first.name) and len(operations) > MAX_BY_CALLS:
        proven = proofs and len(operations) <= MAX_PROVEN_OPERATIONS
        decided = first.by_columns(operations, model, limits.of_verdict(), proven)
        scene = Scene(recorded, model, key)
        if decided is not None and (verdict := _decided(decided, operations, scene, limits, proofs=proofs)) is not None:
            return verdict
    calls = calls_of(operations, model)
    result = decide(calls, model, limits, engine=engine, proof=proofs and len(calls) <= MAX_PROVEN_OPERATIONS)
    if result.order is not None and not is_linearization(result.order, calls, model):
        raise CertificateError(f"the engine {result.engine} gave an order that is not a linearization")
    explained = unexplained(result)
    if proofs and result.verdict == "invalid":
        from checker.explain.explain import explain

        explained = explain(result, calls, Scene(recorded, model, key), limits)
    return key_verdict(key, result, len(calls), explained, limits)


def _decided(
    decided: ByColumns, operations: Sequence[Operation], scene: Scene, limits: Limits, *, proofs: bool
) -> KeyVerdict | None:
    """Return the verdict from columns with its proof; None if calls must show what is wrong.

    Raises CertificateError.
    """
    result, explained = decided.result, unexplained(decided.result)
    if proofs and result.verdict == "invalid":
        from checker.explain.explain import explain_columns

        if (shown := explain_columns(decided, operations, scene, limits)) is None:
            return None
        explained = shown
    verdict = key_verdict(scene.key, result, decided.operations, explained, limits)
    if not proofs or result.verdict != "valid" or decided.proof is None or decided.operations > MAX_PROVEN_OPERATIONS:
        return verdict
    if (certificate := decided.proof.certificate()) is None:
        raise CertificateError(f"the engine {result.engine} gave an order that is not a linearization")
    return replace(verdict, certificate=certificate)


def _witnessed(example: Counterexample, model: Model, recorded: Sequence[Operation]) -> Counterexample:
    """Return the counterexample with the operations that it needs to be a contradiction under this model."""
    if example.linearization is not None or not (more := model.witnesses(example.operations, recorded)):
        return example
    operations = sorted([*example.operations, *more], key=lambda operation: operation.invoke_index)
    says = "; ".join(f"{who(witness)} got that index for it" for witness in more)
    return replace(
        example, operations=tuple(operations), sentence=f"{example.sentence} There is an entry at that index: {says}."
    )


def _without(kinds: Collection[str], verdict: KeyVerdict) -> KeyVerdict:
    kept = tuple(example for example in verdict.counterexamples if example.kind not in kinds)
    counts = tuple(kind for kind in verdict.kinds if kind.kind not in kinds)
    return replace(verdict, counterexamples=kept, violations=sum(kind.count for kind in counts), kinds=counts)


def check_keys(
    operations: Iterable[Operation], model: str | Model = "register", options: CheckOptions = DEFAULTS
) -> Report:
    """Check operations key by key (linearizability is local: Herlihy and Wing 1990).

    Raises ModelError for operations that the model does not have.
    """
    started, chosen = options.clock(), model_named(model)
    given = operations if isinstance(operations, list) else list(operations)
    if is_register(chosen) and options.engine is None and (registers := columns_of_list(given, chosen)) is not None:
        return _check_registers(registers, given, chosen, options)
    objects = list(by_key(given).values())
    if isinstance(chosen, WeakRegister) and chosen.level == SEQUENTIAL:
        # Not local: keys that are sequentially consistent each need not be so together.
        objects = [[operation for mine in objects for operation in mine]] if objects else []
    verdicts = in_turns(
        range(len(objects)),
        options,
        lambda number, mine: check_object(objects[number], chosen, mine),
        size=lambda number: len(objects[number]),
        started=started,
    )
    keys = tuple(verdicts.values())
    return Report(worst(verdict.verdict for verdict in keys), keys)


def _check_registers(
    registers: RegisterList, operations: Sequence[Operation], model: Register, options: CheckOptions
) -> Report:
    """Check registers in columns, or as calls where a certificate or a counterexample needs them."""
    if not options.proofs:
        return _check_columns(registers.columns, model, options)
    columns, started = registers.columns, options.clock()
    counts = np.bincount(columns.key[takes_part(columns)], minlength=len(columns.keys))
    short = counts <= MAX_PROVEN_OPERATIONS
    if registers.faithful and not short.any():
        return _check_columns(columns, model, options)
    verdicts = valid_keys(columns, model, options)
    left = [number for number in range(len(columns.keys)) if number not in verdicts]
    objects = by_key(operations) if left else {}

    def attempt(number: int, mine: CheckOptions) -> KeyVerdict:
        if registers.faithful and not short[number]:
            return _check_columns(only_key(columns, number), model, mine).keys[0]
        return check_object(objects[columns.keys[number]], model, mine)

    verdicts.update(in_turns(left, options, attempt, size=lambda number: int(counts[number]), started=started))
    ordered = tuple(verdicts[number] for number in range(len(columns.keys)))
    return Report(worst(verdict.verdict for verdict in ordered), ordered)


def valid_keys(columns: OperationColumns, model: Register, options: CheckOptions) -> dict[int, KeyVerdict]:
    """Return the verdicts on the keys that one pass of the zones, and one of the search over short keys, find valid.

    Their linearizations are verified.  The work grows with the number of operations alone, whatever the deadline.
    Raises CertificateError.
    """
    started, keys, verdicts = options.clock(), len(columns.keys), dict[int, KeyVerdict]()
    judged = judge_keys(columns, np.ones(keys, np.bool_), model, options.limits())
    counts = np.bincount(columns.key[takes_part(columns)], minlength=keys)
    proven = judged.valid & (counts <= MAX_PROVEN_OPERATIONS)
    passes = [(ZONES.title, judged.valid, proven, order_of_zones(columns, proven))]
    if (searched := search_short_keys(columns, ~(judged.valid | judged.invalid), model)) is not None:
        passes.append((SEARCH, searched.valid, searched.valid, searched.order))
    for title, valid, proven, order in passes:
        lengths = verified(columns, order, proven)
        if (lengths[proven] < 0).any():
            raise CertificateError(f"the engine {title} gave an order that is not a linearization")
        seconds = (options.clock() - started) / keys
        for number in np.flatnonzero(valid).tolist():
            certificate, count = int(lengths[number]) if proven[number] else None, int(counts[number])
            name = columns.keys[number]
            verdicts[number] = KeyVerdict(name, "valid", title, count, seconds, certificate=certificate)
    return verdicts


def _check_columns(columns: OperationColumns, model: Register, options: CheckOptions) -> Report:
    from checker.columnar import check_columns

    return check_columns(columns, model, options)


def by_key(operations: Iterable[Operation]) -> dict[str | int | None, list[Operation]]:
    """Return the operations of each key, in order."""
    keys: dict[str | int | None, list[Operation]] = {}
    for operation in operations:
        keys.setdefault(operation.key, []).append(operation)
    return keys
