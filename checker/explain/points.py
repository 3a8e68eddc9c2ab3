"""Find linearization points of a counterexample: times at which all calls but the suspects may take effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from checker.core.calls import Call, asked_by, made_by, thaw
from checker.core.definition import linearizable, linearization
from checker.core.model import ANY, UNKNOWN, Model, State
from checker.core.scene import Scene
from history import Counterexample, Linearization, Operation, Point

#: Above this many operations, no suspect is named, because leaving out each in turn would take too long.
_MAX_OPERATIONS: Final = 9


def with_points(example: Counterexample, core: Sequence[Call], scene: Scene) -> Counterexample:
    """Add the linearization of all operations but the suspects to a register's counterexample.

    ``core`` is the core that the counterexample shows.
    """
    model = scene.model
    if not model.one_value or len(example.operations) > _MAX_OPERATIONS:
        return example
    places = {scene.rank_of(operation): place for place, operation in enumerate(example.operations)}
    calls = [replace(call, source=places[call.invoke]) for call in core]
    if (blame := _without_suspects(calls, model)) is None:
        return example
    suspects, order = blame
    return replace(
        example,
        linearization=Linearization(
            initial=_json(_initial(order, model)),
            points=_points(order, example.operations, model),
            suspects=tuple(call.source for call in suspects),
            legal=_legal_results(suspects[0], calls, model) if len(suspects) == 1 else (),
        ),
    )


def _without_suspects(calls: Sequence[Call], model: Model) -> tuple[list[Call], list[Call]] | None:
    """Return the suspects and a linearization of the other calls; None if no single call is to blame.

    The latest read is tried first.  Every other read whose removal makes the rest fit is just as suspicious,
    because these few operations do not show which of them is wrong.
    """
    if (order := linearization(calls, model)) is not None:
        return [], order
    for suspect in sorted(calls, key=lambda call: (call.f == "read", call.invoke), reverse=True):
        rest = [call for call in calls if call is not suspect]
        if (order := linearization(rest, model)) is None:
            continue
        others = [
            call for call in rest
            if suspect.f == call.f == "read" and linearizable([other for other in calls if other is not call], model)
        ]  # fmt: skip
        fitting = linearization([call for call in rest if call not in others], model) if others else None
        return ([suspect], order) if fitting is None else ([*others, suspect], fitting)
    return None


def _legal_results(suspect: Call, calls: Sequence[Call], model: Model) -> tuple[Any, ...]:
    """Return the results that a read could have had with the other calls."""
    if suspect.f != "read":
        return ()
    rest = [call for call in calls if call is not suspect]
    initial = None if model.initial is ANY else model.initial
    values = dict.fromkeys([initial, *(call.result if call.f == "read" else made_by(call) for call in rest)])
    legal = (value for value in values if value != suspect.result)
    return tuple(thaw(value) for value in legal if linearizable([*rest, replace(suspect, result=value)], model))


def _initial(order: Sequence[Call], model: Model) -> State:
    """Return the state before the first call; if it is unknown, the state that this call needs."""
    return asked_by(order[0]) if model.initial is ANY and order else model.initial


def _points(order: Sequence[Call], operations: Sequence[Operation], model: Model) -> tuple[Point, ...]:
    """Choose a moment for each call, in their order, in the middle of the room that later calls leave."""
    points: list[Point] = []
    state = model.initial
    now = min((operation.invoked for operation in operations), default=0)
    last = max((operations[call.source].returned or operations[call.source].invoked for call in order), default=0)
    for place, call in enumerate(order):
        low = max(now, operations[call.source].invoked)
        high = min(_end(other, operations, last) for other in order[place:])
        room = sum(operations[other.source].invoked < high for other in order[place:])
        now = low + max(high - low, 0) // (room + 1)
        state = model.step(state, call.f, call.value, call.result)
        points.append(Point(call.source, now, _json(state)))
    return tuple(points)


def _end(call: Call, operations: Sequence[Operation], last: int) -> int:
    returned = operations[call.source].returned
    return last if call.pending or returned is None else min(returned, last)


def _json(state: State) -> Any:
    return None if state is ANY or state is UNKNOWN else thaw(state)
