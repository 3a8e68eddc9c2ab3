"""Cas registers by columns: chains where new values are unique, else the compiled search, without an object a call."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from checker.answer import Answer, Limits
from checker.calls import NEVER
from checker.chains import ENGINE as CHAINS
from checker.compiled_search import NumberedCalls, Words, search_numbers
from checker.zones import IntArray, crossing

# So few chains are walked sooner one by one than all at once.
_ALONE: Final = 16


@dataclass(frozen=True, slots=True)
class CasColumns:
    """Calls on one register that starts with value id 0, one row a call, in the order of the invocations.

    ``kind`` 0 read, 1 write, 2 cas; ``value`` and ``old`` are ids, named by ``names`` (``old`` matters for a cas only);
    ``invoke`` and ``ret`` dense ranks, ``NEVER`` for pending calls.
    """

    kind: NDArray[np.int8]
    value: IntArray
    old: IntArray
    invoke: IntArray
    ret: IntArray
    names: Words

    @property
    def values(self) -> int:
        return len(self.names)


def decide_cas(columns: CasColumns, limits: Limits) -> Answer | None:
    """By chains if they apply, else by the compiled search; None where neither can.

    Pending calls make chains a matter of closures: then the plain chains on calls do it.
    """
    makes = columns.kind != 0
    if (np.bincount(columns.value[makes], minlength=columns.values) + _initial(columns.values) <= 1).all():
        return None if (columns.ret == NEVER).any() else _chains(columns)
    return search_numbers(
        NumberedCalls(columns.kind, columns.value, columns.old, columns.invoke, columns.ret, columns.names), limits
    )


def _initial(values: int) -> IntArray:
    counts = np.zeros(values, np.int64)
    counts[0] = 1
    return counts


def _chains(columns: CasColumns) -> Answer | None:
    """The chains of ``chains``; None when a value has no maker, two takers, or lies on a circle."""
    kind, value, values = columns.kind, columns.value, columns.values
    made, cas = np.flatnonzero(kind != 0), np.flatnonzero(kind == 2)
    begun, ended = np.full(values, -1, np.int64), np.full(values, NEVER, np.int64)
    begun[value[made]], ended[value[made]] = columns.invoke[made], columns.ret[made]
    ended[0] = -1
    has_maker = begun >= 0
    has_maker[0] = True
    following = np.full(values, -1, np.int64)
    following[columns.old[cas]] = value[cas]
    reads = kind == 0
    first, last = np.full(values, NEVER, np.int64), np.full(values, -1, np.int64)
    np.minimum.at(first, value[reads], columns.ret[reads])
    np.maximum.at(last, value[reads], columns.invoke[reads])
    if not has_maker.all() or np.unique(columns.old[cas]).size < cas.size:
        return None
    is_root = has_maker.copy()
    is_root[value[cas]] = False
    bounds = _walk(np.flatnonzero(is_root), following, begun, np.minimum(ended, first), last)
    if bounds is None:
        return Answer("invalid", CHAINS, violations=1)
    begins, ends, visited = bounds
    if visited < values:
        return None
    outer, _ = crossing(begins, ends)
    if outer.size:
        return Answer("invalid", CHAINS, violations=int(np.unique(outer).size))
    return Answer("valid", CHAINS)


def _walk(
    roots: IntArray, following: IntArray, begun: IntArray, ended: IntArray, last: IntArray
) -> tuple[IntArray, IntArray, int] | None:
    """f and s of every chain, and how many values lie on them; None if one contradicts itself.

    The first values of all chains at once, then the second ones, and so on; the few long chains are walked alone.
    """
    earliest, latest, end = begun.copy(), ended.copy(), np.maximum(begun, last)
    levels, level, visited = [], roots, 0
    while level.size > _ALONE:
        visited += level.size
        level = level[following[level] >= 0]
        after = following[level]
        earliest[after] = np.maximum(begun[after], np.maximum(earliest[level], last[level]))
        end[after] = np.maximum(earliest[after], last[after])
        levels.append((level, after))
        level = after
    # Single items are read from a memory view three times as fast as from an array.
    views: list[Any] = [column.data for column in (following, earliest, latest, end, last)]
    for value in level.tolist():
        visited += _walk_alone(value, *views)
    for before, after in reversed(levels):
        latest[before] = np.minimum(latest[before], latest[after])
        end[before] = end[after]
        if (earliest[after] > latest[after]).any():
            return None
    if (earliest[roots] > latest[roots]).any() or (earliest[level] > latest[level]).any():
        return None
    return latest[roots], end[roots], visited


def _walk_alone(
    value: int,
    following: Sequence[int],
    earliest: Sequence[int],
    latest: MutableSequence[int],
    end: MutableSequence[int],
    last: Sequence[int],
) -> int:
    """The rest of a chain from ``value`` on, put into ``latest`` and ``end`` there; answers its length.

    A contradiction further on becomes one of ``value``: it then ends before it can begin.
    """
    path, reach, possible = [value], earliest[value], True
    moments = [reach]
    while (after := following[value]) >= 0:
        reach = max(reach, last[value], earliest[after])
        path.append(after)
        moments.append(reach)
        value = after
    bound = NEVER
    for at, moment in zip(reversed(path), reversed(moments), strict=True):
        bound = min(bound, latest[at])
        possible = possible and moment <= bound
    latest[path[0]] = bound if possible else moments[0] - 1
    end[path[0]] = max(reach, last[value])
    return len(path)
