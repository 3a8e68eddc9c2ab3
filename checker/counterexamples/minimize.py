"""Minimize a contradiction: leave out operations until none can go.

What goes is judged by the definition, or, of more than ``MAX_DEFINITION_CALLS`` calls, by an engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np

from checker.core.calls import Call, asked_by
from checker.core.definition import MAX_DEFINITION_CALLS, linearizable
from checker.core.model import ANY, Model
from checker.core.result import Limits
from checker.counterexamples.any_state import doubted, is_sure
from checker.counterexamples.shrink import Core, cut_at, free_to_go, without_useless
from checker.counterexamples.support import calls_as_recorded, newest_before, with_later, with_makers_before
from checker.dispatch import decide

#: Does a part contradict itself?  None: that could not be decided.
Judged: TypeAlias = Callable[[Sequence[Call]], bool | None]
#: Above this many calls, batches are removed first.
_MAX_ONE_BY_ONE: Final = 2000
#: Up to this many calls, all parts are looked at.
_MAX_ALL_PARTS: Final = 9
#: Memory for one trial of leaving out a call, and the least time (s) for all trials.
_TRIAL_BYTES: Final = 4 << 20
_MIN_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class MinimalCore:
    """A contradiction of which no call can be left out; ``untried`` calls were not decided about."""

    calls: list[Call]
    untried: int = 0

    @property
    def note(self) -> str | None:
        """What is not known, in words."""
        if not self.untried:
            return None
        return (
            f"a counterexample of {len(self.calls)} operations may not be minimal: of {self.untried} of them it was not"
            " decided whether they can be left out"
        )


def minimize_core(core: Core, calls: Sequence[Call], model: Model, limits: Limits) -> MinimalCore:
    """Leave out, one by one, what is not needed to contradict.

    What the shrinking had left out of a call is put back first, to show whole operations.  So is what made
    the values that are asked for, if that was before the core starts: it is a history of its own then (``support``).

    What is left must contradict itself together with all that made what it asks for, until the core's end; or it would
    accuse answers that an operation beside it explains.  If it does not, those operations go with it, and what returned
    after the end stays pending.  Of very many of them the newest earlier ones will do.  For reads and writes that is
    exact: of two earlier writes of a value the one that returned last can stand wherever the other had to stand last.
    """
    limits = limits.extended(_MIN_S)
    if core.stands_alone:
        return _least_window(core, calls, limits)
    judged, known = _judge(model, limits), without_useless(cut_at(calls, core.end), model)
    part = with_makers_before(calls_as_recorded(core.calls, calls), known, core.start, model)
    found = _reduced(part, model, judged, limits)
    if not judged(_explained(found.calls, known, model)):
        found = _wider(core, known, model, judged, limits)
    return replace(found, calls=with_later(found.calls, calls, core.end, model))


def _least_window(core: Core, calls: Sequence[Call], limits: Limits) -> MinimalCore:
    """The fewest operations that no order explains, whether those beside them took effect or not.

    So these contradict themselves alone, and no other operation could explain them.  None can be left out: if it might
    not have taken effect, there would be an order.  That is shown by a few of the others, which are kept with them.
    """
    window = _Window(core, _judge(core.model, limits), limits)
    if len(window.sure) <= _MAX_ONE_BY_ONE:
        window.doubt(window.sure)
        if not window.untried and len(window.sure) <= MAX_DEFINITION_CALLS:
            window.drop(window.beside)
        else:
            window.beside = []
    else:
        window.beside, window.untried = [], len(window.sure)
    kept = {call.source for call in (*window.sure, *window.beside)}
    return MinimalCore([call for call in cut_at(calls, core.end) if call.source in kept], window.untried)


class _Window:
    """Calls that contradict each other, ``sure`` ones, with some ``beside`` them that may not have taken effect."""

    def __init__(self, core: Core, judged: Judged, limits: Limits) -> None:
        self.model, self.judged, self.limits = core.model, judged, limits
        self.sure = [call for call in core.calls if is_sure(call)]
        self.beside = [call for call in core.calls if not is_sure(call)]
        self.untried = 0

    def _is_wrong(self, sure: Sequence[Call], beside: Sequence[Call]) -> bool | None:
        if self.limits.over():
            return None
        part = [*sure, *(doubted(call, self.model) for call in beside)]
        return self.judged(sorted(part, key=lambda call: call.invoke))

    def doubt(self, group: Sequence[Call]) -> None:
        """Take calls for doubtful as long as the others contradict each other."""
        sure, beside = _without(self.sure, group), [*self.beside, *group]
        if wrong := self._is_wrong(sure, beside):
            self.sure, self.beside = sure, beside
        elif len(group) > 1:
            self.doubt(group[: len(group) // 2])
            self.doubt(group[len(group) // 2 :])
        else:
            self.untried += wrong is None

    def drop(self, group: Sequence[Call]) -> None:
        """Leave out doubtful calls as long as the others would explain what is left without any one of the sure."""
        rest = _without(self.beside, group)
        if all(self._is_wrong(_without(self.sure, [call]), [*rest, call]) is False for call in self.sure):
            self.beside = rest
        elif len(group) > 1:
            self.drop(group[: len(group) // 2])
            self.drop(group[len(group) // 2 :])


def _without(calls: Sequence[Call], gone: Sequence[Call]) -> list[Call]:
    sources = {call.source for call in gone}
    return [call for call in calls if call.source not in sources]


def _wider(core: Core, known: Sequence[Call], model: Model, judged: Judged, limits: Limits) -> MinimalCore:
    """The least part of the core and of what made the values that it asks for."""
    wide = _explained(core.calls, known, model)
    if len(wide) > MAX_DEFINITION_CALLS and core.start and model.initial is not ANY:
        makers, _ = newest_before(known, core.start)
        asked = {asked_by(call) for call in core.calls}
        roots = [call for value, call in makers.items() if value in asked]
        part = sorted([*roots, *calls_as_recorded(core.calls, known)], key=lambda call: call.invoke)
        found = _reduced(part, model, judged, limits)
        if all(call.f in ("read", "write") for call in part) or judged(_explained(found.calls, known, model)):
            return found
    return _reduced(wide, model, judged, limits)


def _explained(part: Sequence[Call], known: Sequence[Call], model: Model) -> list[Call]:
    """Add to the part all operations that made what it asks for, and what they ask for in turn."""
    kept = {call.source: call for call in calls_as_recorded(part, known)}
    asking = list(kept.values())
    makers: dict[Any, list[Call]] = {}
    for call in known:
        if call.source not in kept and call.f not in model.reads:
            for made in model.made(call.f, call.value, call.result):
                makers.setdefault(made, []).append(call)
    while asking:
        due = asking.pop()
        for made in model.asked(due.f, due.value, due.result):
            for call in makers.pop(made, ()):
                if call.source not in kept:
                    kept[call.source] = call
                    asking.append(call)
    return sorted(kept.values(), key=lambda call: call.invoke)


def _judge(model: Model, limits: Limits) -> Judged:
    def judged(part: Sequence[Call]) -> bool | None:
        if len(part) <= MAX_DEFINITION_CALLS:
            return not linearizable(part, model)
        verdict = decide(part, model, replace(limits, memory=_TRIAL_BYTES), proof=False).verdict
        return None if verdict == "unknown" else verdict == "invalid"

    return judged


def irreducible(core: Sequence[Call], model: Model, contradicts: Judged) -> list[Call]:
    """The least part of a contradiction, by a judge that always knows whether a part contradicts itself."""
    return _reduced(list(core), model, contradicts, Limits(lambda: 0.0)).calls


def _reduced(core: list[Call], model: Model, judged: Judged, limits: Limits) -> MinimalCore:
    """Leave out of a contradiction all that can go.

    Of more than nine calls it is not the smallest one, but none of them may be left out alone.

    Calls may go only if every part of the whole whose rest contradicts itself did so before.  So what stays is the
    contradiction that was there, and no new one: without the write, the read of its value would be another violation,
    and not the system's.
    """
    if judged(core) is False:
        return MinimalCore(core)
    if len(core) <= _MAX_ALL_PARTS:
        return MinimalCore(_smallest_part(core, model, judged))
    removal = _Removal(core, model, judged, limits)
    removal.run()
    if len(removal.kept) > _MAX_ALL_PARTS:
        return MinimalCore(removal.kept, removal.untried())
    return MinimalCore(_smallest_part(removal.kept, model, judged))


class _Removal:
    """Leave out calls one by one, or of very many first in batches.

    A call without which the rest is linearizable need not be tried again: what is left out later, is left out of that
    rest as well, which keeps linearizable histories linearizable.  So each call is decided about once, unless a call
    that needed what it did is gone since.
    """

    def __init__(self, core: list[Call], model: Model, judged: Judged, limits: Limits) -> None:
        self.kept, self.model, self.judged, self.limits = core, model, judged, limits
        self.needed: set[int] = set()
        self.undecided: set[int] = set()

    def run(self) -> None:
        width = 1 if len(self.kept) <= _MAX_ONE_BY_ONE else _MAX_ONE_BY_ONE // 2
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
        free = [call for call in group if free_to_go(call, rest, self.model)]
        if not free or self.limits.over():
            return
        sources = {call.source for call in free}
        rest = [call for call in self.kept if call.source not in sources]
        wrong = self.judged(rest) if all(free_to_go(call, rest, self.model) for call in free) else False
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
        if len(left) > _MAX_ONE_BY_ONE:
            return len(left)
        return sum(free_to_go(call, self.kept, self.model) for call in left)


def _smallest_part(core: list[Call], model: Model, contradicts: Judged) -> list[Call]:
    """Try all parts of the core; a part is a number with one bit a call."""
    parts = np.arange(1 << len(core))
    wrong = np.array([contradicts(_part(core, part)) for part in parts.tolist()])
    for part in sorted(parts.tolist(), key=int.bit_count):
        kept = _part(core, part)
        if wrong[part] and not (wrong[parts & part] & ~wrong).any() and not _misses(kept, core, model):
            return kept
    raise AssertionError("the whole core is a part of itself")


def _part(core: list[Call], part: int) -> list[Call]:
    return [call for place, call in enumerate(core) if part >> place & 1]


def _misses(kept: list[Call], core: list[Call], model: Model) -> bool:
    """Was a call left out that made a value which is asked for in what is kept?"""
    asked = {part for call in kept for part in model.asked(call.f, call.value, call.result) if part[0]}
    gone = [call for call in core if call not in kept]
    return any(part in asked for call in gone for part in model.made(call.f, call.value, call.result))
