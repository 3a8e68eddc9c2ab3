"""Explain a counterexample of any model: the states that the object could be in, and the answer instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from checker.core.calls import Call, thaw
from checker.core.model import Model
from checker.core.result import EngineResult, Limits
from checker.core.scene import Scene
from checker.core.wording import MomentFormat, plain, refused_by, shown, who
from checker.counterexamples.any_state import AnyState
from checker.search.jit import search, shapes_of
from history import Counterexample, Linearization, Operation

_MAX_LISTED: Final = 6
#: Memory in bytes for finding out which answer of a large core is wrong.
_SEARCH_BYTES: Final = 4 << 20
_ANSWERED_WITH_NULL: Final = ("dequeue", "get")


def explain_generic(
    core: Sequence[Call], scene: Scene, result: EngineResult, under: Model | None = None
) -> Counterexample:
    """Explain a core by the first return that no order of its calls explains.

    ``under`` is the model that the core contradicts, if it is not the scene's own.
    """
    operations = tuple(scene.operations[call.source] for call in core)
    clock = MomentFormat.of(operations)
    model = under or scene.model
    searched = search(core, model, Limits(lambda: 0.0, memory=_SEARCH_BYTES), narrowed=False)
    last = searched.last if searched.last is not None else result.last
    due = next((call for call in core if call.ret == last), core[-1])
    operation = scene.operations[due.source]
    # The states that the whole history allows say more than those of these few operations, unless some are left out.
    same = result.states and result.last == due.ret and model.narrowed(zip(*shapes_of(core), strict=True)) is model
    states = result.states if same and not isinstance(under, AnyState) else searched.states or result.states
    named = [*states[:_MAX_LISTED], *["others"] * (len(states) > _MAX_LISTED)]
    could = " or ".join(named) or "something else"
    others = len(core) - 1
    given = f", given the {others} operations beside it" if others > 1 else ", given the other one" if others else ""
    words = plain(scene.model.wording(operation))
    text = f": {words}" if words else f" {answered(operation, due)}"
    because = plain(scene.model.because(scene.operations, operation))
    led = f"{because}. In full: " if because else ""
    sentence = (
        f"{led}{who(operation)}{text} ({clock.span(operation)}), but {scene.name} could only be "
        f"{could} by then{given}: no order of these operations explains that answer."
    )
    alone = Linearization(None, (), (core.index(due),))
    return Counterexample(scene.model.kind_of(operation), sentence, operations, alone)


def answered(operation: Operation, call: Call) -> str:
    """Say what an operation did or was answered.

    ``read 7``, ``swapped 7 for 8``, ``had its cas of 7 to 8 refused``, ``did dequeue and got 3``.
    """
    if operation.refused:
        return f"{refused_by(operation)} {shown(operation.seen)}"
    if call.f == "read":
        return f"read {shown(operation.result)}"
    if call.f == "write":
        return f"wrote {shown(thaw(call.value))}"
    if call.f in ("cas", "refused") and isinstance(operation.value, (list, tuple)):
        old, new = operation.value
        if call.f == "cas":
            return f"swapped {shown(old)} for {shown(new)}"
        return f"had its cas of {shown(old)} to {shown(new)} refused"
    argument = "" if operation.value is None else f" of {shown(operation.value)}"
    echo = operation.result == operation.value and operation.f not in _ANSWERED_WITH_NULL
    return f"did {operation.f}{argument}" + ("" if echo else f" and got {shown(operation.result)}")
