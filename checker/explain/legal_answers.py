"""Find every answer that an operation could have had, given everything on its object until it returned.

The orders of all operations are followed from return to return, as in Lowe's search (``checker.search.jit``), but with
each of the answers that the model allows the operation in question.  Calls that returned later may have taken effect by
then, or not.  An answer is legal if some order with it reaches the operation's return.

If every value of a register is written once, no orders are followed: each answer is tried, and the zones decide.
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

#: At most this many steps are tried for one operation; a step from a large state counts several times.
MAX_STEPS: Final = 100_000
#: Number of rows of columns that the zones visit in the time of one step.
_ROWS_A_STEP: Final = 500

TOO_MANY: Final = "there are too many orders to try them all"
UNBOUNDED: Final = "the answers cannot be listed"
DOUBTED: Final = "other operations that fit into no order may be at fault just as well"
NO_ORDER: Final = "the others have no order either"


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers that an operation could have had, or ``why`` they are unknown."""

    all: tuple[Any, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class _At:
    """Place in some order: which open calls are done, the state, and the answer of the suspect."""

    done: frozenset[int]
    state: State
    answer: Any


def with_answers(examples: Sequence[Counterexample], calls: Sequence[Call], scene: Scene) -> tuple[Counterexample, ...]:
    """For each counterexample that blames one operation, add every answer that it could legally have returned.

    Operations that other counterexamples blame count as unanswered.
    """
    blamed = {scene.rank_of(suspect) for example in examples for suspect in example.suspects}
    by_rank = {call.invoke: call for call in calls}
    known = [call for rank, call in by_rank.items() if rank not in blamed]
    doubted = [call for rank in blamed if rank in by_rank if (call := _unanswered(by_rank[rank], scene))]
    return tuple(
        _with_answers(example, by_rank, known, doubted, scene) if number < MAX_COUNTEREXAMPLES else example
        for number, example in enumerate(examples)
    )


def _unanswered(call: Call, scene: Scene) -> Call | None:
    """Return the call as if its answer had been lost.

    A cas that was reported as refused may then have swapped.
    """
    unanswered = call_of(replace(scene.operations[call.source], outcome="info"), call.source, scene.model)
    # Columns may number the events differently than the operations do.
    return None if unanswered is None else replace(unanswered, invoke=call.invoke)


def _with_answers(
    example: Counterexample, by_rank: dict[int, Call], known: list[Call], doubted: list[Call], scene: Scene
) -> Counterexample:
    suspect = by_rank.get(scene.rank_of(example.suspects[0])) if len(example.suspects) == 1 else None
    if suspect is None or suspect.pending or example.linearization is None:
        return example
    if scene.operations[suspect.source].f != suspect.f:
        return example  # a refused cas counts as a read, but a read's answers are not those of a cas
    others = [call for call in doubted if call.source != suspect.source]
    answers = answers_of(suspect, sorted([*known, *others, suspect], key=lambda call: call.invoke), scene.model)
    named = replace(example.linearization, unnamed=answers.why)
    if suspect.result in answers.all:
        return replace(example, linearization=replace(named, unnamed=DOUBTED))
    if not answers.why:
        named = replace(named, legal=tuple(map(thaw, answers.all)), whole=True)
    return replace(example, linearization=named)


def answers_of(suspect: Call, calls: Sequence[Call], model: Model) -> Answers:
    """List the answers that a call could have had, given the other ``calls`` up to its return."""
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
        visited, todo, after = set(nodes), list(nodes), set()
        while todo:
            at = todo.pop()
            if place in at.done:
                after.add(_At(at.done - {place}, at.state, at.answer))
                continue
            for other in opened - at.done:
                steps += 1 + (len(at.state) >> 6 if isinstance(at.state, Sized) else 0)
                reached = _taken(at, other, mine[other], model, is_suspect=mine[other] is suspect)
                if reached is None:
                    return Answers(why=UNBOUNDED)
                fresh = [node for node in reached if node not in visited]
                visited.update(fresh)
                todo += fresh
            if steps > MAX_STEPS:
                return Answers(why=TOO_MANY)
        nodes = after
        opened.discard(place)
    answers = sorted({at.answer for at in nodes}, key=repr)
    return Answers(tuple(answers)) if answers else Answers(why=NO_ORDER)


def _taken(at: _At, place: int, call: Call, model: Model, *, is_suspect: bool) -> list[_At] | None:
    """Return the places after a call, one for each answer of a suspect; None if these cannot be listed."""
    possible = model.answers(at.state, call.f, call.value) if is_suspect else (call.result,)
    if possible is None:
        return None
    # The actual answer may equal one of these in another order, as for a set.
    possible = dict.fromkeys((call.result, *possible))
    places = ((answer, model.step(at.state, call.f, call.value, answer)) for answer in possible)
    return [
        _At(at.done | {place}, state, answer if is_suspect else at.answer)
        for answer, state in places
        if state is not ILLEGAL
    ]


def _answers_by_zones(place: int, mine: Sequence[Call], model: Model) -> Answers:
    """List the answers of the read at ``place`` in a register whose values are written once each."""
    columns = cluster_columns(ranked(mine), model.initial)
    others = np.arange(len(mine)) != place
    rest = {name: getattr(columns, name)[others] for name in ("cluster", "write", "invoke", "ret")}
    if not zones(replace(columns, **rest)).valid:
        return Answers(why=NO_ORDER)
    # A value is overwritten if its write returned before another write began, and that one returned before the read
    # began.
    over = columns.write & (columns.ret < columns.invoke[place])
    last = columns.invoke[over].max(initial=0)
    rows = np.flatnonzero(columns.write & (columns.ret > last)).tolist()
    possible = [(int(columns.cluster[row]), mine[row].value) for row in rows]
    possible += [(0, model.initial)] if last == 0 else []
    if len(possible) * len(mine) > MAX_STEPS * _ROWS_A_STEP:
        return Answers(why=TOO_MANY)
    answers = []
    for cluster, value in possible:
        columns.cluster[place] = cluster
        if zones(columns).valid:
            answers.append(value)
    return Answers(tuple(sorted(answers, key=repr)))
