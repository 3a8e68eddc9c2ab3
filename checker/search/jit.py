"""The windowed search in just-in-time order: for any model, exponential only in concurrency.

Source: Lowe, "Testing for linearizability" (2017), with the compiled-model idea of knossos.  In a fixed
linearization every operation can be pushed to as late a moment as possible; then nothing needs to happen except at
returns.  A node of the depth-first search is (next return, which open calls are done, state).  A slow call does not
widen the window, because only open calls are in the mask.

Three reductions are sound for every model: a call that cannot change the state is taken at the first moment at which it
is legal; of open calls that are alike the one that returns first is used first; of pending calls that are alike the
earliest is used first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias

from checker.core.calls import Call
from checker.core.engine import NODE_BYTES
from checker.core.model import ILLEGAL, Model
from checker.core.result import LATE, EngineResult, Limits, OutOfTimeError

ENGINE: Final = "just-in-time search"
_LOOK_EVERY: Final = 512

#: What was linearized on the way to a node, newest first.
_Trail: TypeAlias = "tuple[_Trail, int] | None"
_Node: TypeAlias = tuple[int, int, int, Any]


class Shapes(NamedTuple):
    """The functions, values and results (``UNKNOWN``: pending) of calls, as lists of equal length."""

    f: list[str]
    value: list[Any]
    result: list[Any]


def shapes_of(calls: Sequence[Call]) -> Shapes:
    """Return the shapes of these calls."""
    return Shapes([call.f for call in calls], [call.value for call in calls], [call.result for call in calls])


class Transitions:
    """The model as a table of integers, filled on demand.

    ``known`` maps the state, above the class of the call in the lower half, to the next state, or -1.
    """

    def __init__(self, shapes: Shapes, model: Model, *, narrowed: bool = True) -> None:
        classes: defaultdict[tuple[str, Any, Any], int] = defaultdict(count().__next__)
        self.of = list(map(classes.__getitem__, zip(*shapes, strict=True)))
        self.examples = list(classes)
        self.model = model.narrowed(self.examples) if narrowed else model
        self.states: list[Any] = [self.model.initial]
        self._ids: dict[Any, int] = {self.model.initial: 0}
        self.known: dict[int, int] = {}

    def step(self, state: int, kind: int) -> int:
        key = state << 32 | kind
        known = self.known.get(key)
        if known is not None:
            return known
        before = self.states[state]
        f, value, result = self.examples[kind]
        after = self.model.step(before, f, value, result)
        if after is before:
            number = state
        elif after is ILLEGAL:
            number = -1
        else:
            # One look-up, as hashing a state may cost more than the step; a defaultdict makes several of a new one.
            number = self._ids.setdefault(after, len(self.states))
            if number == len(self.states):
                self.states.append(after)
        self.known[key] = number
        return number


@dataclass(slots=True)
class Schedule:
    """The returns in order, and the calls that are open just before each.

    ``bit[i]`` is call i's bit in a mask: bits of returned calls are reused, those of pending calls are not.
    ``open[e]`` holds the open calls that return, by their returns; ``pending[e]`` counts the pending calls that are
    open, the first ones in ``waiting``.
    """

    returns: list[int] = field(default_factory=list)
    bit: list[int] = field(default_factory=list)
    open: list[list[int]] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)


def schedule_of(calls: Sequence[Call], limits: Limits) -> Schedule:
    """Order the returns and assign the bits.  O(n log n + n * concurrency)."""
    schedule = Schedule(bit=[0] * len(calls))
    events = [(call.invoke, place, True) for place, call in enumerate(limits.paced(calls, ENGINE))]
    events += [(call.ret, place, False) for place, call in enumerate(calls) if not call.pending]
    free: list[int] = []
    used = 0
    open_now: list[int] = []
    for number, (_, place, invoked) in enumerate(sorted(events)):
        if number % _LOOK_EVERY == 0 and limits.over():
            raise OutOfTimeError(ENGINE, f"the deadline passed: {number} of {len(events)} events put in order")
        if not invoked:
            schedule.returns.append(place)
            schedule.open.append(sorted(open_now, key=lambda other: calls[other].ret))
            schedule.pending.append(len(schedule.waiting))
            open_now.remove(place)
            free.append(schedule.bit[place])
            continue
        if not free:
            free.append(1 << used)
            used += 1
        schedule.bit[place] = free.pop()
        (schedule.waiting if calls[place].pending else open_now).append(place)
    return schedule


class _Search:
    """One depth-first search; the frontier is a stack of nodes, the memory a set of nodes seen."""

    def __init__(self, calls: Sequence[Call], model: Model, limits: Limits, *, narrowed: bool) -> None:
        self.calls = calls
        self.plan = schedule_of(calls, limits)
        self.table = Transitions(shapes_of(calls), model, narrowed=narrowed)
        self.is_read = [call.f in model.reads for call in calls]
        self.seen: set[tuple[int, int, int]] = set()
        self.stack: list[_Node] = []
        self.deepest = -1
        self.deepest_states: set[int] = set()
        self._arrive(0, 0, 0, None)

    def _arrive(self, event: int, mask: int, state: int, trail: Any) -> None:
        """Take all open reads that are legal now, then remember the node if it is new."""
        if event < len(self.plan.returns):
            for place in self.plan.open[event]:
                bit = self.plan.bit[place]
                if self.is_read[place] and not mask & bit and self.table.step(state, self.table.of[place]) == state:
                    mask |= bit
                    trail = (trail, place)
        if (event, mask, state) in self.seen:
            return
        self.seen.add((event, mask, state))
        self.stack.append((event, mask, state, trail))
        if event > self.deepest:
            self.deepest, self.deepest_states = event, set()
        if event == self.deepest:
            self.deepest_states.add(state)

    def _candidates(self, event: int, mask: int) -> list[int]:
        """Return the open calls worth trying, only the first of those that are alike."""
        tried: set[tuple[int, bool]] = set()
        chosen = []
        waiting = self.plan.waiting[: self.plan.pending[event]]
        for place in (*self.plan.open[event], *waiting):
            like = (self.table.of[place], self.calls[place].pending)
            if not mask & self.plan.bit[place] and like not in tried:
                tried.add(like)
                chosen.append(place)
        return chosen

    def expand(self) -> Any:
        """Take one node off the stack; return its trail if it is the goal, else None."""
        event, mask, state, trail = self.stack.pop()
        if event == len(self.plan.returns):
            return (trail,)
        due = self.plan.returns[event]
        if mask & self.plan.bit[due]:
            self._arrive(event + 1, mask & ~self.plan.bit[due], state, trail)
            return None
        for place in reversed(self._candidates(event, mask)):
            after = self.table.step(state, self.table.of[place])
            if after < 0 or (after == state and place != due and self.calls[place].pending):
                continue
            self._arrive(event, mask | self.plan.bit[place], after, (trail, place))
        return None

    def order(self, trail: Any) -> list[Call]:
        order = []
        while trail is not None:
            trail, place = trail
            order.append(self.calls[place])
        return order[::-1]


def search(calls: Sequence[Call], model: Model, limits: Limits, *, narrowed: bool = True) -> EngineResult:
    """Decide with the just-in-time search; the calls need not have dense ranks.

    A valid answer contains a linearization, an invalid one the return that cannot be explained and the states before
    it.  These are all states of the object, unless the model is ``narrowed``.
    """
    work = _Search(calls, model, limits, narrowed=narrowed)
    nodes, most = 0, limits.memory // NODE_BYTES
    while work.stack:
        goal = work.expand()
        if goal is not None:
            return EngineResult("valid", ENGINE, order=work.order(goal[0]))
        nodes += 1
        if len(work.seen) > most or (nodes % _LOOK_EVERY == 0 and limits.over()):
            why = f"the memory cap of {limits.memory >> 20} MB was reached" if len(work.seen) > most else LATE
            far = f"{work.deepest} of {len(work.plan.returns)} completions explained, {len(work.seen)} configurations"
            return EngineResult("unknown", ENGINE, reason=f"{why}: {far}")
    due = calls[work.plan.returns[work.deepest]]
    states = tuple(sorted(work.table.model.describe(work.table.states[state]) for state in work.deepest_states))
    return EngineResult("invalid", ENGINE, violations=1, last=due.ret, states=states)
