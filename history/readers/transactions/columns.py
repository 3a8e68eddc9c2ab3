"""Transactions as numpy columns, and their conversion from operations.

A transaction is a list of steps ``[f, key, value]``.  A step of *list-append* appends a value to the list at a key
(``append``) or reads the whole list (``r`` or ``read``).  A step of *rw-register* writes a value (``w`` or ``write``)
or reads it (``r`` or ``read``), and gets null if the key was never written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from history.codes import ABSENT, FAIL, INFO, NEVER, OK, READ, WRITE
from history.errors import FormatError
from history.readers.scanned import LARGEST
from history.records.operations import READ_STEPS, Operation, place_of_index

TransactionObject: TypeAlias = Literal["list-append", "rw-register"]
TRANSACTION_OBJECTS: Final[tuple[TransactionObject, ...]] = ("list-append", "rw-register")
#: The isolation level to check by default.
DEFAULT_LEVEL: Final = "serializable"
#: The names of write steps, by what the keys hold.
WRITES: Final[dict[str, tuple[str, ...]]] = {"list-append": ("append",), "rw-register": ("w", "write")}
_OUTCOMES: Final = {"ok": OK, "info": INFO, "fail": FAIL}


@dataclass(frozen=True, slots=True)
class TransactionColumns:
    """Transactions as columns, in invocation order.

    These columns have one row for each transaction: ``process``, ``invoke``, ``ret``, ``outcome`` (a code) and
    ``first``.  ``invoke`` and ``ret`` are positions in the real-time order, with ``NEVER`` for a missing answer.  One
    transaction precedes another if its ``ret`` is smaller than the other's ``invoke``.  A transaction's steps are those
    from ``first[row]`` to ``first[row + 1]``.

    These columns have one row for each step: ``kind`` (READ or WRITE), ``key`` (an index into ``keys``), ``value``
    (written or read; ``ABSENT`` for null), ``begin`` and ``length``.  A list that was read is the ``length`` numbers
    from ``elements[begin]`` on.  A number from ``LARGEST`` on stands for ``others[number - LARGEST]``; all smaller ones
    stand for themselves.  For a transaction that is not ok, the steps are the requested ones, and the answers of its
    reads are unknown.

    ``operation`` converts a row to an operation, and ``place`` names its place in the file or list.
    """

    holds: TransactionObject
    process: NDArray[np.int64]
    invoke: NDArray[np.int64]
    ret: NDArray[np.int64]
    outcome: NDArray[np.int8]
    first: NDArray[np.int64]
    kind: NDArray[np.int8]
    key: NDArray[np.int32]
    value: NDArray[np.int64]
    begin: NDArray[np.int64]
    length: NDArray[np.int32]
    elements: NDArray[np.int64]
    keys: Sequence[Any]
    others: Sequence[Any]
    operation: Callable[[int], Operation]
    place: Callable[[int], str]

    def __len__(self) -> int:
        return self.process.size

    def value_named(self, number: int) -> Any:
        """Return the value that a number stands for."""
        if number == ABSENT:
            return None
        return number if number < LARGEST else self.others[number - LARGEST]


def columns_of_operations(
    operations: Sequence[Operation],
    holds: TransactionObject,
    source: str = "history",
    place: Callable[[int], str] = place_of_index,
) -> TransactionColumns:
    """Convert operations, all of them transactions in invocation order, to columns.

    ``place`` names an event by its index.  Raises FormatError for a malformed step.
    """
    kinds = dict.fromkeys(READ_STEPS, READ) | dict.fromkeys(WRITES[holds], WRITE)
    lists = holds == "list-append"
    numbers, names = Numbering(), Numbering()
    keys: dict[int, int] = {}
    first, kind, key, value, begin, length = [0], list[int](), list[int](), list[int](), list[int](), list[int]()
    elements: list[int] = []
    for operation in operations:
        steps = operation.result if operation.outcome == "ok" and operation.result is not None else operation.value
        try:
            for f, name, content in steps:
                step = kinds[f]
                kind.append(step)
                key.append(keys.setdefault(names.of(name), len(keys)))
                begin.append(len(elements))
                if step == WRITE:
                    if content is None:
                        raise ValueError
                    value.append(numbers.of(content))
                elif operation.outcome != "ok" or content is None:
                    value.append(ABSENT)
                elif lists:
                    value.append(ABSENT)
                    elements += [numbers.of(element) for element in _items(content)]
                else:
                    value.append(numbers.of(content))
                length.append(len(elements) - begin[-1])
        except (KeyError, TypeError, ValueError, RecursionError):
            raise FormatError(source, place(operation.invoke_index), _complaint(steps, holds)) from None
        first.append(len(kind))
    return TransactionColumns(
        holds,
        np.array([operation.process for operation in operations], np.int64),
        np.array([operation.invoke_index for operation in operations], np.int64),
        np.array([NEVER if o.outcome == "info" or o.return_index is None else o.return_index for o in operations],
                 np.int64),
        np.array([_OUTCOMES[operation.outcome] for operation in operations], np.int8),
        np.array(first, np.int64), np.array(kind, np.int8), np.array(key, np.int32), np.array(value, np.int64),
        np.array(begin, np.int64), np.array(length, np.int32), np.array(elements, np.int64),
        [number if number < LARGEST else names.others[number - LARGEST] for number in keys], numbers.others,
        operations.__getitem__, lambda row: place(operations[row].invoke_index),
    )  # fmt: skip


class Numbering:
    """Assigns numbers to values and keys: an integer stands for itself, anything else gets a number from LARGEST on."""

    def __init__(self) -> None:
        self.others: list[Any] = []
        self._known: dict[Any, int] = {}

    def of(self, value: Any) -> int:
        if type(value) is int and -LARGEST < value < LARGEST:
            return value
        text = value if type(value) is str else (json.dumps(value, sort_keys=True),)
        number = self._known.setdefault(text, LARGEST + len(self._known))
        if number - LARGEST == len(self.others):
            self.others.append(value)
        return number


def _items(content: Any) -> Any:
    if isinstance(content, (list, tuple)):
        return content
    raise ValueError(content)


def _complaint(steps: Any, holds: TransactionObject) -> str:
    writes = " or ".join(WRITES[holds])
    answer = "a list" if holds == "list-append" else "a value"
    return (
        f"expected a transaction of {holds}, a list of [{writes}, key, value] and [r, key, {answer} or null], "
        f"found {str(steps)[:120]}"
    )
