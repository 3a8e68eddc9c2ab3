"""Every answer that an operation could have had: beside all that had happened to its object until it returned.

The orders of all operations are followed from return to return, as the search of Lowe does it (``checker.search.jit``),
but by each of the answers that the model allows the operation in question.  What returned later may have taken effect
by then, or not.  An answer is named if some order leads to it and on to the operation's return.

Where every value of a register is written once, no order is followed: each answer is tried, and the zones decide.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from checker.core.calls import Call, call_of, ranked, thaw
from checker.core.model import ANY, ILLEGAL, UNKNOWN, Model, State
from checker.core.scene import Scene
from checker.counterexamples.shrink import without_useless
from checker.engines.registers import ZONES, cluster_columns
from checker.engines.zones import zones
from history import Counterexample
from history.records.verdicts import MAX_COUNTEREXAMPLES

#: At most this many steps are tried for one operation; those of a large state count for several.
MAX_STEPS: Final = 100_000
#: So many rows of columns are looked at in the time of a step.
_ROWS_A_STEP: Final = 500

TOO_MANY: Final = "there are too many orders to try them all"
UNBOUNDED: Final = "the answers cannot be listed"
DOUBTED: Final = "other operations that fit no order are as doubtful as this one"
NO_ORDER: Final = "there is no order of the others either"


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers that an operation could have had, or ``why`` they are not named."""

    all: tuple[Any, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class _At:
    """A place in some order: which open calls are done, the state then, and what the suspect was answered."""

    done: frozenset[int]
    state: State
    answer: Any


def with_answers(examples: Sequence[Counterexample], calls: Sequence[Call], scene: Scene) -> tuple[Counterexample, ...]:
    """Add to each counterexample that blames one operation every answer that this one could have had.

    Operations that others blame count as if they had not been answered.
    """
    blamed = {suspect.invoke_index for example in examples for suspect in example.suspects}
    by_index = {call.invoke: call for call in calls}
    known = [call for index, call in by_index.items() if index not in blamed]
    doubted = [call for index in blamed if index in by_index if (call := _unanswered(by_index[index], scene))]
    return tuple(
        _with_answers(example, by_index, known, doubted, scene) if number < MAX_COUNTEREXAMPLES else example
        for number, example in enumerate(examples)
    )


def _unanswered(call: Call, scene: Scene) -> Call | None:
    """The call as if its answer had been lost; a cas that was refused, or so it was answered, may have swapped then."""
    return call_of(replace(scene.operations[call.source], outcome="info"), call.source, scene.model)


def _with_answers(
    example: Counterexample, by_index: dict[int, Call], known: list[Call], doubted: list[Call], scene: Scene
) -> Counterexample:
    suspect = by_index.get(example.suspects[0].invoke_index) if len(example.suspects) == 1 else None
    if suspect is None or suspect.pending or example.linearization is None:
        return example
    if scene.operations[suspect.source].f != suspect.f:
        return example  # a refused cas counts as a read, and what it could have been answered is not what a read could
    others = [call for call in doubted if call.source != suspect.source]
    found = answers_of(suspect, sorted([*known, *others, suspect], key=lambda call: call.invoke), scene.model)
    named = replace(example.linearization, unnamed=found.why)
    if suspect.result in found.all:
        return replace(example, linearization=replace(named, unnamed=DOUBTED))
    if not found.why:
        named = replace(named, legal=tuple(map(thaw, found.all)), whole=True)
    return replace(example, linearization=named)


def answers_of(suspect: Call, calls: Sequence[Call], model: Model) -> Answers:
    """List the answers of a call, which is one of the ``calls``, beside what they had done until it returned."""
    mine = [call if call.ret <= suspect.ret else call.made_pending() for call in calls if call.invoke < suspect.ret]
    mine = without_useless(mine, model)
    if suspect.f == "read" and model.initial is not ANY and ZONES.applies(model, mine):
        return _answers_by_zones(mine.index(suspect), mine, model)
    moments = sorted([(call.invoke, place) for place, call in enumerate(mine)]
                     + [(call.ret, place) for place, call in enumerate(mine) if not call.pending])  # fmt: skip
    nodes, opened, steps = {_At(frozenset(), model.initial, UNKNOWN)}, set[int](), 0
    for moment, place in moments:
        if moment == mine[place].invoke:
            opened.add(place)
            continue
        seen, todo, after = set(nodes), list(nodes), set()
        while todo:
            at = todo.pop()
            if place in at.done:
                after.add(_At(at.done - {place}, at.state, at.answer))
                continue
            for other in opened - at.done:
                steps += 1 + (len(at.state) >> 6 if isinstance(at.state, Sized) else 0)
                found = _taken(at, other, mine[other], model, is_suspect=mine[other] is suspect)
                if found is None:
                    return Answers(why=UNBOUNDED)
                fresh = [one for one in found if one not in seen]
                seen.update(fresh)
                todo += fresh
            if steps > MAX_STEPS:
                return Answers(why=TOO_MANY)
        nodes = after
        opened.discard(place)
    answers = sorted({at.answer for at in nodes}, key=repr)
    return Answers(tuple(answers)) if answers else Answers(why=NO_ORDER)


def _taken(at: _At, place: int, call: Call, model: Model, *, is_suspect: bool) -> list[_At] | None:
    """The places after a call, the suspect by each of its answers; None where its answers cannot be listed."""
    possible = model.answers(at.state, call.f, call.value) if is_suspect else (call.result,)
    if possible is None:
        return None
    # What it was answered may be one of them in another order, as of a set.
    possible = dict.fromkeys((call.result, *possible))
    places = ((answer, model.step(at.state, call.f, call.value, answer)) for answer in possible)
    return [
        _At(at.done | {place}, state, answer if is_suspect else at.answer)
        for answer, state in places
        if state is not ILLEGAL
    ]


def _answers_by_zones(place: int, mine: Sequence[Call], model: Model) -> Answers:
    """The answers of a read, by its place, of a register whose values are written once each."""
    columns = cluster_columns(ranked(mine), model.initial)
    others = np.arange(len(mine)) != place
    rest = {name: getattr(columns, name)[others] for name in ("cluster", "write", "invoke", "ret")}
    if not zones(replace(columns, **rest)).valid:
        return Answers(why=NO_ORDER)
    # What had been written by the time at which a later write began that was over before the read is overwritten.
    over = columns.write & (columns.ret < columns.invoke[place])
    last = columns.invoke[over].max(initial=0)
    rows = np.flatnonzero(columns.write & (columns.ret > last)).tolist()
    possible = [(int(columns.cluster[row]), mine[row].value) for row in rows]
    possible += [(0, model.initial)] if last == 0 else []
    if len(possible) * len(mine) > MAX_STEPS * _ROWS_A_STEP:
        return Answers(why=TOO_MANY)
    found = []
    for cluster, value in possible:
        columns.cluster[place] = cluster
        if zones(columns).valid:
            found.append(value)
    return Answers(tuple(sorted(found, key=repr)))
