"""Decide whole columnar histories of registers: all keys in one pass of the zones.

Ranks run key after key, with one place before each key for its initial value; a cluster is a pair of key and value.
The zones then decide every key at once, because ranks of different keys never mix.  Keys whose values repeat, and keys
with cas, go one by one to the engine that suits them.  Source: locality (Herlihy and Wing 1990).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from checker.core.calls import Call
from checker.core.intervals import IntArray
from checker.core.model import UNKNOWN
from checker.engines.zones import ClusterColumns
from history import Operation
from history.codes import ABSENT, CAS, FAIL, NEVER, OK, READ, WRITE
from history.readers.columns import OperationColumns


@dataclass(frozen=True, slots=True)
class Prepared:
    """The rows that take part in a check, ranked and clustered.

    ``rows`` are rows of the operation columns; ``simple`` marks the keys that the zones can decide.
    """

    clusters: ClusterColumns
    rows: IntArray
    key: IntArray
    simple: NDArray[np.bool_]


def takes_part(columns: OperationColumns) -> NDArray[np.bool_]:
    """Return which rows matter to a check: all that did not fail, except reads that are not ok."""
    part: NDArray[np.bool_] = (columns.outcome == OK) | ((columns.outcome != FAIL) & (columns.kind != READ))
    return part


def fields_of_keys(columns: OperationColumns) -> list[NDArray[Any]]:
    """Return the columns that compiled passes over all keys need."""
    return contiguous((columns.kind, columns.outcome, columns.value, columns.key, columns.invoke, columns.ret))


def contiguous(fields: Iterable[NDArray[Any]]) -> list[NDArray[Any]]:
    """Copy arrays that have gaps or are read-only, because the code is compiled for plain arrays."""
    return [field if field.flags.carray else np.array(field) for field in fields]


@dataclass(frozen=True, slots=True)
class ValueNames:
    """Names of values, looked up by id."""

    names: IntArray

    def __getitem__(self, number: int) -> str:
        return str(self.names[number]) if number else "absent"

    def __len__(self) -> int:
        return self.names.size


def prepare(columns: OperationColumns) -> Prepared:
    """Rank the operations that take part by (key, event), and give every (key, value) a cluster.

    O(n) for one key, otherwise one stable sort by key.
    """
    rows = np.flatnonzero(takes_part(columns))
    key, keys = columns.key[rows], len(columns.keys)
    invoke, ret = columns.invoke[rows], np.where(columns.outcome[rows] == OK, columns.ret[rows], NEVER)
    invoke, ret, starts, events = ranked_by_key(key, keys, invoke, ret)
    cluster, clusters = _clustered(columns.value[rows], key, keys)
    write = columns.kind[rows] == WRITE
    writes = np.bincount(cluster[write], minlength=clusters)
    writes[:keys] += 1
    simple = np.ones(keys, np.bool_)
    simple[key[write & (writes[cluster] > 1)]] = False
    simple[key[columns.kind[rows] == CAS]] = False
    chosen = simple[key]
    if not chosen.all():
        rows, key, cluster, write, invoke, ret = (column[chosen] for column in (rows, key, cluster, write, invoke, ret))
    return Prepared(ClusterColumns(cluster, write, invoke, ret, clusters, starts, events), rows, key, simple)


def ranked_by_key(
    key: IntArray, keys: int, invoke: IntArray, ret: IntArray
) -> tuple[IntArray, IntArray, IntArray, int]:
    """Return (invocations, returns, the initial values' ranks, number of ranks)."""
    done = ret != NEVER
    if keys <= 1:
        events = int(max(invoke.max(initial=-1), ret[done].max(initial=-1))) + 2
        return invoke + 1, np.where(done, ret + 1, NEVER), np.zeros(keys, np.int64), events
    size = int(max(invoke.max(initial=-1), ret[done].max(initial=-1))) + 1
    owner = np.full(size, keys, np.int64)
    owner[invoke] = key
    owner[ret[done]] = key[done]
    order = np.argsort(owner.astype(np.uint16) if keys < 1 << 16 else owner, kind="stable")
    rank = np.empty(size, np.int64)
    rank[order] = np.arange(size)
    rank += owner + 1
    counts = np.bincount(owner, minlength=keys + 1)[:keys]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]) + np.arange(keys)
    ranked = np.where(done, rank[np.where(done, ret, 0)], NEVER)
    return rank[invoke], ranked, starts.astype(np.int64), size + keys + 1


def _clustered(value: IntArray, key: IntArray, keys: int) -> tuple[IntArray, int]:
    """Number each (key, value); return the numbers, and how many there are.

    0 to K-1 are the absent values of the K keys.
    """
    there = value != ABSENT
    low = int(value[there].min(initial=0))
    span = int(value[there].max(initial=0)) - low + 1
    if span * keys > 8 * value.size + 1024:
        distinct, value = np.unique(value, return_inverse=True)
        low, span = 0, distinct.size
    shifted = value - low
    if span * keys <= 8 * value.size + 1024:
        return np.where(there, keys + key * span + shifted, key), keys * (span + 1)
    _, cluster = np.unique(np.where(there, key * span + shifted, -1), return_inverse=True)
    cluster = np.where(there, cluster + keys, key)
    return cluster, int(cluster.max(initial=0)) + 1


def dense_ids(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct values in order, and the place of each value among them.

    Values that lie close together need no sort.
    """
    there = values != ABSENT
    low = int(values[there].min(initial=0)) - 1
    span = int(values[there].max(initial=0)) - low + 1
    if span > 8 * values.size + 1024:
        distinct, ids = np.unique(values, return_inverse=True)
        return distinct, ids.astype(np.int64)
    shifted = np.where(there, values - low, 0)
    present = np.zeros(span, np.int64)
    present[shifted] = 1
    distinct = np.flatnonzero(present) + low
    if present[0]:
        distinct[0] = ABSENT
    return distinct, (np.cumsum(present) - 1)[shifted]


class LazyOperations(Sequence[Operation]):
    """Operations from columns, each made when needed."""

    def __init__(self, columns: OperationColumns) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return self.columns.invoke.size

    @overload
    def __getitem__(self, row: int) -> Operation: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Operation]: ...
    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return [self.columns.operation(number) for number in range(*row.indices(len(self)))]
        return self.columns.operation(row)

    def __iter__(self) -> Iterator[Operation]:
        return (self.columns.operation(row) for row in range(len(self)))


def calls_at(columns: OperationColumns, rows: IntArray) -> list[Call]:
    """Return the calls in these rows; each call's source is its row."""

    def thing(number: int) -> int | None:
        return None if number == ABSENT else number

    done = columns.outcome[rows] == OK
    table = zip(
        columns.kind[rows].tolist(),
        columns.value[rows].tolist(),
        columns.old[rows].tolist(),
        columns.invoke[rows].tolist(),
        np.where(done, columns.ret[rows], NEVER).tolist(),
        rows.tolist(),
        strict=True,
    )
    calls = []
    for kind, value, old, invoke, ret, row in table:
        answered = UNKNOWN if ret == NEVER else None
        if kind == READ:
            calls.append(Call("read", None, thing(value), invoke, ret, row))
        elif kind == WRITE:
            calls.append(Call("write", thing(value), answered, invoke, ret, row))
        else:
            calls.append(Call("cas", (thing(old), thing(value)), answered, invoke, ret, row))
    return calls


def writes_beside(columns: OperationColumns, rows: IntArray, values: Sequence[Any], start: int, end: int) -> IntArray:
    """Return for each value the last write that returned before ``start``, and the first that began after ``end``."""
    needed = [ABSENT if value is None else value for value in values]
    writes = rows[(columns.kind[rows] == WRITE) & np.isin(columns.value[rows], needed)]
    early = writes[(columns.outcome[writes] == OK) & (columns.ret[writes] < start)]
    late = writes[(columns.outcome[writes] != FAIL) & (columns.invoke[writes] > end)]
    in_order = (early[np.argsort(-columns.ret[early])], late[np.argsort(columns.invoke[late])])
    firsts = [some[np.unique(columns.value[some], return_index=True)[1]] for some in in_order]
    return np.union1d(*firsts)
