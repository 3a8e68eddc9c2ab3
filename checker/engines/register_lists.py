"""Convert a list of operations on registers to columns, which are decided many times faster than calls.

Only lists that mean the same in both forms are converted.  All others become calls, which also report what is wrong
with a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from checker.core.intervals import IntArray
from checker.core.model import Register
from checker.engines.zones import linearization, zones
from checker.engines.zones_columns import prepare, takes_part
from history import Operation
from history.codes import ABSENT, CAS, NEVER, OK, OUTCOMES, READ, WRITE
from history.readers.columns import OperationColumns

_KINDS: Final = {"read": READ, "write": WRITE, "cas": CAS}
_CODES: Final = {outcome: code for code, outcome in enumerate(OUTCOMES)}
_INTEGERS: Final = frozenset({int})
_NUMBERS: Final = frozenset({int, type(None)})
#: Types whose values are equal as dict keys if and only if they are equal as JSON; bool is not one, as True equals 1.
_COMPARABLE: Final = frozenset({int, str, type(None)})


@dataclass(frozen=True, slots=True)
class RegisterList:
    """Columns of a list; ``faithful``: they hold the operations' own values and places, not ids and ranks."""

    columns: OperationColumns
    faithful: bool


def columns_of_list(operations: Sequence[Operation], model: Register) -> RegisterList | None:
    """Convert a list of operations to columns; None if the list can only be checked as calls.

    Columns need a register that is absent at first, values that are integers, strings or null, and events at
    distinct places.
    """
    if not operations or model.initial is not None:
        return None
    # One list per field: a tuple per operation would be enough new objects to trigger the garbage collector.
    functions, outcomes = [op.f for op in operations], [op.outcome for op in operations]
    values, results = [op.value for op in operations], [op.result for op in operations]
    invokes, returns = [op.invoke_index for op in operations], [op.return_index for op in operations]
    names = [op.key for op in operations]
    known = set(functions)
    if not known <= _KINDS.keys() or ("cas" in known and not model.has_cas) or not set(outcomes) <= _CODES.keys():
        return None
    kind = _array(map(_KINDS.__getitem__, functions), np.int8)
    outcome = _array(map(_CODES.__getitem__, outcomes), np.int8)
    old: list[Any] = []
    if "cas" in known:
        split = _swapped(functions, values, results, outcomes)
        if split is None:
            return None
        old, values = split
    held = [result if f == "read" else value for f, value, result in zip(functions, values, results, strict=True)]
    numbers = _numbered(held, old)
    places = _placed(invokes, returns, outcome)
    if numbers is None or places is None:
        return None
    (value, replaced, same_values), (invoke, ret, same_places) = numbers, places
    keys = {key: place for place, key in enumerate(dict.fromkeys(names))}
    key = np.zeros(len(operations), np.int64) if len(keys) == 1 else _array(map(keys.__getitem__, names), np.int64)
    columns = OperationColumns(
        kind, outcome, value, replaced, key, invoke, ret, tuple(keys), operations.__getitem__
    )  # fmt: skip
    if (np.diff(invoke) < 0).any():
        columns = _rows(columns, np.argsort(invoke))
    return RegisterList(columns, same_values and same_places)


def _rows(columns: OperationColumns, rows: IntArray) -> OperationColumns:
    at = rows.tolist()
    return OperationColumns(
        columns.kind[rows], columns.outcome[rows], columns.value[rows], columns.old[rows], columns.key[rows],
        columns.invoke[rows], columns.ret[rows], columns.keys, lambda row: columns.operation(at[row]),
    )  # fmt: skip


def _array(items: Iterable[int], kind: type[Any]) -> NDArray[Any]:
    return np.array(list(items), kind)


def _swapped(
    functions: Sequence[str], values: Sequence[Any], results: Sequence[Any], outcomes: Sequence[str]
) -> tuple[list[Any], list[Any]] | None:
    """Return the values that each cas replaces, and those written.

    None if a cas is not a pair, or was refused with the value that it saw.
    """
    old, new = [None] * len(values), list(values)
    for row, f in enumerate(functions):
        if f != "cas" or outcomes[row] == "fail":
            continue
        value, result = values[row], results[row]
        if not isinstance(value, (list, tuple)) or len(value) != 2:
            return None
        if outcomes[row] == "ok" and isinstance(result, (list, tuple)) and len(result) == 3:
            return None
        old[row], new[row] = value
    return old, [
        None if f == "cas" and done == "fail" else v for f, done, v in zip(functions, outcomes, new, strict=True)
    ]


def _numbered(held: list[Any], old: list[Any]) -> tuple[IntArray, IntArray, bool] | None:
    """Return values and replaced values as numbers, and whether the numbers are the values themselves.

    ``old`` is empty if there is no cas.
    """
    both = held + old
    kinds = set(map(type, both))
    if not kinds <= _COMPARABLE:
        return None
    given, numbers = kinds <= _NUMBERS, np.empty(0, np.int64)
    if given:
        try:
            numbers = np.array([ABSENT if item is None else item for item in both], np.int64)
        except OverflowError:
            given = False
        else:
            # The number ABSENT stands for null, so it must not occur as a value.
            given = bool(np.count_nonzero(numbers == ABSENT) == both.count(None))
    if not given:
        ids = {item: place for place, item in enumerate(dict.fromkeys(both))}
        if None in ids:
            ids[None] = ABSENT
        numbers = _array(map(ids.__getitem__, both), np.int64)
    size = len(held)
    return numbers[:size], numbers[size:] if old else np.full(size, ABSENT), given


def _placed(
    invokes: Sequence[Any], returns: Sequence[Any], outcome: NDArray[np.int8]
) -> tuple[IntArray, IntArray, bool] | None:
    """Return invocations, returns (or -1), and whether they are the events' own places.

    None if converting to calls would raise an error.
    """
    if not (set(map(type, invokes)) <= _INTEGERS and set(map(type, returns)) <= _NUMBERS):
        return None
    ok = outcome == OK
    try:
        invoke = np.array(invokes, np.int64)
        ret = np.array([-1 if item is None else item for item in returns], np.int64)
    except OverflowError:
        return None
    if invoke.min() < 0 or (ret[ok] <= invoke[ok]).any():
        return None
    ret[~ok] = -1
    events = np.concatenate([invoke, ret[ok]])
    if events.max() < 4 * invoke.size + 1024:
        return (invoke, ret, True) if np.bincount(events).max() < 2 else None
    # Compiled code needs a cell for each place, so distant places are replaced by ranks.
    order = np.argsort(events, kind="stable")
    if (np.diff(events[order]) == 0).any():
        return None
    rank = np.empty(events.size, np.int64)
    rank[order] = np.arange(events.size)
    ret[ok] = rank[invoke.size :]
    return rank[: invoke.size], ret, False


def only_key(columns: OperationColumns, key: int) -> OperationColumns:
    """Return the rows of one key."""
    selected = _rows(columns, np.flatnonzero(columns.key == key))
    return replace(selected, key=np.zeros_like(selected.key), keys=(columns.keys[key],))


def order_of_zones(columns: OperationColumns, wanted: NDArray[np.bool_]) -> IntArray:
    """Return the linearizations of ``wanted`` keys that the zones found valid, key by key, as rows."""
    prepared = prepare(columns)
    order = linearization(prepared.clusters, zones(prepared.clusters))
    return prepared.rows[order][wanted[prepared.key[order]]]


def verified(columns: OperationColumns, order: IntArray, wanted: NDArray[np.bool_]) -> IntArray:
    """Return for each key the length of its part of the order; -1 if that is not a linearization of the key.

    The rows of a key must be adjacent.  The rules are those of the definition: each operation occurs once, unless
    it is pending; a read returns the value that was set last, and a cas replaces that one; and no operation comes after
    one that was invoked after it had returned.
    """
    keys = len(columns.keys)
    lengths = np.bincount(columns.key[order], minlength=keys)
    wrong = ~wanted
    times = np.bincount(order, minlength=columns.kind.size)
    part = takes_part(columns)
    wrong[columns.key[(times > part) | (part & (columns.outcome == OK) & (times == 0))]] = True
    key, value, kind = columns.key[order], columns.value[order], columns.kind[order]
    begins = np.concatenate([[True], key[1:] != key[:-1]]) if key.size else np.zeros(0, np.bool_)
    block = np.cumsum(begins)
    # A key in two blocks would be judged in two parts.
    wrong[np.bincount(key[begins], minlength=keys) > 1] = True
    place = np.arange(key.size)
    first = np.maximum.accumulate(np.where(begins, place, 0))
    last = np.concatenate([[-1], np.maximum.accumulate(np.where(kind != READ, place, -1))])[:-1]
    current = np.where(last >= first, value[last], ABSENT)
    wrong[key[(kind == READ) & (value != current)]] = True
    wrong[key[(kind == CAS) & (columns.old[order] != current)]] = True
    span = np.int64(columns.invoke.max(initial=0) + 1)
    ret = np.where(columns.outcome[order] == OK, columns.ret[order], NEVER)
    latest = np.maximum.accumulate(columns.invoke[order] + block * span) - block * span
    before = np.where(begins, -1, np.concatenate([[-1], latest[:-1]])) if key.size else latest
    wrong[key[ret < before]] = True
    return np.where(wrong, -1, lengths)
