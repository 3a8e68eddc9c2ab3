"""Minimize a contradiction: leave out operations until every remaining one is needed.

Each attempt is judged by the definition, or by an engine if more than ``MAX_DEFINITION_CALLS`` calls are left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np

from checker.core.calls import Call, asked_by, without
from checker.core.definition import MAX_DEFINITION_CALLS, linearizable
from checker.core.model import ANY, Model
from checker.core.result import Limits
from checker.counterexamples.any_state import doubted, is_sure
from checker.counterexamples.shrink import Core, cut_at, free_to_go, without_useless
from checker.counterexamples.support import calls_as_recorded, newest_before, with_later, with_makers_before
from checker.dispatch import decide

#: Returns whether a part contradicts itself, or None if that could not be decided.
Judged: TypeAlias = Callable[[Sequence[Call]], bool | None]
#: Above this many calls, batches are removed first.
_MAX_ONE_BY_ONE: Final = 2000
#: Up to this many calls, all parts are tried.
_MAX_ALL_PARTS: Final = 9
#: Memory in bytes for one trial of leaving out a call, and the least time in seconds for all trials.
_TRIAL_BYTES: Final = 4 << 20
_MIN_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class MinimalCore:
    """Contradiction from which no call can be left out, except perhaps the ``untried`` ones."""

    calls: list[Call]
    untried: int = 0

    @property
    def note(self) -> str | None:
        """Say that some calls may not be needed; None if all are."""
        if not self.untried:
            return None
        return (
            f"a counterexample of {len(self.calls)} operations may not be minimal: "
            f"{self.untried} of them may not be needed"
        )


def minimize_core(core: Core, calls: Sequence[Call], model: Model, limits: Limits) -> MinimalCore:
    """Leave out, one by one, the calls that the contradiction does not need.

    First, whatever shrinking removed from calls is restored, to show whole operations.  The calls that made the needed
    values before the core starts are added as well, so that the core is a history of its own (see ``support``).

    The result must still be a contradiction together with all calls that made the values it needs, up to the core's
    end: otherwise it would accuse answers that an operation outside it explains.  If it is not, those calls are added,
    and calls that returned after the end stay pending.  If there are very many of them, only the newest earlier ones
    are added.  For reads and writes that is exact: of two earlier writes of a value, the one that returned last can
    take any place in which the other would have to come last.
    """
    limits = limits.extended(_MIN_S)
    if core.stands_alone:
        return _least_window(core, calls, limits)
    judged, known = _judge(model, limits), without_useless(cut_at(calls, core.end), model)
    part = with_makers_before(calls_as_recorded(core.calls, calls), known, core.start, model)
    minimal = _reduced(part, model, judged, limits)
    if not judged(_explained(minimal.calls, known, model)):
        minimal = _wider(core, known, model, judged, limits)
    return replace(minimal, calls=with_later(minimal.calls, calls, core.end, model))


def _least_window(core: Core, calls: Sequence[Call], limits: Limits) -> MinimalCore:
    """Return the fewest operations that no order explains, whether or not the other operations took effect.

    These operations contradict each other alone, and no other operation could explain them.  None of them can be
    left out: if one of them might not have taken effect, there would be an order.  A few of the other operations
    show that, and are kept.
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
    """Calls ``sure`` that contradict each other, and calls ``beside`` them that may not have taken effect."""

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
        """Treat calls as doubtful as long as the others still contradict each other."""
        sure, beside = without(self.sure, group), [*self.beside, *group]
        if wrong := self._is_wrong(sure, beside):
            self.sure, self.beside = sure, beside
        elif len(group) > 1:
            self.doubt(group[: len(group) // 2])
            self.doubt(group[len(group) // 2 :])
        else:
            self.untried += wrong is None

    def drop(self, group: Sequence[Call]) -> None:
        """Leave out doubtful calls as long as every sure call stays necessary: without it, the rest can be ordered."""
        rest = without(self.beside, group)
        if all(self._is_wrong(without(self.sure, [call]), [*rest, call]) is False for call in self.sure):
            self.beside = rest
        elif len(group) > 1:
            self.drop(group[: len(group) // 2])
            self.drop(group[len(group) // 2 :])


def _wider(core: Core, known: Sequence[Call], model: Model, judged: Judged, limits: Limits) -> MinimalCore:
    """Minimize the core together with the calls that made the values it needs."""
    wide = _explained(core.calls, known, model)
    if len(wide) > MAX_DEFINITION_CALLS and core.start and model.initial is not ANY:
        makers, _ = newest_before(known, core.start)
        needed = {asked_by(call) for call in core.calls}
        roots = [call for value, call in makers.items() if value in needed]
        part = sorted([*roots, *calls_as_recorded(core.calls, known)], key=lambda call: call.invoke)
        minimal = _reduced(part, model, judged, limits)
        if all(call.f in ("read", "write") for call in part) or judged(_explained(minimal.calls, known, model)):
            return minimal
    return _reduced(wide, model, judged, limits)


def _explained(part: Sequence[Call], known: Sequence[Call], model: Model) -> list[Call]:
    """Add to the part all calls that made what it needs, and recursively the calls that those need."""
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
    """Minimize a contradiction with a judge that always knows whether a part contradicts itself."""
    return _reduced(list(core), model, contradicts, Limits(lambda: 0.0)).calls


def _reduced(core: list[Call], model: Model, judged: Judged, limits: Limits) -> MinimalCore:
    """Leave out of a contradiction all calls that it does not need.

    A result of more than nine calls need not be the smallest, but no single call can be left out of it.

    Calls may go only if no part of the core becomes a contradiction because they are gone.  This keeps the
    contradiction that was there and creates no new one.  For example, a read whose write was left out would be a
    different violation, one that the system did not commit.
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
    """Removal of calls, one by one; if there are very many, in batches first.

    If the rest is linearizable without a call, that call need not be tried again.  Later attempts leave out even
    more, which keeps a linearizable history linearizable.  So each call is decided only once, unless a call that
    needed its effect has been removed since.
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
        """Return an upper bound on how many more calls could be left out."""
        left = [call for call in self.kept if call.source not in self.needed]
        if len(left) > _MAX_ONE_BY_ONE:
            return len(left)
        return sum(free_to_go(call, self.kept, self.model) for call in left)


def _smallest_part(core: list[Call], model: Model, contradicts: Judged) -> list[Call]:
    """Try all parts of the core and return the smallest sound one; a part is a bit mask of calls."""
    parts = np.arange(1 << len(core))
    wrong = np.array([contradicts(_part(core, part)) for part in parts.tolist()])
    for part in sorted(parts.tolist(), key=int.bit_count):
        # Sound only if the removal makes no part a contradiction that was none before.
        kept = _part(core, part)
        if wrong[part] and not (wrong[parts & part] & ~wrong).any() and not _misses(kept, core, model):
            return kept
    raise AssertionError("the whole core is a part of itself")


def _part(core: list[Call], part: int) -> list[Call]:
    return [call for place, call in enumerate(core) if part >> place & 1]


def _misses(kept: list[Call], core: list[Call], model: Model) -> bool:
    """Return whether a call was left out although it made a value that the kept calls need."""
    needed = {part for call in kept for part in model.asked(call.f, call.value, call.result) if part[0]}
    gone = [call for call in core if call not in kept]
    return any(part in needed for call in gone for part in model.made(call.f, call.value, call.result))
