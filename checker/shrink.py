"""From an invalid history to a few operations, by sound relaxations only.

A relaxation is sound if it keeps every linearizable history linearizable; so what is invalid afterwards was invalid
before, and the counterexample is the system's and not the shrinker's:

* cut the history after the return that cannot be explained (later calls go, open ones become pending);
* let it start late, from an unknown state (open writes become pending, open reads go);
* leave out a read, or every call on one part of the object (``Model.about``).

Leaving out a single write would not be sound: somebody may have read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np

from checker.answer import Limits
from checker.calls import NEVER, Call
from checker.deciding import decide
from checker.definition import SMALL, linearizable
from checker.models import ANY, UNKNOWN, CasRegister, Model, Register

Judge: TypeAlias = Callable[[Sequence[Call], Model], bool]
# Does a part contradict itself?  None: that could not be decided.
Judged: TypeAlias = Callable[[Sequence[Call]], bool | None]
_LARGEST: Final = 2000
# All parts of so many calls are soon looked at.
_PARTS: Final = 9
# For one trial of leaving out a call of a large contradiction; and so long (s) at least all of them may take.
_ENOUGH: Final = 4 << 20
_LEAST_S: Final = 5.0


def cut_at(calls: Sequence[Call], last: int) -> list[Call]:
    """The history up to and including rank ``last``."""
    kept = [call for call in calls if call.invoke <= last]
    return [call if call.ret <= last else call.forgotten() for call in kept]


def without_useless(calls: Sequence[Call], model: Model) -> list[Call]:
    """Leave out reads that nobody saw complete."""
    return [call for call in calls if not (call.pending and call.f in model.reads)]


def start_at(calls: Sequence[Call], moment: int, model: Model) -> list[Call]:
    """The history from rank ``moment`` on, for a model that may start anywhere."""
    kept = []
    for call in calls:
        if call.invoke >= moment:
            kept.append(call)
        elif call.ret > moment and call.f not in model.reads:
            kept.append(call.forgotten())
    return kept


@dataclass(frozen=True, slots=True)
class Core:
    """A small invalid history and the model under which it is one.

    ``start`` is the rank at which it starts, 0 if that is the object's own start; ``end`` the one at which it ends.
    """

    calls: tuple[Call, ...]
    model: Model
    start: int = 0
    end: int = NEVER


def shrink(calls: Sequence[Call], model: Model, last: int | None, limits: Limits) -> Core:
    """Shrink an invalid history whose first unexplained return has the rank ``last`` (None: find it)."""

    def invalid(fewer: Sequence[Call], under: Model) -> bool:
        if limits.over():
            return False
        return decide(fewer, under, replace(limits, memory=1 << 27), proof=False).verdict == "invalid"

    if last is None:
        last = _first_unexplained(calls, model, invalid)
    cut = without_useless(cut_at(calls, last), model)
    if not isinstance(model, Register) and not invalid(cut, model):
        # An engine that knows what an open call will answer may stop before that answer is out.
        last = _first_unexplained(calls, model, invalid)
        cut = without_useless(cut_at(calls, last), model)
    core = _latest_start(cut, model, invalid)
    if len(core.calls) <= _LARGEST:
        core = replace(core, calls=tuple(_thinned(list(core.calls), core.model, invalid)))
    return replace(_rooted(core, cut, model), end=last)


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
    anywhere = model.from_anywhere()
    if anywhere is None:
        return Core(tuple(calls), model)
    moments = sorted(call.invoke for call in calls)

    def attempt(place: int) -> Core | None:
        kept = start_at(calls, moments[place], model)
        return Core(tuple(kept), anywhere, moments[place]) if invalid(kept, anywhere) else None

    size, best, found = 1, None, None
    while size <= len(moments) and found is None:
        found, best = attempt(len(moments) - size), len(moments) - size
        size *= 2
    if found is None:
        return Core(tuple(calls), model)
    low, high = best or 0, len(moments) - size // 4
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
    """Pending calls that no order needs: nobody but others of them asks for what they may have done."""
    if not isinstance(model, Register) or any(call.f == "refused" for call in calls):
        return {call.source for call in calls if call.pending and _free_to_go(call, calls, model)}
    idle = [call for call in calls if call.pending and call.f in ("write", "cas")]
    before = None
    while before != len(idle):
        before = len(idle)
        sources = {call.source for call in idle}
        asked = {_asked(call) for call in calls if call.source not in sources and call.f in ("read", "cas")}
        idle = [call for call in idle if (call.value if call.f == "write" else call.value[1]) not in asked]
    return {call.source for call in idle}


def _asked(call: Call) -> Any:
    return call.result if call.f == "read" else call.value[0]


def _thinned(calls: list[Call], model: Model, invalid: Judge) -> list[Call]:
    """Leave out as long as the history stays invalid."""
    before = None
    while before != len(calls):
        before = len(calls)
        for group in list(_groups(calls, model)):
            fewer = [call for call in calls if call.source not in group]
            gone = [call for call in calls if call.source in group]
            # What a group was good for may be gone by now: a single write may go only while nobody reads its value.
            sound = len(group) > 1 or all(_free_to_go(call, fewer, model) for call in gone)
            if gone and sound and invalid(fewer, model):
                calls = fewer
    return calls


def _rooted(core: Core, calls: Sequence[Call], model: Model) -> Core:
    """Give a history that starts anywhere the newest earlier writes of the values that are read in it.

    So it can be read, written and checked as a history of its own, from the object's own initial state.
    """
    if core.model is model or model.initial is ANY:
        return core
    rooted = list(core.calls)
    wanted = _unexplained(rooted, model)
    while wanted:
        root = _root(wanted.pop(), calls, core.start)
        if root is not None:
            rooted.append(root)
            # A swap that is put in front has a past of its own.
            wanted = _unexplained(rooted, model)
    return Core(tuple(sorted(rooted, key=lambda call: call.invoke)), model, core.start)


def _unexplained(calls: Sequence[Call], model: Model) -> list[Any]:
    """Values that are read or swapped away, and neither initial nor made by any of the calls."""
    made = {call.value if call.f == "write" else call.value[1] for call in calls if call.f in ("write", "cas")}
    asked = [call.result for call in calls if call.f == "read"]
    asked += [call.value[0] for call in calls if call.f == "cas" and not call.pending]
    return [value for value in dict.fromkeys(asked) if value not in made and value != model.initial]


def _root(value: Any, calls: Sequence[Call], start: int) -> Call | None:
    """The newest write of the value that had returned before ``start``, or else the newest swap."""
    before = [call for call in calls if call.ret < start]
    writes = [call for call in before if call.f == "write" and call.value == value]
    swaps = [call for call in before if call.f == "cas" and call.value[1] == value]
    return max(writes or swaps, key=lambda call: call.ret, default=None)


@dataclass(frozen=True, slots=True)
class Least:
    """What is left of a contradiction; of ``untried`` of its calls nobody knows whether they could be left out, too."""

    calls: list[Call]
    untried: int = 0

    @property
    def note(self) -> str | None:
        """What is not known, for people."""
        if not self.untried:
            return None
        return (
            f"a counterexample of {len(self.calls)} operations may not be minimal: of {self.untried} of them it was not"
            " decided whether they can be left out"
        )


def fewest(core: Core, calls: Sequence[Call], model: Model, limits: Limits) -> Least:
    """Leave out, one by one, what the definition (or for more than ``SMALL`` calls an engine) says is not needed.

    What the shrinking had forgotten of a call is put back first: people are shown whole operations.  It ends at the
    deadline, or, where that is far, after as long as the check took so far, some seconds at least.

    What is left must contradict itself together with all that made what it asks for, until the core's end; or it would
    accuse answers that an operation beside it explains.  If it does not, those operations go with it, and what returned
    after the end stays forgotten.  Of very many of them the newest earlier ones will do.  For reads and writes that is
    exact: of two earlier writes of a value the one that returned last can stand wherever the other had to stand last.
    """
    limits = _bounded(limits)
    judged, known = _judge(model, limits), without_useless(cut_at(calls, core.end), model)
    found = _reduced(_whole(core.calls, calls), model, judged, limits)
    if judged(_explained(found.calls, known, model)):
        return found
    wide = _explained(core.calls, known, model)
    if len(wide) > SMALL and core.start and model.initial is not ANY:
        newest = _whole([*_newest_before(core, calls), *core.calls], known)
        found = _reduced(newest, model, judged, limits)
        if all(call.f in ("read", "write") for call in newest) or judged(_explained(found.calls, known, model)):
            return found
    return _reduced(wide, model, judged, limits)


def _explained(part: Sequence[Call], known: Sequence[Call], model: Model) -> list[Call]:
    """The part, as it is ``known``, with all operations on what is asked for, by it or by one of these."""
    kept = {call.source: call for call in _whole(part, known)}
    asking = list(kept.values())
    while asking:
        asked = asking.pop()
        about = model.about(asked.f, asked.value, asked.result)
        for call in known:
            if call.source in kept:
                continue
            if call.f in ("write", "cas"):
                needed = _asks(asked, call.value if call.f == "write" else call.value[1])
            else:
                needed = call.f not in model.reads and not about.isdisjoint(
                    model.about(call.f, call.value, call.result)
                )
            if needed:
                kept[call.source] = call
                asking.append(call)
    return _whole(list(kept.values()), known)


def _whole(some: Sequence[Call], calls: Sequence[Call]) -> list[Call]:
    """The calls as they were recorded, each once, in the order of their invocations."""
    sources = {call.source for call in some}
    return sorted((call for call in calls if call.source in sources), key=lambda call: call.invoke)


def _judge(model: Model, limits: Limits) -> Judged:
    def judged(part: Sequence[Call]) -> bool | None:
        if len(part) <= SMALL:
            return not linearizable(part, model)
        verdict = decide(part, model, replace(limits, memory=_ENOUGH), proof=False).verdict
        return None if verdict == "unknown" else verdict == "invalid"

    return judged


def _newest_before(core: Core, calls: Sequence[Call]) -> list[Call]:
    """Of each value that is asked for, by the core or by one of these, what made it last before the core starts."""
    made: dict[Any, Call] = {}
    for call in sorted(calls, key=lambda call: call.ret):
        if call.ret < core.start and call.f in ("write", "cas"):
            made[call.value if call.f == "write" else call.value[1]] = call
    asking, newest = list(core.calls), []
    while asking:
        call = asking.pop()
        value = _asked(call) if call.f in ("read", "cas") else UNKNOWN
        if value in made:
            newest.append(made.pop(value))
            asking.append(newest[-1])
    return newest


def _bounded(limits: Limits) -> Limits:
    now = limits.clock()
    end = now + max(_LEAST_S, now - limits.started)
    return replace(limits, deadline=end if limits.deadline is None else min(end, limits.deadline))


def irreducible(core: Sequence[Call], model: Model, contradicts: Judged) -> list[Call]:
    """The least part of a contradiction, by a judge that always knows whether a part contradicts itself."""
    return _reduced(list(core), model, contradicts, Limits(lambda: 0.0)).calls


def _reduced(core: list[Call], model: Model, judged: Judged, limits: Limits) -> Least:
    """The smallest part of a contradiction that is contradiction enough.

    Of more than nine calls it is not the smallest one, but none of them may be left out alone.

    Calls may go only if every part of the whole whose rest contradicts itself did so before.  So what stays is the
    contradiction that was there, and no new one: without the write, the read of its value would be another story, and
    not the system's.
    """
    if judged(core) is False:
        return Least(core)
    if len(core) <= _PARTS:
        return Least(_smallest_part(core, judged))
    removal = _Removal(core, model, judged, limits)
    removal.run()
    if len(removal.kept) > _PARTS:
        return Least(removal.kept, removal.untried())
    return Least(_smallest_part(removal.kept, judged))


class _Removal:
    """Leaves out calls one by one, or of very many first a lot at a time.

    A call without which the rest is linearizable need not be tried again: what is left out later, is left out of that
    rest as well, which keeps linearizable histories linearizable.  So each call is decided about once, unless somebody
    had asked for what it did and is gone since.
    """

    def __init__(self, core: list[Call], model: Model, judged: Judged, limits: Limits) -> None:
        self.kept, self.model, self.judged, self.limits = core, model, judged, limits
        self.needed: set[int] = set()
        self.undecided: set[int] = set()

    def run(self) -> None:
        width = 1 if len(self.kept) <= _LARGEST else _LARGEST // 2
        before = None
        while before != len(self.kept) and not self.limits.over():
            before = len(self.kept)
            self.undecided.clear()
            reads_first = sorted(self.kept, key=lambda call: (call.f not in self.model.reads, -call.invoke))
            todo = [call for call in reads_first if call.source not in self.needed]
            for place in range(0, len(todo), width):
                self._leave_out(todo[place : place + width])

    def _leave_out(self, group: list[Call]) -> None:
        sources = {call.source for call in group}
        rest = [call for call in self.kept if call.source not in sources]
        free = [call for call in group if _free_to_go(call, rest, self.model)]
        if not free or self.limits.over():
            return
        sources = {call.source for call in free}
        rest = [call for call in self.kept if call.source not in sources]
        wrong = self.judged(rest) if all(_free_to_go(call, rest, self.model) for call in free) else False
        if wrong:
            self.kept = rest
        elif len(group) > 1:
            self._leave_out(group[: len(group) // 2])
            self._leave_out(group[len(group) // 2 :])
        else:
            (self.undecided if wrong is None else self.needed).update(sources)

    def untried(self) -> int:
        """How many calls may perhaps be left out, too."""
        left = [call for call in self.kept if call.source not in self.needed]
        return sum(_free_to_go(call, self.kept, self.model) for call in left)


def _smallest_part(core: list[Call], contradicts: Judged) -> list[Call]:
    """All parts of the core are judged once each; a part is a number with one bit a call."""
    parts = np.arange(1 << len(core))
    wrong = np.array([contradicts(_part(core, part)) for part in parts.tolist()])
    for part in sorted(parts.tolist(), key=int.bit_count):
        kept = _part(core, part)
        if wrong[part] and not (wrong[parts & part] & ~wrong).any() and not _misses(kept, core):
            return kept
    raise AssertionError("the whole core is a part of itself")


def _part(core: list[Call], part: int) -> list[Call]:
    return [call for place, call in enumerate(core) if part >> place & 1]


def _misses(kept: list[Call], core: list[Call]) -> bool:
    """Was a write or swap left out whose value is asked for in what is kept?"""
    gone = [call for call in core if call not in kept and call.f in ("write", "cas")]
    return any(_asks(other, call.value if call.f == "write" else call.value[1]) for call in gone for other in kept)


def _free_to_go(call: Call, others: Sequence[Call], model: Model) -> bool:
    """May this one call be left out: is it a read, or does nobody ask for what it did?"""
    if call.f in model.reads:
        return True
    about = model.about(call.f, call.value, call.result)
    if call.f in ("write", "cas"):
        new = call.value if call.f == "write" else call.value[1]
        # A write that nobody read may still be why a swap was refused.
        plain = bool(about) or (isinstance(model, CasRegister) and all(other.f != "refused" for other in others))
        return plain and not any(_asks(other, new) for other in others if other is not call)
    users = (model.about(other.f, other.value, other.result) for other in others if other.f != call.f)
    return bool(about) and all(about.isdisjoint(used) for used in users)


def _asks(call: Call, value: Any) -> bool:
    return (call.f == "read" and call.result == value) or (call.f == "cas" and call.value[0] == value)
