"""An object with few states that may start in any of them, so that a counterexample need not show how it began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from checker.core.calls import Call
from checker.core.model import ILLEGAL, Model, State

#: An object with more states than this keeps its own start.
MAX_STATES: Final = 64
_MAX_STEPS: Final = 4096


@dataclass(frozen=True, slots=True)
class _Perhaps:
    """Value of a call that may not have taken effect."""

    value: Any


def doubted(call: Call, model: Model) -> Call:
    """Return the call as one that may or may not have taken effect.

    Under ``AnyState`` it can take effect only while it was open; under any other model it becomes pending.
    """
    if call.pending or isinstance(call.value, _Perhaps):
        return call
    return replace(call, value=_Perhaps(call.value)) if isinstance(model, AnyState) else call.made_pending()


def is_sure(call: Call) -> bool:
    """Return whether the call certainly took effect."""
    return not call.pending and not isinstance(call.value, _Perhaps)


class AnyState(Model):
    """An object after unknown calls, whose state is the set of all states that it could be in.

    An order is legal here if and only if it is legal from one of the initial states, with or without each of the
    calls that only may have taken effect (``_Perhaps``).  A read may narrow the set, so no read may be linearized
    early.
    """

    reads: frozenset[str] = frozenset()

    def __init__(self, model: Model, states: frozenset[State]) -> None:
        self.name, self.noun = model.name, model.noun
        self.model, self.initial = model, states

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if isinstance(value, _Perhaps):
            after = self.step(state, f, value.value, result)
            return state if after is ILLEGAL else state | after
        following = frozenset(self.model.step(member, f, value, result) for member in state) - {ILLEGAL}
        return following or ILLEGAL

    def describe(self, state: State) -> str:
        return " or ".join(sorted(map(self.model.describe, state)))


def from_any_state(model: Model, calls: Sequence[Call]) -> Model | None:
    """Let the object start in any state that such calls can reach; None if there are too many states."""
    if (own := model.from_anywhere()) is not None or model.only_values:
        return own
    shapes = {(call.f, call.value, call.result) for call in calls}
    states, todo = {model.initial}, [model.initial]
    while todo:
        before = todo.pop()
        try:
            after = {model.step(before, *shape) for shape in shapes} - {ILLEGAL} - states
        except Exception:  # noqa: BLE001 (a user's own step may fail in a state that never comes about)
            return None
        states |= after
        todo += after
        if len(states) > MAX_STATES or len(states) * len(shapes) > _MAX_STEPS:
            return None
    return AnyState(model, frozenset(states))
