"""The compiled just-in-time search for objects whose states are small integers; see ``search`` for the idea.

A configuration takes 28 bytes whatever the history's length: the return that comes next, whose call is not done yet;
the open calls that are done (one bit a slot), the pending calls that are done, the state, and where it came from.
Registers need no table of transitions; other models bring one, which the driver fills in when the search asks for what
is not in it.
"""

# Compiled code is one flat loop: calls cost, and numba compiles what it is given.
# ruff: noqa: C901
from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checker.kernels.slots import PLACE, give_slots
from checker.kernels.transactions import becomes, holds
from history.codes import NEVER
from history.compiled import compiled

# Kinds of calls.
READ, WRITE, CAS, TABLE, TABLE_READ, ADD, TXN, TXN_READ = range(8)
READS: Final = (READ, TABLE_READ, TXN_READ)
# Places in the array of scalars: the event that comes next, the slots that are taken before it, and those of reads, …
AT, OPEN, READING, NODES, STACK, DEEPEST, STATUS, GOAL, STATES, ASKED = range(10)
RUNNING, FOUND, EXHAUSTED, ASKING, FULL = range(5)
ANY_STATE: Final = -2
# As many steps are put on the stack at once, at most.
MOST: Final = 130
# A step that takes no call; pending calls from here.
NOTHING, FIRST_WAITING = -1, -2


class Events(NamedTuple):
    """When what happens.

    By rank: ``owner``, the call, and whether this ``is_return``.  By return: its rank in ``returns``.  By pending call:
    the call in ``waiting``, and its rank in ``waiting_at``.  By call: ``slot_of``, -1 for pending ones.
    """

    owner: NDArray[np.int64]
    is_return: NDArray[np.bool_]
    returns: NDArray[np.int64]
    waiting: NDArray[np.int64]
    waiting_at: NDArray[np.int64]
    slot_of: NDArray[np.int64]


class Calls(NamedTuple):
    """What the calls do, and the ranks of their returns.

    ``old`` is the call's class where a ``table`` tells (see ``enter``), ``value`` the number of a transaction in
    ``Rows``.  Where states are numbers that no call makes less, ``ceiling`` says of each return beyond which number a
    later read forbids to go; else it is empty.
    """

    kind: NDArray[np.int8]
    value: NDArray[np.int64]
    old: NDArray[np.int64]
    ret: NDArray[np.int64]
    table: NDArray[np.int64]
    ceiling: NDArray[np.int64]


class Nodes(NamedTuple):
    """The configurations, a table of where they are by their hashes, and a stack of steps to be taken.

    A step is taken from the configuration in ``stack`` by the call in ``steps``; of a pending one its number below
    ``FIRST_WAITING`` stands there.
    """

    event: NDArray[np.int32]
    mask: NDArray[np.int64]
    pend: NDArray[np.int64]
    state: NDArray[np.int32]
    parent: NDArray[np.int32]
    hashes: NDArray[np.int32]
    stack: NDArray[np.int32]
    steps: NDArray[np.int32]


@compiled
def arrange(invoke, ret):  # type: ignore[no-untyped-def]
    """(the events of calls by their dense ranks, do the slots suffice?)."""
    waits = 0
    for op in range(ret.size):
        waits += ret[op] == NEVER
    done, size = ret.size - waits, 2 * ret.size - waits
    owner, is_return = np.empty(size, np.int64), np.zeros(size, np.bool_)
    waiting, waiting_at = np.empty(waits, np.int64), np.empty(waits, np.int64)
    waits = 0
    for op in range(ret.size):
        owner[invoke[op]] = op
        if ret[op] == NEVER:
            waiting[waits], waiting_at[waits] = op, invoke[op]
            waits += 1
        else:
            owner[ret[op]], is_return[ret[op]] = op, True
    returns, slot_of = np.empty(done, np.int64), np.full(ret.size, -1, np.int64)
    done = 0
    for rank in range(size):
        if is_return[rank]:
            returns[done] = rank
            done += 1
    enough = give_slots(owner, is_return, ret, slot_of)
    return Events(owner, is_return, returns, waiting, waiting_at, slot_of), enough


@compiled
def _travel(target, scalars, owner, is_return, slot_of, slot_op, kind):  # type: ignore[no-untyped-def]
    """Bring the table of open slots to the moment just before event ``target``, backwards or forwards."""
    at, opened, reading = scalars[AT], scalars[OPEN], scalars[READING]
    while at != target:
        ahead = at < target
        at -= not ahead
        op = owner[at]
        if slot_of[op] >= 0:
            bit = np.int64(1) << slot_of[op]
            if is_return[at] == ahead:
                opened &= ~bit
            else:
                slot_op[slot_of[op]] = op
                opened |= bit
                is_read = kind[op] == READ or kind[op] == TABLE_READ or kind[op] == TXN_READ
                reading = reading | bit if is_read else reading & ~bit
        at += ahead
    scalars[AT], scalars[OPEN], scalars[READING] = at, opened, reading


@compiled
def _after(state, op, kind, value, old, table):  # type: ignore[no-untyped-def]
    """The state after a call that may happen; of a table -1 if it may not, -3 if that is not known."""
    k = kind[op]
    if k <= CAS:
        return value[op]
    if k == ADD:
        return state + value[op]
    key = state << 32 | old[op]
    place = _place(key, table)
    return table[place, 1] if table[place, 0] == key else -3


@compiled
def _place(key, table):  # type: ignore[no-untyped-def]
    """Where the key is in the table, or would be."""
    last = np.uint64(table.shape[0] - 1)
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    place = (h ^ (h >> np.uint64(32))) & last
    while table[place, 0] != key and table[place, 0] >= 0:
        place = (place + np.uint64(1)) & last
    return place


@compiled
def enter(rows, table):  # type: ignore[no-untyped-def]
    """Enter transitions: their state above their class, in the upper half of the bits, and the state after it or -1.

    The table's size is a power of two; free places have -1 for a key.
    """
    for row in range(rows.shape[0]):
        place = _place(rows[row, 0], table)
        table[place, 0], table[place, 1] = rows[row, 0], rows[row, 1]


@compiled
def _ask(scalars, event, state, class_, taken, mask, pend):  # type: ignore[no-untyped-def]
    """Say which transition is not known, and of which configuration; is it by the call that is taken, or by a read?"""
    scalars[STATUS] = ASKING
    for place, number in enumerate((event, state, class_, taken, mask, pend)):
        scalars[ASKED + place] = number


@compiled
def _mix(event, mask, pend, state):  # type: ignore[no-untyped-def]
    h = np.uint64(event) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(mask)
    h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    h ^= np.uint64(pend) + np.uint64(0x94D049BB133111EB) * np.uint64(state + 3)
    h = (h ^ (h >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(29))


@compiled
def explore(budget, initial, scalars, slot_op, events, calls, nodes, rows):  # type: ignore[no-untyped-def]
    """Expand configurations until one explains everything, none is left, or the budget is spent.

    ``initial`` is the state in which the first one starts.  On the stack are steps that are yet to be taken, from a
    configuration by a call; one is made only when its turn comes.  A step for which a transition is not known stays.
    As asking is dear, a table is not looked into before that, either.
    """
    owner, is_return, returns = events.owner, events.is_return, events.returns
    waiting, waiting_at, slot_of = events.waiting, events.waiting_at, events.slot_of
    kind, value, old, ret, table = calls.kind, calls.value, calls.old, calls.ret, calls.table
    ceiling, rising = calls.ceiling, calls.ceiling.size > 0
    cells, start, middle, place_of, item = rows.cells, rows.start, rows.middle, rows.place, rows.item
    n_event, n_mask, n_pend, n_state = nodes.event, nodes.mask, nodes.pend, nodes.state
    n_parent, hashes, stack, steps = nodes.parent, nodes.hashes, nodes.stack, nodes.steps
    spent = 0
    while (scalars[STACK] > 0 or scalars[NODES] == 0) and spent < budget:
        made, top = scalars[NODES], scalars[STACK]
        crowded = rows.cells.size > 0 and scalars[STATES] == rows.cells.shape[0]
        if crowded or made == n_event.size or made * 10 > hashes.size * 6 or top + MOST > stack.size:
            scalars[STATUS] = FULL
            return
        spent += 1
        node, taken = np.int64(-1), np.int64(NOTHING)
        at, mask, pend, state = np.int64(0), np.int64(0), np.int64(0), np.int64(initial)
        if top > 0:
            top -= 1
            node, taken = np.int64(stack[top]), np.int64(steps[top])
            at, mask, pend, state = np.int64(n_event[node]), n_mask[node], n_pend[node], np.int64(n_state[node])
        if at < returns.size:
            _travel(returns[at], scalars, owner, is_return, slot_of, slot_op, kind)
        if taken != NOTHING:
            op = taken if taken >= 0 else waiting[FIRST_WAITING - taken]
            if kind[op] >= TXN:
                txn, states = value[op], scalars[STATES]
                after = becomes(
                    state, middle[txn], start[txn + 1], states, cells, rows.hashes, rows.ids, place_of, item
                )
                scalars[STATES] = max(states, after + 1)
            else:
                after = _after(state, op, kind, value, old, table)
            if after == -3:
                _ask(scalars, at, state, old[op], op, mask, pend)
                return
            if after == -1 or (taken < 0 and after == state):
                scalars[STACK] = top
                continue
            state = after
            if taken >= 0:
                mask |= np.int64(1) << slot_of[op]
            else:
                pend |= np.int64(1) << FIRST_WAITING - taken
        # On to the first return of a call that is not done; reads that are legal are taken at once.
        seen = np.int64(0)
        while True:
            hopeless = rising and state > ceiling[at]
            if at == returns.size:
                break
            left = scalars[OPEN] & scalars[READING] & ~(mask | seen)
            while left:
                low = left & -left
                left ^= low
                op = slot_op[PLACE[low % 67]]
                if kind[op] == READ:
                    if value[op] == state:
                        mask |= low
                    hopeless |= rising and value[op] < state
                elif kind[op] == TXN_READ:
                    if holds(state, value[op], cells, start, middle, place_of, item):
                        mask |= low
                else:
                    after = _after(state, op, kind, value, old, table)
                    if after == -3:
                        _ask(scalars, at, state, old[op], NOTHING, mask, pend)
                        return
                    if after == state:
                        mask |= low
            bit = np.int64(1) << slot_of[owner[returns[at]]]
            if hopeless or mask & bit == 0 or spent > budget:
                break
            at, mask, spent, seen = at + 1, mask & ~bit, spent + 1, scalars[OPEN] & ~bit
            if at < returns.size:
                _travel(returns[at], scalars, owner, is_return, slot_of, slot_op, kind)
        scalars[STACK] = top
        if hopeless:
            continue
        size = np.uint64(hashes.size - 1)
        place = _mix(at, mask, pend, state) & size
        known = False
        while hashes[place] >= 0:
            other = hashes[place]
            if n_mask[other] == mask and n_event[other] == at and n_state[other] == state and n_pend[other] == pend:
                known = True
                break
            place = (place + np.uint64(1)) & size
        if known:
            continue
        hashes[place] = made
        n_event[made], n_mask[made], n_pend[made], n_state[made], n_parent[made] = at, mask, pend, state, node
        node = made
        scalars[NODES] = made + 1
        scalars[DEEPEST] = max(scalars[DEEPEST], at)
        if at == returns.size:
            scalars[STATUS], scalars[GOAL] = FOUND, node
            return
        if mask & np.int64(1) << slot_of[owner[returns[at]]]:
            # The budget was spent on the way.
            stack[top], steps[top], scalars[STACK] = node, NOTHING, top + 1
            return
        # Pending calls are tried last, the one that returns first is tried first.
        bottom = top
        for index in range(waiting.size):
            if waiting_at[index] > returns[at]:
                break
            if pend >> index & 1:
                continue
            op = waiting[index]
            if kind[op] == CAS and state != old[op] and state != ANY_STATE:
                continue
            known = False
            for other in range(bottom, top):
                o = waiting[FIRST_WAITING - steps[other]]
                if kind[o] == kind[op] and value[o] == value[op] and old[o] == old[op]:
                    known = True
                    break
            if not known:
                stack[top], steps[top] = node, FIRST_WAITING - index
                top += 1
        first = top
        # Reads that are legal were taken; only an unknown state becomes another by one.
        left = scalars[OPEN] & ~mask & (-1 if state == ANY_STATE else ~scalars[READING])
        while left:
            low = left & -left
            left ^= low
            op = slot_op[PLACE[low % 67]]
            if kind[op] == CAS and state != old[op] and state != ANY_STATE:
                continue
            if kind[op] == TXN and not holds(state, value[op], cells, start, middle, place_of, item):
                continue
            # Of calls that are alike only the one that returns first is tried.
            turn = first
            while turn < top:
                o = steps[turn]
                if kind[o] == kind[op] and value[o] == value[op] and old[o] == old[op]:
                    break
                turn += 1
            if turn == top:
                stack[top] = node
                top += 1
            elif ret[op] > ret[steps[turn]]:
                continue
            while turn + 1 < top and ret[steps[turn + 1]] > ret[op]:
                steps[turn] = steps[turn + 1]
                turn += 1
            while turn > first and ret[steps[turn - 1]] < ret[op]:
                steps[turn] = steps[turn - 1]
                turn -= 1
            steps[turn] = op
        scalars[STACK] = top
    if scalars[STACK] == 0:
        scalars[STATUS] = EXHAUSTED


@compiled
def rehash(made, nodes):  # type: ignore[no-untyped-def]
    """Fill a larger table of hashes."""
    hashes, size = nodes.hashes, np.uint64(nodes.hashes.size - 1)
    for node in range(made):
        place = _mix(nodes.event[node], nodes.mask[node], nodes.pend[node], nodes.state[node]) & size
        while hashes[place] >= 0:
            place = (place + np.uint64(1)) & size
        hashes[place] = node
