"""Decide sets that only grow, with reads of all elements: one sweep over the distinct reads.

All reads must form a chain by inclusion: levels S_1 < S_2 < …. The earliest start of a level is the latest of the
invocations of its adds and the end of the level before.  The level must have begun by the first return of its reads,
and lasts until the latest invocation of its reads.  By then no add of an element outside the level may have returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

from checker.core.calls import Call
from checker.core.engine import ByColumns, Engine, only
from checker.core.model import Model
from checker.core.result import EngineResult, Limits, not_begun
from checker.engines.sentences import explain_set
from checker.engines.set_columns import SetProof, levels, set_columns
from checker.models.objects import GrowSet
from history import Operation

ENGINE: Final = "set sweep"


@dataclass(slots=True)
class _Level:
    elements: frozenset[Any]
    reads: list[Call] = field(default_factory=list)

    @property
    def first(self) -> Call:
        return min(self.reads, key=lambda call: call.ret)

    @property
    def last(self) -> Call:
        return max(self.reads, key=lambda call: call.invoke)


def decide_by_set_sweep(calls: Sequence[Call], limits: Limits, *, proof: bool = True) -> EngineResult:
    """Decide whether one set that only grows is linearizable."""
    began: dict[Any, Call] = {}
    done: dict[Any, Call] = {}
    for call in limits.paced(calls, ENGINE):
        if call.f == "add":
            if call.value not in began or call.invoke < began[call.value].invoke:
                began[call.value] = call
            if call.value not in done or call.ret < done[call.value].ret:
                done[call.value] = call
    if (twice := _repeating(calls, limits)) is not None:
        return _invalid((twice,), "duplicate")
    levels = _levels(calls, limits)
    for level in levels:
        if not level.elements <= began.keys():
            return _invalid((level.first,), "never-written")
    for below, above in pairwise(levels):
        if not below.elements < above.elements:
            return _gravest(_incomparable(below, above, began), done)
    result = _sweep(calls, levels, began, done)
    return result if proof else replace(result, order=None)


def _repeating(calls: Sequence[Call], limits: Limits) -> Call | None:
    """Return the first read to return that has an element twice, which no state of a set explains."""
    reads = (call for call in limits.paced(calls, ENGINE) if call.f == "read" and call.result)
    return min((call for call in reads if len(set(call.result)) < len(call.result)), key=lambda c: c.ret, default=None)


def _levels(calls: Sequence[Call], limits: Limits) -> list[_Level]:
    levels: dict[frozenset[Any], _Level] = {}
    for call in limits.paced(calls, ENGINE):
        if call.f == "read":
            elements = frozenset(call.result or ())
            levels.setdefault(elements, _Level(elements)).reads.append(call)
    return sorted(levels.values(), key=lambda level: len(level.elements))


def _invalid(core: Sequence[Call], kind: str) -> EngineResult:
    ordered = tuple(sorted({call.source: call for call in core}.values(), key=lambda call: call.invoke))
    last = max((call.ret for call in ordered if not call.pending), default=None)
    return EngineResult("invalid", ENGINE, cores=(ordered,), violations=1, last=last, kind=kind)


def _gravest(core: Sequence[Call], done: dict[Any, Call]) -> EngineResult:
    """Report a read inversion, or a lost element if one of the reads lacks an acknowledged one.

    A lost element says more with fewer operations.
    """
    for read in (call for call in core if call.f == "read"):
        held = frozenset(read.result or ())
        lost = [add for add in done.values() if add.ret < read.invoke and add.value not in held]
        if lost:
            return _invalid([min(lost, key=lambda add: add.ret), read], "lost-element")
    return _invalid(core, "read-inversion")


def _incomparable(level: _Level, two: _Level, began: dict[Any, Call]) -> list[Call]:
    mine, other = next(iter(level.elements - two.elements)), next(iter(two.elements - level.elements))
    return [level.first, two.first, began[mine], began[other]]


def _sweep(calls: Sequence[Call], levels: list[_Level], began: dict[Any, Call], done: dict[Any, Call]) -> EngineResult:
    """Visit the levels in ascending order; ``why`` is the call whose invocation holds back the current moment."""
    moment, why = -1, None
    below: frozenset[Any] = frozenset()
    waiting = sorted(done.values(), key=lambda call: call.ret)
    starts, passed = [], 0
    for level in levels:
        for item in level.elements - below:
            if began[item].invoke > moment:
                moment, why = began[item].invoke, began[item]
        if moment > level.first.ret:
            assert why is not None
            return _gravest([level.first, why, *_missing(level, why, levels, began)], done)
        starts.append(moment)
        if level.last.invoke > moment:
            moment, why = level.last.invoke, level.last
        while passed < len(waiting) and waiting[passed].value in level.elements:
            passed += 1
        for add in waiting[passed:]:
            if add.ret > moment:
                break
            if add.value not in level.elements:
                assert why is not None
                return _invalid([add, why, *([] if why.f == "read" else [level.first])], "lost-element")
        below = level.elements
    return EngineResult("valid", ENGINE, order=_order(calls, levels, starts))


def _missing(level: _Level, why: Call, levels: list[_Level], began: dict[Any, Call]) -> list[Call]:
    """Return the add whose element is in the early read of ``level`` but not in the later read ``why``."""
    if why.f == "read":
        missed = level.elements - frozenset(why.result or ())
        return [min((began[item] for item in missed), key=lambda call: call.invoke)]
    if why.value in level.elements:
        return []
    return [other.first for other in levels if why.value in other.elements][:1]


def _order(calls: Sequence[Call], levels: list[_Level], starts: list[int]) -> list[Call]:
    """Order adds from the end of the level before theirs on, and reads from the beginning of their level on."""
    keyed: list[tuple[tuple[int, int, bool, int], Call]] = []
    above: dict[Any, tuple[int, int]] = {}
    end = -1
    for number, (level, start) in enumerate(zip(levels, starts, strict=True)):
        for item in level.elements:
            above.setdefault(item, (number, end))
        keyed += [((max(call.invoke, start), number, True, call.invoke), call) for call in level.reads]
        end = max(start, level.last.invoke)
    for call in calls:
        if call.f == "add" and (call.value in above or not call.pending):
            number, least = above.get(call.value, (len(levels), end))
            keyed.append(((max(call.invoke, least), number, False, call.invoke), call))
    return [call for _, call in sorted(keyed, key=lambda item: item[0])]


def _by_columns(operations: Sequence[Operation], _model: Model, limits: Limits, _proof: bool) -> ByColumns | None:
    """Decide without making calls; None if the operations do not fit into columns."""
    columns = set_columns(operations)
    if columns is None:
        return None
    if limits.over():
        return ByColumns(not_begun(ENGINE, columns.calls), columns.calls)
    all_levels = levels(columns)
    result = EngineResult("valid" if all_levels.valid else "invalid", ENGINE)
    return ByColumns(result, columns.calls, SetProof(columns, all_levels))


_ADDS_AND_READS: Final = only("add", "read")
SET: Final = Engine(
    "set", ENGINE, "sets that only grow and are read as a whole", "O(n log n)",
    lambda model, calls: type(model) is GrowSet and _ADDS_AND_READS(calls),
    lambda calls, _model, limits, proof: decide_by_set_sweep(calls, limits, proof=proof),
    explain_set, _by_columns,
)  # fmt: skip
