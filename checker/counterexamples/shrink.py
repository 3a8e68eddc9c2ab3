"""Shrink an invalid history to a few operations, by sound relaxations only.

A relaxation is sound if it keeps every linearizable history linearizable.  A history that is invalid afterwards was
therefore invalid before, so the system caused the violation, not the shrinking:

* cut the history after the return that cannot be explained (later calls are dropped, open ones become pending);
* let it start late, from an unknown state (open writes become pending, open reads are dropped);
* leave out a read, or every call on one part of the object (``Model.about``);
* treat a call as one that may not have taken effect (``any_state``).

Leaving out a single write would not be sound, because it may have been read.
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
#: Above this many calls, no single calls are left out.
_MAX_THINNED: Final = 2000
#: Memory in bytes for deciding an object that may start in any state: there are exponentially many sets of states.
_WINDOW_BYTES: Final = 4 << 20


def cut_at(calls: Sequence[Call], last: int) -> list[Call]:
    """Return the history up to and including rank ``last``."""
    kept = [call for call in calls if call.invoke <= last]
    return [call if call.ret <= last else call.made_pending() for call in kept]


def without_useless(calls: Sequence[Call], model: Model) -> list[Call]:
    """Return the calls without pending reads."""
    return [call for call in calls if not (call.pending and call.f in model.reads)]


def start_at(calls: Sequence[Call], moment: int, model: Model) -> list[Call]:
    """Return the history from rank ``moment`` on, for a model that may start in any state."""
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
    """Small invalid history, and the model under which it is invalid.

    ``start`` is the rank at which it starts, 0 for the object's own start.  ``end`` is the rank at which it ends.
    ``stands_alone``: it needs no earlier calls, not even those that made the values that it needs.
    """

    calls: tuple[Call, ...]
    model: Model
    start: int = 0
    end: int = NEVER
    stands_alone: bool = False


def shrink(calls: Sequence[Call], model: Model, last: int | None, limits: Limits) -> Core:
    """Shrink an invalid history; its first unexplained return has the rank ``last`` (None: search for it)."""

    def invalid(fewer: Sequence[Call], under: Model) -> bool:
        if limits.over():
            return False
        memory = _WINDOW_BYTES if isinstance(under, AnyState) else 1 << 27
        return decide(fewer, under, replace(limits, memory=memory), proof=False).verdict == "invalid"

    if last is None:
        last = _first_unexplained(calls, model, invalid)
    cut = without_useless(cut_at(calls, last), model)
    if not model.one_value and not invalid(cut, model):
        # An engine that uses the later answer of an open call may stop before that call returns.
        last = _first_unexplained(calls, model, invalid)
        cut = without_useless(cut_at(calls, last), model)
    core = _latest_start(cut, model, invalid)
    if len(core.calls) <= _MAX_THINNED and not core.stands_alone:
        core = replace(core, calls=tuple(_thinned(list(core.calls), core.model, invalid)))
    return replace(core, end=last)


def _first_unexplained(calls: Sequence[Call], model: Model, invalid: Judge) -> int:
    """Find the earliest return at which the history is invalid, by bisection.

    An invalid history stays invalid when it goes on.
    """
    returns = sorted(call.ret for call in calls if not call.pending)
    low, high = -1, len(returns) - 1
    while low + 1 < high:
        middle = (low + high) // 2
        cut = without_useless(cut_at(calls, returns[middle]), model)
        low, high = (low, middle) if invalid(cut, model) else (middle, high)
    return returns[high]


def _latest_start(calls: list[Call], model: Model, invalid: Judge) -> Core:
    """Start as late as possible: double the window backwards, then bisect for its start."""
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
    best, size = None, 1
    while low and best is None:
        low, high = max(0, len(moments) - size), low
        best, size = attempt(low), 2 * size
    if best is None:
        return Core(tuple(calls), model)
    while low + 1 < high:
        middle = (low + high) // 2
        core = attempt(middle)
        low, high, best = (middle, high, core) if core else (low, middle, best)
    return best


def _groups(calls: Sequence[Call], model: Model) -> Iterator[set[int]]:
    """Yield sets of calls (by source) that may be left out together, large sets before single calls."""
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
        needed = {asked_by(call) for call in calls if call.source not in sources}
        idle = [call for call in idle if made_by(call) not in needed]
    return {call.source for call in idle}


def _thinned(calls: list[Call], model: Model, invalid: Judge) -> list[Call]:
    """Leave out groups of calls while the history stays invalid."""
    before = None
    while before != len(calls):
        before = len(calls)
        for group in list(_groups(calls, model)):
            fewer = [call for call in calls if call.source not in group]
            gone = [call for call in calls if call.source in group]
            # Earlier removals may have changed what is sound: a single write may go only if no call reads its value.
            sound = len(group) > 1 or all(free_to_go(call, fewer, model) for call in gone)
            if gone and sound and invalid(fewer, model):
                calls = fewer
    return calls


def free_to_go(call: Call, others: Sequence[Call], model: Model) -> bool:
    """Return whether this call may be left out: it is a read, or no other call needs it."""
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
    """Return whether the call needs the object to hold this value: it reads the value, or replaces it by a CAS."""
    return (call.f == "read" and call.result == value) or (call.f == "cas" and call.value[0] == value)
