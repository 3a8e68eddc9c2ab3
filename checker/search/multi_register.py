"""Several registers as a row of numbers; a transaction is what it requires of such a row and what it sets in it.

A transaction's step is a list of three items.  Access to lists is slow, so the code accesses each as rarely as
possible.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checker.core.model import UNKNOWN
from checker.models.objects import MultiRegister
from checker.search.jit import Shapes
from history.records.operations import READ_STEPS

#: Bytes of a state besides the numbers in its row: its hash, and its place in a hash table.
_STATE_BYTES: Final = 16
ROOM: Final = 256
_ATOMS: Final = frozenset({int, str, type(None)})
_LISTS: Final = frozenset({list, tuple})
WRITING: Final = frozenset({"write", "w"})
_NAMES: Final = WRITING | {"read", "r"}


class RegisterRows:
    """Transactions for the compiled search: equal ones share a number, their ``value``.

    ``kind`` is one of the kernel's, ``rows`` its states.
    """

    initial = 0

    def __init__(self, steps: Steps) -> None:
        from checker.kernels import multi_register as kernel
        from checker.kernels.search_state import TXN, TXN_READ

        self.kernel: Any = kernel
        registers: defaultdict[Any, int] = defaultdict(count().__next__)
        # An absent register is one that holds null.
        items: defaultdict[Any, int] = defaultdict(count(1).__next__, {None: 0})
        place, item = (column(numbers, steps.parts[at::3], np.int32) for at, numbers in ((1, registers), (2, items)))
        self.registers, self.items = list(registers), list(items)
        self.value, parts = self.kernel.number_transactions(steps.writes, place, item, steps.lengths, steps.pending)
        self.old = self.value
        self.rows = self.kernel.Rows(*self._room(ROOM), *parts)
        # All registers are absent, which has the hash 0.
        self.rows.ids[0] = 0
        changes = self.rows.middle < self.rows.start[1:]
        self.kind = np.where(changes[self.value], TXN, TXN_READ).astype(np.int8)

    def _room(self, states: int) -> tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.int32]]:
        cells = np.zeros((states, max(1, len(self.registers))), np.int32)
        return cells, np.zeros(states, np.uint64), np.full(2 * states, -1, np.int32)

    def grow(self, states: int) -> None:
        """Double the room for states."""
        cells, hashes, ids = self._room(2 * self.rows.cells.shape[0])
        cells[:states], hashes[:states] = self.rows.cells[:states], self.rows.hashes[:states]
        self.kernel.rehash_states(states, hashes, ids)
        self.rows = self.rows._replace(cells=cells, hashes=hashes, ids=ids)

    @property
    def held(self) -> int:
        """Memory that the states take, in bytes."""
        return int(self.rows.cells.nbytes + _STATE_BYTES * len(self.rows.cells))

    def describe(self, state: int) -> str:
        row = self.rows.cells[state].tolist()
        held = {key: self.items[at] for key, at in zip(self.registers, row, strict=False) if at}
        return MultiRegister().describe(frozenset(held.items()))


def register_rows_of(shapes: Shapes) -> RegisterRows | None:
    """Convert the transactions; None if they have another shape, or values that are not all plain."""
    steps = steps_of(shapes)
    return None if steps is None else RegisterRows(steps)


class Steps(NamedTuple):
    """The ``parts`` of all steps, three each; the transactions' numbers of steps, and which of them are pending."""

    parts: Sequence[Any]
    lengths: NDArray[np.int64]
    pending: NDArray[np.bool_]

    @property
    def writes(self) -> NDArray[np.bool_]:
        return np.fromiter(map(WRITING.__contains__, self.parts[::3]), np.bool_, len(self.parts) // 3)


def steps_of(shapes: Shapes) -> Steps | None:
    """Return the steps of transactions; None if they have another shape, or values that are not all plain."""
    if not set(shapes.f) <= {"txn"}:
        return None
    transactions, pending = shapes.result, np.zeros(len(shapes.f), np.bool_)
    if not set(map(type, transactions)) <= _LISTS:
        pending = np.array([result is UNKNOWN for result in shapes.result], np.bool_)
        pairs = zip(shapes.value, shapes.result, strict=True)
        transactions = [value if result is UNKNOWN or result is None else result for value, result in pairs]
    parts = _parts(transactions)
    if parts is None or not _repeat(parts, transactions, shapes.value) or not set(parts[::3]) <= _NAMES:
        return None
    unanswered = (value for value, result in zip(shapes.value, shapes.result, strict=True) if result is None)
    if any(step[0] in READ_STEPS for steps in unanswered for step in steps):
        return None
    return Steps(parts, np.fromiter(map(len, transactions), np.int64, len(transactions)), pending)


def _repeat(parts: Sequence[Any], answers: Sequence[Any], invoked: Sequence[Any]) -> bool:
    """Return whether answers repeat their requests except for what they read; if not, the model says what differs."""
    if all(answer is value for answer, value in zip(answers, invoked, strict=True)):
        return True
    before = _parts(invoked)
    if before is None or list(map(len, answers)) != list(map(len, invoked)):
        return False
    if parts[::3] != before[::3] or parts[1::3] != before[1::3]:
        return False
    steps = zip(parts[::3], parts[2::3], before[2::3], strict=True)
    return all(new == old for f, new, old in steps if f not in READ_STEPS)


def column(numbers: Mapping[Any, int], parts: Sequence[Any], dtype: Any) -> Any:
    return np.fromiter(map(numbers.__getitem__, parts), dtype, len(parts))


def _parts(transactions: Sequence[Any]) -> list[Any] | None:
    """Return all steps of all transactions, three parts each; None if a step is malformed or a value is not plain.

    True equals 1, so types are checked one by one.
    """
    if not set(map(type, transactions)) <= _LISTS:
        return None
    steps = list(chain.from_iterable(transactions))
    if not set(map(type, steps)) <= _LISTS or not set(map(len, steps)) <= {3}:
        return None
    parts = list(chain.from_iterable(steps))
    return parts if set(map(type, parts)) <= _ATOMS else None
