"""Calls as integers for the compiled search, by the model's ``encoding``.

The states of a register are its values, the state of a counter is its sum, and the state of several registers is a row
of numbers.  Any other model is a table of transitions, filled on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checker.core.intervals import IntArray
from checker.core.model import ANY, Encoding, Model
from checker.search.balances import balances_of
from checker.search.jit import Shapes
from checker.search.multi_register import register_rows_of
from checker.search.transition_table import TransitionTable
from history.codes import CAS, READ, WRITE


class Numbers(Protocol):
    """The calls as columns of integers for the kernel, and the meaning of its states."""

    @property
    def kind(self) -> NDArray[np.int8]: ...
    @property
    def value(self) -> IntArray: ...
    @property
    def old(self) -> IntArray: ...
    @property
    def initial(self) -> int: ...

    def describe(self, state: int, /) -> str:
        """Describe the state in words."""


def numbers_of(shapes: Shapes, model: Model) -> Numbers:
    """Convert calls to integers.  Raises ModelError for an operation that the model does not have."""
    numbers = None if model.encoding is None else _ENCODINGS[model.encoding](shapes, model)
    return TransitionTable(shapes, model) if numbers is None else numbers


def numbers_of_lists(shapes: Shapes, model: Model) -> Numbers | None:
    """Convert calls to integers without making lists hashable; None if values must be hashable (see ``numbers_of``)."""
    encode = _LISTS.get(model.encoding) if model.encoding is not None else None
    return None if encode is None else encode(shapes, model)


class Values:
    """A register of any kind."""

    def __init__(self, shapes: Shapes, model: Model) -> None:
        from checker.kernels import search_state as kernel

        self.model = model
        ids: dict[Any, int] = {} if model.initial is ANY else {model.initial: 0}
        self.initial = kernel.ANY_STATE if model.initial is ANY else 0
        kinds = {"read": READ, "write": WRITE, "cas": CAS}
        for f in set(shapes.f):  # the model refuses a function that it lacks
            first = shapes.f.index(f)
            model.step(model.initial, f, shapes.value[first], shapes.result[first])
        self.kind = np.array([kinds[f] for f in shapes.f], np.int8)
        new = [
            result if f == "read" else value if f == "write" else value[1]
            for f, value, result in zip(*shapes, strict=True)
        ]
        self.value = np.array([ids.setdefault(value, len(ids)) for value in new], np.int64)
        old = [
            ids.setdefault(value[0], len(ids)) if f == "cas" else 0
            for f, value in zip(shapes.f, shapes.value, strict=True)
        ]
        self.old = np.array(old, np.int64)
        self.names = list(ids)

    def describe(self, state: int) -> str:
        return self.model.describe(ANY if state < 0 else self.names[state])


def is_whole(shapes: Shapes) -> bool:
    """Return whether this is a counter of whole numbers whose sums fit into the kernel's integers."""
    from checker.kernels.search_state import SUMS

    if not set(shapes.f) <= {"add", "read"}:
        return False
    numbers: list[Any] = [value if f == "add" else result for f, value, result in zip(*shapes, strict=True)]
    if not set(map(type, numbers)) <= {int}:
        return False
    added = sum(abs(number) for f, number in zip(shapes.f, numbers, strict=True) if f == "add")
    return added < SUMS and all(abs(number) < SUMS for number in (max(numbers, default=0), min(numbers, default=0)))


class Sums:
    """A counter: the state is the sum, shifted so that it is never below zero.

    A counter that only falls is mirrored, so that it is ``rising``: no call makes the sum smaller.
    """

    def __init__(self, shapes: Shapes, model: Model) -> None:
        from checker.kernels import search_state as kernel

        self.model = model
        numbers = np.array(
            [value if f == "add" else result for f, value, result in zip(*shapes, strict=True)], np.int64
        )
        reads = np.array([f == "read" for f in shapes.f], np.bool_)
        self.sign = -1 if numbers[~reads].max(initial=-1) <= 0 else 1
        numbers *= self.sign
        self.initial = -int(np.minimum(numbers[~reads], 0).sum())
        self.rising = self.initial == 0
        self.kind = np.where(reads, READ, kernel.ADD).astype(np.int8)
        # An answer below every possible sum becomes a number that is no state.
        self.value = np.where(reads, np.maximum(-3, numbers + self.initial), numbers)
        self.old = np.zeros(reads.size, np.int64)

    def describe(self, state: int) -> str:
        return self.model.describe(self.sign * (state - self.initial))


def _sums(shapes: Shapes, model: Model) -> Numbers | None:
    return Sums(shapes, model) if is_whole(shapes) else None


#: None: these calls do not fit the encoding.
_Encode: TypeAlias = Callable[[Shapes, Model], Numbers | None]
#: Those that take values as they are; the others take hashable ones.
_LISTS: Final[Mapping[Encoding, _Encode]] = {
    "rows": lambda shapes, _model: register_rows_of(shapes),
    "balances": balances_of,
}
_ENCODINGS: Final[Mapping[Encoding, _Encode]] = {**_LISTS, "values": Values, "sums": _sums}
