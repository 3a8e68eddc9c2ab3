"""A bank as numbers for the compiled search: each state is a weighted sum of its balances.

The balances are the sum of what the transfers moved, in any order, so the number of a state can be added up in the same
way.  Equal balances have equal numbers: a history that the numbers refute is wrong.  Different balances may have equal
numbers, although one pair in 2^30 at most does so by chance.  Therefore an order that the numbers allow must be
confirmed; if it is not, the table of transitions decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, count
from random import Random
from typing import Any, Final

import numpy as np

from checker.core.model import UNKNOWN, Model
from checker.models.bank import Bank
from checker.search.jit import Shapes
from history.codes import READ

#: Bits of an account's weight.
_BITS: Final = 30
_BEYOND: Final = 1 << 63
_NAMES: Final = frozenset({int, str})
_LISTS: Final = frozenset({list, tuple})


class Balances:
    """A bank whose transfers answer nothing."""

    def __init__(self, shapes: Shapes, model: Bank) -> None:
        """Raises ValueError, TypeError or OverflowError for calls of another shape."""
        from checker.kernels import search_state as kernel

        self.model = model
        calls = zip(*shapes, strict=True)
        # By call what a read answered or what a transfer moves, by account; at last what there is at the start.
        parts = [_distinct(result) if f == "read" else _moved(value, result) for f, value, result in calls]
        parts.append(dict(model.initial))
        names, held = list(chain.from_iterable(parts)), list(chain.from_iterable(map(dict.values, parts)))
        if not set(map(type, names)) <= _NAMES or not set(map(type, held)) <= {int}:
            raise TypeError
        # Sums of balances must not wrap around where they are compared with answers.
        if sum(map(abs, held)) >= _BEYOND:
            raise OverflowError
        ids: defaultdict[Any, int] = defaultdict(count().__next__)
        self._account = np.fromiter(map(ids.__getitem__, names), np.int64, len(names))
        self._names, self._held = list(ids), np.array(held, np.int64)
        lengths = np.fromiter(map(len, parts), np.int64, len(parts))
        self._call = np.repeat(np.arange(lengths.size), lengths)
        drawn = Random(1)
        weights = np.array([drawn.getrandbits(_BITS) for _ in ids], np.int64)
        mask = kernel.SUMS - 1
        # Products and sums wrap around, which leaves their lower bits right.
        sums = np.concatenate([[0], np.cumsum(weights[self._account] * self._held & mask)])
        ends = np.cumsum(lengths)
        value = (sums[ends] - sums[ends - lengths]) & mask
        self.value, self.initial = value[:-1], int(value[-1])
        self.old = self.value
        self.kind = np.array([READ if f == "read" else kernel.ADD for f in shapes.f], np.int8)

    def confirms(self, order: Sequence[int]) -> bool:
        """Return whether the balances themselves allow this order of calls."""
        size = self.kind.size
        place = np.full(size + 1, -1)
        # The start comes before all calls.
        place[[size, *order]] = np.arange(len(order) + 1)
        reads, at = self.kind[order] == READ, place[self._call]
        changes = np.append(self.kind != READ, True)[self._call]
        for account in range(len(self._names)):
            mine = (self._account == account) & (at >= 0)
            moved, shown = np.zeros((2, len(order) + 1), np.int64)
            moved[at[mine & changes]] = self._held[mine & changes]
            shown[at[mine & ~changes]] = self._held[mine & ~changes]
            if (np.cumsum(moved)[1:] != shown[1:])[reads].any():
                return False
        return True

    def describe(self, state: int) -> str:
        call = np.append(np.flatnonzero((self.kind == READ) & (self.value == state)), self.kind.size)[0]
        if call == self.kind.size and state != self.initial:
            return "what no read returned"
        mine = self._call == call
        pairs = zip(self._account[mine].tolist(), self._held[mine].tolist(), strict=True)
        return self.model.describe(frozenset((self._names[account], held) for account, held in pairs if held))


def _distinct(pairs: Any) -> dict[Any, int]:
    """Return the balances that a read answered, each account once.  Raises ValueError or TypeError."""
    if type(pairs) not in _LISTS:
        raise TypeError
    if len(balances := dict(pairs)) != len(pairs):
        raise ValueError
    return balances


def _moved(value: Any, result: Any) -> dict[Any, int]:
    """Return what a transfer moves.  Raises ValueError or TypeError."""
    if type(value) not in _LISTS or not (result is None or result is UNKNOWN):
        raise TypeError
    whence, to, amount = value
    if type(amount) is not int:
        raise TypeError
    return {whence: -amount, to: amount} if whence != to else {to: 0}


def balances_of(shapes: Shapes, model: Model) -> Balances | None:
    """Convert the calls; None if they have another shape, such as transfers that answer balances."""
    if not (isinstance(model, Bank) and type(model.initial) is frozenset and set(shapes.f) <= {"transfer", "read"}):
        return None
    try:
        return Balances(shapes, model)
    except (TypeError, ValueError, OverflowError):
        return None
