"""Several registers as the bits of one number, and transactions as what they ask of these bits and what they set.

A transaction's step is a list of three things.  Lists are slow to look into, so as little as possible is done of each,
and the rest of each step that is like no other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checker.models import UNKNOWN
from checker.objects import MultiRegister
from checker.search import Shapes

_Ints: TypeAlias = NDArray[np.int64]
_BITS: Final = 30
_ATOMS: Final = frozenset({int, str, type(None)})
_LISTS: Final = frozenset({list, tuple})
_WRITES: Final = ("write", "w")
_READS: Final = ("read", "r")
# What is done, with which register, the value.
_Step: TypeAlias = tuple[Any, Any, Any]
# Of each register its lowest bit, and the numbers of its values.
_Places: TypeAlias = dict[Any, tuple[int, dict[Any, int]]]


@dataclass(frozen=True, slots=True)
class Fields:
    """Transactions for the compiled search.

    ``value`` has in its upper half the bits that a transaction asks for, and in its lower half what they have to be;
    ``old`` those that it sets, and what they become.  ``kind`` is one of the kernel's.
    """

    kind: NDArray[np.int8]
    value: _Ints
    old: _Ints
    places: _Places
    initial: int = 0

    def describe(self, state: int) -> str:
        held = {key: list(ids)[state >> shift & _bits(ids)] for key, (shift, ids) in self.places.items()}
        return MultiRegister().describe(frozenset(item for item in held.items() if item[1] is not None))


def fields_of(shapes: Shapes) -> Fields | None:
    """Transactions by their bits; None where they are of another shape, or the bits do not suffice."""
    from checker import search_kernel as kernel

    if not set(shapes.f) <= {"txn"}:
        return None
    asked, pending = shapes.result, np.zeros(len(shapes.f), np.bool_)
    if not set(map(type, asked)) <= _LISTS:
        pending = np.array([result is UNKNOWN for result in shapes.result], np.bool_)
        told = zip(shapes.value, shapes.result, strict=True)
        asked = [value if result is UNKNOWN or result is None else result for value, result in told]
    found = _numbered(asked)
    places = None if found is None else _places(found[0])
    if found is None or places is None:
        return None
    steps, of = found
    meaning = np.zeros((3, max(1, len(steps))), np.int64)
    for number, (f, key, value) in enumerate(steps):
        shift, ids = places[key]
        meaning[:, number] = (f in _WRITES, _bits(ids) << shift, ids[value] << shift)
    lengths = np.fromiter(map(len, asked), np.int64, len(asked))
    value, old = kernel.ask_and_set(meaning, of, lengths, pending)
    return Fields(np.where(old == 0, kernel.FIELDS_READ, kernel.FIELDS).astype(np.int8), value, old, places)


def _numbered(asked: Sequence[Any]) -> tuple[list[_Step], NDArray[np.int32]] | None:
    """(the steps that differ, which of them each step is, one after the other).

    None if one is no step, or holds what is no plain value.  True is equal to 1, so types are looked at one by one.
    """
    if not set(map(type, asked)) <= _LISTS:
        return None
    steps = list(chain.from_iterable(asked))
    if not set(map(type, steps)) <= _LISTS or not set(map(len, steps)) <= {3}:
        return None
    parts = list(chain.from_iterable(steps))
    if not set(map(type, parts)) <= _ATOMS:
        return None
    numbers: defaultdict[_Step, int] = defaultdict(count().__next__)
    of = np.fromiter(map(numbers.__getitem__, zip(*[iter(parts)] * 3, strict=True)), np.int32, len(steps))
    return list(numbers), of


def _places(steps: Iterable[_Step]) -> _Places | None:
    """Of each register: its lowest bit, and the numbers of its values (absent is 0)."""
    values: dict[Any, dict[Any, int]] = {}
    for f, key, value in steps:
        # A register that null is written into is another state than an absent one.
        if f not in (*_READS, *_WRITES) or (f in _WRITES and value is None):
            return None
        ids = values.setdefault(key, {None: 0})
        ids.setdefault(value, len(ids))
    places, shift = {}, 0
    for key, ids in values.items():
        places[key] = (shift, ids)
        shift += _bits(ids).bit_length()
    return places if shift <= _BITS else None


def _bits(ids: dict[Any, int]) -> int:
    """As many bits as tell so many values apart."""
    return (1 << (len(ids) - 1).bit_length()) - 1
