"""Data of the just-in-time search, compiled: events and calls, configurations and their hashes, transitions.

A call has a slot while it is open: a bit of a mask, which later calls reuse.  The search moves back and forth between
returns, and the table of open slots follows it (``travel``).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checker.kernels.multi_register import Rows
from checker.kernels.slots import PLACE, SLOTS, give_slots
from history.codes import NEVER, READ
from history.compiled import compiled, step

#: Kinds of calls, after READ, WRITE and CAS.
TABLE, TABLE_READ, ADD, TXN, TXN_READ = range(3, 8)
READS: Final = (READ, TABLE_READ, TXN_READ)
#: Values of ``status``.
RUNNING, FOUND, EXHAUSTED, ASKING, FULL = range(5)
ANY_STATE: Final = -2
#: Sums are less than this power of two; those of weighed balances are cut to it.
SUMS: Final = 1 << 30
#: Instead of a state after a call: the call is illegal, or the table lacks the transition.
ILLEGAL, NOT_KNOWN = -1, -3
#: At most this many steps are put on the stack at once.
MAX_PUSHED: Final = 130
#: A step that takes no call; steps by pending calls count down from the second one.
NOTHING, FIRST_WAITING = -1, -2
NO_NODE: Final = -1
#: Progress of the search: an array of one row.  ``at`` is the event up to which ``slot_op`` has the open calls;
#: ``open`` are the slots in use before it, and ``reading`` those of reads.  ``nodes`` is the number of configurations,
#: ``stack`` that of steps to take, ``states`` that of known states of transactions.  ``deepest`` is the farthest
#: return, ``goal`` the configuration that explains everything.  With ASKING, the other fields are the question: the
#: configuration, the class of the call, and the call (NOTHING if it is a read that no step takes).
PROGRESS: Final = np.dtype([(name, np.int64) for name in (
    "at", "open", "reading", "nodes", "stack", "states", "deepest", "goal", "status",
    "asked_event", "asked_done", "asked_pending", "asked_state", "asked_class", "asked_call",
)])  # fmt: skip


class Events(NamedTuple):
    """The order of the history's events, as arrays by rank, by return and by call.

    By rank: the ``owner`` call, and whether this ``is_return``.  By return: its rank in ``returns``.  By pending
    call: the call in ``waiting``, and its rank in ``waiting_at``.  By call: ``slot_of``, -1 for pending ones.
    """

    owner: NDArray[np.int64]
    is_return: NDArray[np.bool_]
    returns: NDArray[np.int64]
    waiting: NDArray[np.int64]
    waiting_at: NDArray[np.int64]
    slot_of: NDArray[np.int64]


class Calls(NamedTuple):
    """Kinds and values of the calls, and the ranks of their returns.

    ``old`` is the call's class if a ``table`` is used (see ``enter``); ``value`` is the number of a transaction in
    ``Rows``.  If states are numbers that never decrease, ``ceiling`` has for each return the greatest number that
    later reads still allow; otherwise it is empty.  This is not ``RegisterColumns``: any model can be searched, and
    compiled code takes no dataclasses.
    """

    kind: NDArray[np.int8]
    value: NDArray[np.int64]
    old: NDArray[np.int64]
    ret: NDArray[np.int64]
    table: NDArray[np.int64]
    ceiling: NDArray[np.int64]


class ConfigurationTable(NamedTuple):
    """Configurations, a hash table that finds them, and a stack of steps to take.

    A step is taken from the configuration in ``stack`` by the call in ``steps``; a pending call is stored as
    ``FIRST_WAITING`` minus its number.
    """

    event: NDArray[np.int32]
    done: NDArray[np.int64]
    pending: NDArray[np.int64]
    state: NDArray[np.int32]
    parent: NDArray[np.int32]
    hashes: NDArray[np.int32]
    stack: NDArray[np.int32]
    steps: NDArray[np.int32]


class Search(NamedTuple):
    """State of the search; ``slot_op`` has for each slot the call that uses it.

    Pending calls are taken up to ``window`` events after they began.  They share bits, one for every ``SLOTS``-th call,
    and ``live`` has for each return the bits of those that may be taken.
    """

    events: Events
    calls: Calls
    nodes: ConfigurationTable
    rows: Rows
    slot_op: NDArray[np.int64]
    progress: NDArray[np.void]
    window: np.int64
    live: NDArray[np.int64]


class Configuration(NamedTuple):
    """Calls linearized before return number ``event`` (open ones by slot, pending ones by number), and the state."""

    event: np.int64
    done: np.int64
    pending: np.int64
    state: np.int64


@compiled
def arrange(invoke, ret):  # type: ignore[no-untyped-def]
    """Return the events of calls, given their dense ranks, and whether the slots suffice."""
    waits = 0
    for call in range(ret.size):
        waits += ret[call] == NEVER
    done, size = ret.size - waits, 2 * ret.size - waits
    owner, is_return = np.empty(size, np.int64), np.zeros(size, np.bool_)
    waiting, waiting_at = np.empty(waits, np.int64), np.empty(waits, np.int64)
    waits = 0
    for call in range(ret.size):
        owner[invoke[call]] = call
        if ret[call] == NEVER:
            waiting[waits], waiting_at[waits] = call, invoke[call]
            waits += 1
        else:
            owner[ret[call]], is_return[ret[call]] = call, True
    returns, slot_of = np.empty(done, np.int64), np.full(ret.size, -1, np.int64)
    done = 0
    for rank in range(size):
        if is_return[rank]:
            returns[done] = rank
            done += 1
    enough = give_slots(owner, is_return, ret, slot_of)
    return Events(owner, is_return, returns, waiting, waiting_at, slot_of), enough


@step
def travel(search, event):  # type: ignore[no-untyped-def]
    """Move the table of open slots, backwards or forwards, to just before a return."""
    events, kinds, progress = search.events, search.calls.kind, search.progress[0]
    if event == events.returns.size:
        return
    at, opened, reading, target = progress.at, progress.open, progress.reading, events.returns[event]
    while at != target:
        ahead = at < target
        at -= not ahead
        call = events.owner[at]
        slot = events.slot_of[call]
        if slot >= 0:
            bit = np.int64(1) << slot
            if events.is_return[at] == ahead:
                opened &= ~bit
            else:
                search.slot_op[slot] = call
                opened |= bit
                is_read = kinds[call] == READ or kinds[call] == TABLE_READ or kinds[call] == TXN_READ
                reading = reading | bit if is_read else reading & ~bit
        at += ahead
    progress.at, progress.open, progress.reading = at, opened, reading


@step
def due(events, event):  # type: ignore[no-untyped-def]
    """Return the slot of the call that returns, as a bit."""
    return np.int64(1) << events.slot_of[events.owner[events.returns[event]]]


@step
def look_up(table, state, class_):  # type: ignore[no-untyped-def]
    """Return the state after a call of that class, ILLEGAL, or NOT_KNOWN."""
    key = state << 32 | class_
    place = _place(table, key)
    return table[place, 1] if table[place, 0] == key else np.int64(NOT_KNOWN)


@step
def _place(table, key):  # type: ignore[no-untyped-def]
    """Return where the key is in the table, or where it would be."""
    last = np.uint64(table.shape[0] - 1)
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    place = (h ^ (h >> np.uint64(32))) & last
    while table[place, 0] != key and table[place, 0] >= 0:
        place = (place + np.uint64(1)) & last
    return place


@compiled
def enter(rows, table):  # type: ignore[no-untyped-def]
    """Enter transitions into the table, each a key and the state after it, or -1.

    A key has the state in its upper half of bits and the class in the lower.  The table's size is a power of two;
    free places have the key -1.
    """
    for row in range(rows.shape[0]):
        place = _place(table, rows[row, 0])
        table[place, 0], table[place, 1] = rows[row, 0], rows[row, 1]


@step
def hashed(event, done, pending, state):  # type: ignore[no-untyped-def]
    """Mix the numbers of a configuration (the multipliers are those of splitmix64)."""
    h = np.uint64(event) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(done)
    h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    h ^= np.uint64(pending) + np.uint64(0x94D049BB133111EB) * np.uint64(state + 3)
    h = (h ^ (h >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(29))


@compiled
def rehash(made, nodes):  # type: ignore[no-untyped-def]
    """Fill a larger table with the hashes of the configurations."""
    hashes, last = nodes.hashes, np.uint64(nodes.hashes.size - 1)
    for node in range(made):
        place = hashed(nodes.event[node], nodes.done[node], nodes.pending[node], nodes.state[node]) & last
        while hashes[place] >= 0:
            place = (place + np.uint64(1)) & last
        hashes[place] = node


@compiled
def order_of(goal, events, nodes, live, is_read, ret):  # type: ignore[no-untyped-def]  # noqa: C901 (one pass)
    """Return the calls on the way to a configuration, in order."""
    steps, node = 1, goal
    while node > 0:
        node = nodes.parent[node]
        steps += 1
    path = np.empty(steps, np.int64)
    for step_at in range(steps):
        path[steps - 1 - step_at] = goal
        goal = nodes.parent[goal]
    order, size = np.empty(ret.size, np.int64), 0
    opened = np.zeros(64, np.int64)
    at, returned, done, pending, begun = 0, 0, np.int64(0), np.int64(0), 0
    for node in path:
        first = size
        # This step took calls that began before the return at which the last step ended.
        left = nodes.pending[node] & ~pending
        while left:
            low = left & -left
            left ^= low
            order[size] = events.waiting[begun - 1 - (begun - 1 - PLACE[low % 67]) % SLOTS]
            size += 1
        while True:
            until = events.returns[returned] if returned < events.returns.size else events.owner.size
            for rank in range(at, until):
                op = events.owner[rank]
                if not events.is_return[rank] and events.slot_of[op] >= 0:
                    opened[events.slot_of[op]] = op
            at = until
            if returned == nodes.event[node]:
                break
            # On the way to this node the call returns, and so it was taken before, or on this way.
            op = events.owner[until]
            bit = np.int64(1) << events.slot_of[op]
            if done & bit == 0:
                order[size] = op
                size += 1
            done &= ~bit
            returned += 1
        left = nodes.done[node] & ~done
        while left:
            low = left & -left
            left ^= low
            order[size] = opened[PLACE[low % 67]]
            size += 1
        # At most one of them changes the state; the reads saw what it left.
        for place in range(first + 1, size):
            op, before = order[place], place - 1
            while before >= first and (is_read[order[before]], ret[order[before]]) > (is_read[op], ret[op]):
                order[before + 1] = order[before]
                before -= 1
            order[before + 1] = op
        done, pending = nodes.done[node], nodes.pending[node] & live[nodes.event[node]]
        while begun < events.waiting.size and events.waiting_at[begun] < at:
            begun += 1
    return order[:size]
