"""Conventions: what the operations of a file mean to the model that judges them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from checker.core.calls import calls_of, freeze
from checker.core.model import UNKNOWN, Made, Model, ModelError
from checker.models.objects import shape
from checker.models.registry import MODELS, model_named
from history import Event, Operation
from history.codes import ABSENT, FAIL, OK, READ
from history.readers import Foreign, OperationColumns
from history.records.operations import BEFORE, TXN


@dataclass(frozen=True, slots=True)
class Taken:
    """A history converted for a model; ``notes`` lists the assumptions, a sentence each."""

    model: Model
    history: Foreign
    notes: tuple[str, ...] = ()


def take(history: Foreign, model: str | Model, initial: Any = None) -> Taken:
    """Convert a history by the conventions of the model, which starts with ``initial`` (JSON; None: its default).

    Raises ModelError for an invalid initial value.
    """
    chosen = model_named(model)
    made: Sequence[Made] = ()
    if initial is not None:
        started = chosen.start_with(initial if isinstance(initial, (list, dict)) else freeze(initial))
        chosen, made = (started, ()) if isinstance(started, Model) else (chosen, started)
    if made and (columns := history.columns) is not None:
        history = replace(
            history, operations=[columns.operation(row) for row in range(len(columns.invoke))], columns=None
        )
    if history.operations is None:
        return Taken(chosen, history)
    adopted = chosen.adopt(history.operations)
    notes: tuple[str, ...] = ()
    if adopted is not None:
        chosen, notes = adopted.model, adopted.notes
        history = replace(history, operations=list(adopted.operations))
    if made and history.operations:
        made = [_spelled(operation, history.operations) for operation in made]
        history = replace(history, operations=after(made, history.operations), line=_later(history, made))
        notes = (*notes, f"process {BEFORE} represents the initial state")
    return Taken(chosen, history, notes)


def after(made: Sequence[Made], operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations of each key, preceded by those that make its initial state."""
    keys = dict.fromkeys(operation.key for operation in operations)
    first, shift = min(operation.invoked for operation in operations), 2 * len(made) * len(keys)
    place = count()
    before = [
        Operation(BEFORE, f, key, value, result, "ok", first, first, next(place), next(place))
        for key in keys
        for f, value, result in made
    ]
    later = [
        replace(
            op, invoke_index=op.invoke_index + shift,
            return_index=None if op.return_index is None else op.return_index + shift,
        )
        for op in operations
    ]  # fmt: skip
    return [*before, *later]


def _spelled(made: Made, operations: Sequence[Operation]) -> Made:
    """Return a transaction with the keys that the history has: the digits of a JSON key may also be a string there."""
    f, value, result = made
    if f != TXN:
        return made
    steps = [step for operation in operations if isinstance(operation.value, (list, tuple)) for step in operation.value]
    texts = {step[1] for step in steps if isinstance(step, (list, tuple)) and len(step) == 3 and type(step[1]) is str}
    value = [[kind, str(key) if str(key) in texts else key, item] for kind, key, item in value]
    return f, value, result and value


def _later(history: Foreign, made: Sequence[Made]) -> Callable[[int], str] | None:
    """Return the places of events that come after the ones that make the initial state of each key."""
    if (line := history.line) is None:
        return None
    shift = 2 * len(made) * len({operation.key for operation in history.operations or ()})
    return lambda index: line(index - shift)


def as_plain_events(taken: Taken, initial: Any) -> list[Event]:
    """Return the events of a history as its model sees it, so that a reader needs only the model's name.

    The object's initial contents become an operation before all others, even if the model has them as its state:
    a write to a register, or a read of a bank whose balances are otherwise unknown.
    """
    operations: Sequence[Operation] = taken.history.operations or ()
    if initial is not None and operations and isinstance(taken.model.start_with(initial), Model):
        register = ("write", initial, None)
        operations = after([register if taken.model.one_value else ("read", None, initial)], operations)
    moments: list[tuple[int, Event]] = []
    for op in operations:
        begin = Event(0, op.invoked, "invoke", op.process, op.f, op.value, op.key, op.node)
        moments.append((op.invoke_index, begin))
        if op.return_index is not None:
            answer = op.result if op.outcome == "ok" else op.value
            end = op.invoked if op.returned is None else op.returned
            done = Event(0, end, op.outcome, op.process, op.f, answer, op.key, op.node, op.error)
            moments.append((op.return_index, done))
    moments.sort(key=lambda moment: moment[0])
    latest, events = 0, []
    for index, (_, event) in enumerate(moments):
        latest = max(latest, event.time)
        events.append(msgspec.structs.replace(event, index=index, time=latest))
    return events


def without_null_reads(history: Foreign) -> Foreign:
    """Return the history without the reads that were answered with null, which say nothing here."""
    if isinstance(columns := history.columns, OperationColumns):
        outcome = np.where(_null_reads(columns), FAIL, columns.outcome).astype(np.int8)
        return replace(history, columns=replace(columns, outcome=outcome))
    return replace(history, operations=[op for op in history.operations or () if not is_null_read(op)])


def _null_reads(columns: OperationColumns) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = (columns.kind == READ) & (columns.outcome == OK) & (columns.value == ABSENT)
    return mask


def has_null_reads(history: Foreign) -> bool:
    """Return whether a read was answered with null."""
    if isinstance(columns := history.columns, OperationColumns):
        return bool(_null_reads(columns).any())
    return any(map(is_null_read, history.operations or ()))


def is_null_read(operation: Operation) -> bool:
    """Return whether the operation is a read that found nothing."""
    return operation.f == "read" and operation.outcome == "ok" and operation.result is None


def first_misfit(operations: Sequence[Operation], model: Model) -> tuple[Operation, str] | None:
    """Return the first operation that the model does not have, and why; None if it has all of them."""
    for operation in operations:
        if (why := _misfit(operation, model)) is not None:
            return operation, why
    return None


def _misfit(operation: Operation, model: Model) -> str | None:
    try:
        calls = calls_of([operation], model)
        call = calls[0] if calls else None
        if call is None and operation.f in model.reads:
            return None
        value = freeze(operation.value) if call is None else call.value
        model.step(
            model.initial, operation.f if call is None else call.f, value, UNKNOWN if call is None else call.result
        )
    except ModelError as error:
        return str(error)
    except NotImplementedError:
        return None  # judged as a whole, and by its shape here
    except (TypeError, ValueError, AttributeError, KeyError, RecursionError):
        return f"{operation.f} of {shape(freeze(operation.value))} is not an operation of a {model.name}"
    return None


#: At most this many operations of each function and outcome are examined.
_LOOKED_AT: Final = 20


def fitting(operations: Sequence[Operation]) -> Iterator[str]:
    """Yield the names of models that have operations like these."""
    examples: dict[tuple[str, str], list[Operation]] = {}
    for operation in operations:
        some = examples.setdefault((operation.f, operation.outcome), [])
        if len(some) < _LOOKED_AT:
            some.append(operation)
    sample = [operation for some in examples.values() for operation in some]
    proposed: set[type[Model]] = set()
    for name in MODELS:
        model = model_named(name)
        if name.endswith("-unknown") or not model.is_general or type(model) in proposed:
            continue
        adopted = model.adopt(sample)
        if first_misfit(sample if adopted is None else adopted.operations, model) is None:
            proposed.add(type(model))
            yield name
