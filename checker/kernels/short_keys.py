"""Compiled loop over many short registers of any kind: the just-in-time search on one key after the other.

Linearizability is local (Herlihy and Wing 1990), so each key is a history of its own.  A key gets a number of steps
that depends on its length alone, so what is decided does not depend on time.  Other keys are left to the engines for
one key.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from checker.kernels.search import explore
from checker.kernels.search_state import (
    EXHAUSTED,
    FOUND,
    MAX_PUSHED,
    PROGRESS,
    RUNNING,
    Calls,
    ConfigurationTable,
    Search,
    arrange,
    order_of,
)
from checker.kernels.slots import SLOTS
from history.codes import NEVER, READ
from history.compiled import compiled

#: The most configurations of one key.
_ROOM: Final = 1 << 10


@compiled
def search_keys(starts, kind, value, old, invoke, ret, rows, steps):  # type: ignore[no-untyped-def]
    """Search for an order of each key's calls, with ``steps`` for each call.

    The calls are sorted by key and then by invocation, with ranks that count from 0 in each key, values as ids, and 0
    for the absent value; a key's calls begin at its place in ``starts``.  ``rows`` are no ``Rows`` of the search.

    Returns (by key FOUND, EXHAUSTED, or RUNNING if it is left to others; by key the length of its order; the calls in
    that order, beginning where the key's calls begin).
    """
    keys = starts.size - 1
    states, lengths = np.full(keys, RUNNING, np.int8), np.zeros(keys, np.int64)
    orders = np.zeros(kind.size, np.int64)
    nodes = ConfigurationTable(
        np.empty(_ROOM, np.int32), np.empty(_ROOM, np.int64), np.empty(_ROOM, np.int64), np.empty(_ROOM, np.int32),
        np.empty(_ROOM, np.int32), np.empty(2 * _ROOM, np.int32), np.empty(_ROOM + MAX_PUSHED, np.int32),
        np.empty(_ROOM + MAX_PUSHED, np.int32),
    )  # fmt: skip
    slot_op, table, ceiling = np.zeros(64, np.int64), np.zeros((0, 2), np.int64), np.zeros(0, np.int64)
    for key in range(keys):
        first, end = starts[key], starts[key + 1]
        kinds, begun, ended = kind[first:end], invoke[first:end], ret[first:end]
        events, enough = arrange(begun, ended)
        if not enough or events.waiting.size > SLOTS:
            continue
        progress = np.zeros(1, PROGRESS)
        progress[0].deepest, progress[0].states = -1, 1
        nodes.hashes[:] = -1
        live = np.full(events.returns.size + 1, -1, np.int64)
        calls = Calls(kinds, value[first:end], old[first:end], ended, table, ceiling)
        search = Search(events, calls, nodes, rows, slot_op, progress, np.int64(NEVER), live)
        explore(search, 0, steps * (1 + end - first))
        status = progress[0].status
        if status == FOUND:
            order = order_of(progress[0].goal, events, nodes, live, kinds == READ, ended)
            lengths[key] = order.size
            orders[first : first + order.size] = first + order
        if status in (FOUND, EXHAUSTED):
            states[key] = status
    return states, lengths, orders
