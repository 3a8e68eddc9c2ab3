"""Shrink an invalid history to a few operations, by sound relaxations only.

A relaxation is sound if it keeps every linearizable history linearizable; so what is invalid afterwards was invalid
before, and the counterexample is the system's and not the shrinker's:

* cut the history after the return that cannot be explained (later calls go, open ones become pending);
* let it start late, from an unknown state (open writes become pending, open reads go);
* leave out a read, or every call on one part of the object (``Model.about``);
* take a call for one that may not have taken effect (``any_state``).

Leaving out a single write would not be sound: it may have been read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from checker.core.calls import Call, asked_by, made_by
from checker.core.model import UNKNOWN, Model
from checker.core.result import Limits
from checker.counterexamples.any_state import AnyState, doubted, from_any_state
from checker.dispatch import decide
from history.codes import NEVER

Judge: TypeAlias = Callable[[Sequence[Call], Model], bool]
#: Above this many calls, none is left out one by one.
_MAX_THINNED: Final = 2000
#: Memory for deciding about an object that may start in any state, of which there are exponentially many sets.
_WINDOW_BYTES: Final = 4 << 20


def cut_at(calls: Sequence[Call], last: int) -> list[Call]:
    """The history up to and including rank ``last``."""
    kept = [call for call in calls if call.invoke <= last]
    return [call if call.ret <= last else call.made_pending() for call in kept]


def without_useless(calls: Sequence[Call], model: Model) -> list[Call]:
    """Leave out pending reads."""
    return [call for call in calls if not (call.pending and call.f in model.reads)]


def start_at(calls: Sequence[Call], moment: int, model: Model) -> list[Call]:
    """The history from rank ``moment`` on, for a model that may start anywhere."""
    if isinstance(model, AnyState):
        return [call if call.invoke >= moment else doubted(call, model) for call in calls if call.ret > moment]
    kept = []
    for call in calls:
        if call.invoke >= moment:
            kept.append(call)
        elif call.ret > moment and call.f not in model.reads:
            kept.append(call.made_pending())
    return kept


@dataclass(frozen=True, slots=True)
class Core:
    """A small invalid history and the model under which it is one.

    ``start`` is the rank at which it starts, 0 if that is the object's own start; ``end`` the one at which it ends.
    ``stands_alone``: it needs nothing that came before, not even what made the values that it asks for.
    """

    calls: tuple[Call, ...]
    model: Model
    start: int = 0
    end: int = NEVER
    stands_alone: bool = False


def shrink(calls: Sequence[Call], model: Model, last: int | None, limits: Limits) -> Core:
    """Shrink an invalid history whose first unexplained return has the rank ``last`` (None: find it)."""

    def invalid(fewer: Sequence[Call], under: Model) -> bool:
        if limits.over():
            return False
        memory = _WINDOW_BYTES if isinstance(under, AnyState) else 1 << 27
        return decide(fewer, under, replace(limits, memory=memory), proof=False).verdict == "invalid"

    if last is None:
        last = _first_unexplained(calls, model, invalid)
    cut = without_useless(cut_at(calls, last), model)
    if not model.one_value and not invalid(cut, model):
        # An engine that knows what an open call will answer may stop before that answer is out.
        last = _first_unexplained(calls, model, invalid)
        cut = without_useless(cut_at(calls, last), model)
    core = _latest_start(cut, model, invalid)
    if len(core.calls) <= _MAX_THINNED and not core.stands_alone:
        core = replace(core, calls=tuple(_thinned(list(core.calls), core.model, invalid)))
    return replace(core, end=last)


def _first_unexplained(calls: Sequence[Call], model: Model, invalid: Judge) -> int:
    """The earliest return at which the history is invalid, by halving: what is invalid stays so when it goes on."""
    returns = sorted(call.ret for call in calls if not call.pending)
    low, high = -1, len(returns) - 1
    while low + 1 < high:
        middle = (low + high) // 2
        cut = without_useless(cut_at(calls, returns[middle]), model)
        low, high = (low, middle) if invalid(cut, model) else (middle, high)
    return returns[high]


def _latest_start(calls: list[Call], model: Model, invalid: Judge) -> Core:
    """Start as late as possible: first doubling the window backwards, then halving the error."""
    anywhere = from_any_state(model, calls)
    if anywhere is None:
        return Core(tuple(calls), model)
    moments = sorted(call.invoke for call in calls)

    def attempt(place: int) -> Core | None:
        kept = start_at(calls, moments[place], anywhere)
        return (
            Core(tuple(kept), anywhere, moments[place], stands_alone=not model.one_value)
            if invalid(kept, anywhere)
            else None
        )

    low = high = len(moments)
    found, size = None, 1
    while low and found is None:
        low, high = max(0, len(moments) - size), low
        found, size = attempt(low), 2 * size
    if found is None:
        return Core(tuple(calls), model)
    while low + 1 < high:
        middle = (low + high) // 2
        core = attempt(middle)
        low, high, found = (middle, high, core) if core else (low, middle, found)
    return found


def _groups(calls: Sequence[Call], model: Model) -> Iterator[set[int]]:
    """Sources of calls that may be left out together, many at once before one by one."""
    parts: dict[Any, set[int]] = {}
    mixed: set[Any] = set()
    for call in calls:
        about = model.about(call.f, call.value, call.result) - {UNKNOWN}
        if len(about) > 1:
            mixed |= about
        for part in about:
            parts.setdefault(part, set()).add(call.source)
    yield from (_idle(calls, model), *(sources for part, sources in parts.items() if part not in mixed))
    yield from ({call.source} for call in calls if call.f in model.reads)
    yield from ({call.source} for call in calls if call.f not in model.reads)


def _idle(calls: Sequence[Call], model: Model) -> set[int]:
    """Find the pending calls whose effects only other pending calls need."""
    if not model.one_value or any(call.f == "refused" for call in calls):
        return {call.source for call in calls if call.pending and free_to_go(call, calls, model)}
    idle = [call for call in calls if call.pending and call.f in ("write", "cas")]
    before = None
    while before != len(idle):
        before = len(idle)
        sources = {call.source for call in idle}
        asked = {asked_by(call) for call in calls if call.source not in sources}
        idle = [call for call in idle if made_by(call) not in asked]
    return {call.source for call in idle}


def _thinned(calls: list[Call], model: Model, invalid: Judge) -> list[Call]:
    """Leave out as long as the history stays invalid."""
    before = None
    while before != len(calls):
        before = len(calls)
        for group in list(_groups(calls, model)):
            fewer = [call for call in calls if call.source not in group]
            gone = [call for call in calls if call.source in group]
            # What a group was good for may be gone by now: a single write may go only while its value is not read.
            sound = len(group) > 1 or all(free_to_go(call, fewer, model) for call in gone)
            if gone and sound and invalid(fewer, model):
                calls = fewer
    return calls


def free_to_go(call: Call, others: Sequence[Call], model: Model) -> bool:
    """May this one call be left out: is it a read, or needed by no other call?"""
    if call.f in model.reads:
        return True
    if model.only_values:
        made = set(model.made(call.f, call.value, call.result))
        rest = (other for other in others if other is not call)
        return all(made.isdisjoint(model.asked(other.f, other.value, other.result)) for other in rest)
    about = model.about(call.f, call.value, call.result)
    if call.f in ("write", "cas"):
        new = made_by(call)
        # An unread write may still be why a CAS was refused.
        plain = bool(about) or (model.one_value and all(other.f != "refused" for other in others))
        return plain and not any(needs_value(other, new) for other in others if other is not call)
    users = (model.about(other.f, other.value, other.result) for other in others if other.f != call.f)
    return bool(about) and all(about.isdisjoint(used) for used in users)


def needs_value(call: Call, value: Any) -> bool:
    """Does the call need that value to be there: a read of it, or a CAS that replaces it?"""
    return (call.f == "read" and call.result == value) or (call.f == "cas" and call.value[0] == value)
