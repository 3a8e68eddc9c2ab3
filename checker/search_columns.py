"""Cas registers by columns: chains where new values are unique, else the compiled search, without an object a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checker.answer import Answer, Limits
from checker.calls import NEVER
from checker.chains import ENGINE as CHAINS
from checker.compiled_search import NumberedCalls, search_numbers
from checker.zones import IntArray, crossing


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
    names: Sequence[str]

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
    bounds = _walk(
        np.flatnonzero(is_root).tolist(), following.tolist(), begun.tolist(),
        np.minimum(ended, first).tolist(), last.tolist(),
    )  # fmt: skip
    if bounds is None:
        return Answer("invalid", CHAINS, violations=1)
    begins, ends, visited = bounds
    if visited < values:
        return None
    outer, _ = crossing(np.array(begins, np.int64), np.array(ends, np.int64))
    if outer.size:
        return Answer("invalid", CHAINS, violations=int(np.unique(outer).size))
    return Answer("valid", CHAINS)


def _walk(
    roots: list[int], following: list[int], begun: list[int], ended: list[int], last: list[int]
) -> tuple[list[int], list[int], int] | None:
    """f and s of every chain, and how many values lie on them; None if one contradicts itself."""
    firsts, lasts, visited = [], [], 0
    for root in roots:
        value, reach, before = root, -1, -1
        path, earliest = [], []
        while value >= 0:
            reach = max(reach, before, begun[value])
            path.append(value)
            earliest.append(reach)
            before, value = last[value], following[value]
        latest = NEVER
        for place in range(len(path) - 1, -1, -1):
            latest = min(latest, ended[path[place]])
            if earliest[place] > latest:
                return None
        visited += len(path)
        firsts.append(latest)
        lasts.append(max(reach, before))
    return firsts, lasts, visited
