"""The compiled just-in-time search for objects whose states are small integers; see ``search`` for the idea.

A configuration takes 32 bytes whatever the history's length: the return that comes next, the open calls that are done
(one bit a slot), the pending calls that are done, the state, and where it came from.  Registers need no table of
transitions; other models bring one, whose unknown entries the driver fills in when the search asks for them.
"""

# Compiled code is one flat loop: calls cost, and numba compiles what it is given.
# ruff: noqa: C901
from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from checker.slots_kernel import PLACE, give_slots, travel

# Kinds of calls.
READ, WRITE, CAS, TABLE, TABLE_READ, ADD, FIELDS, FIELDS_READ = range(8)
READS: Final = (READ, TABLE_READ, FIELDS_READ)
# Places in the array of scalars.
AT, OPEN, NODES, STACK, DEEPEST, STATUS, ASK_STATE, ASK_CLASS, GOAL = range(9)
RUNNING, FOUND, EXHAUSTED, ASKING, FULL = range(5)
ANY_STATE: Final = -2
_UNKNOWN: Final = -2
_NEVER: Final = 1 << 62
_LOW: Final = (1 << 32) - 1


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

    ``old`` is the transition's column where a ``table`` tells.  Of fields ``value`` holds the bits that are asked for
    above what they have to be, and ``old`` those that are set above what they become.  Where states are numbers that no
    call makes less, ``ceiling`` says of each return beyond which number a later read forbids to go; else it is empty.
    """

    kind: NDArray[np.int8]
    value: NDArray[np.int64]
    old: NDArray[np.int64]
    ret: NDArray[np.int64]
    table: NDArray[np.int32]
    ceiling: NDArray[np.int64]


class Nodes(NamedTuple):
    """The configurations, a table of where they are by their hashes, and a stack of those to be expanded."""

    event: NDArray[np.int32]
    mask: NDArray[np.int64]
    pend: NDArray[np.int64]
    state: NDArray[np.int32]
    parent: NDArray[np.int32]
    hashes: NDArray[np.int32]
    stack: NDArray[np.int32]


@njit(cache=True)
def arrange(invoke, ret):  # type: ignore[no-untyped-def]
    """(the events of calls by their dense ranks, do the slots suffice?)."""
    waits = 0
    for op in range(ret.size):
        waits += ret[op] == _NEVER
    done, size = ret.size - waits, 2 * ret.size - waits
    owner, is_return = np.empty(size, np.int64), np.zeros(size, np.bool_)
    waiting, waiting_at = np.empty(waits, np.int64), np.empty(waits, np.int64)
    waits = 0
    for op in range(ret.size):
        owner[invoke[op]] = op
        if ret[op] == _NEVER:
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


@njit(cache=True)
def _step(state, op, kind, value, old, table):  # type: ignore[no-untyped-def]
    """The state after the call; -1 illegal, -3 the table does not know."""
    k = kind[op]
    if k == READ:
        return value[op] if state == value[op] or state == ANY_STATE else -1
    if k == WRITE:
        return value[op]
    if k == CAS:
        return value[op] if state == old[op] or state == ANY_STATE else -1
    if k == ADD:
        return state + value[op]
    if k >= FIELDS:
        found = state & value[op] >> 32 == value[op] & _LOW
        return (state & ~(old[op] >> 32)) | (old[op] & _LOW) if found else -1
    after = table[state, old[op]]
    return -3 if after == _UNKNOWN else after


@njit(cache=True)
def _mix(event, mask, pend, state):  # type: ignore[no-untyped-def]
    h = np.uint64(event) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(mask)
    h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    h ^= np.uint64(pend) + np.uint64(0x94D049BB133111EB) * np.uint64(state + 3)
    h = (h ^ (h >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(29))


@njit(cache=True)
def explore(budget, initial, scalars, slot_op, events, calls, nodes):  # type: ignore[no-untyped-def]
    """Expand configurations until one explains everything, none is left, or the budget is spent.

    ``initial`` is the state in which the first one starts.  When a transition is not known, what was put on the stack
    stays, and the node itself goes back on top of it, to be expanded again with the answer.
    """
    owner, is_return, returns = events.owner, events.is_return, events.returns
    waiting, waiting_at, slot_of = events.waiting, events.waiting_at, events.slot_of
    kind, value, old, ret, table = calls.kind, calls.value, calls.old, calls.ret, calls.table
    ceiling, rising = calls.ceiling, calls.ceiling.size > 0
    n_event, n_mask, n_pend, n_state = nodes.event, nodes.mask, nodes.pend, nodes.state
    n_parent, hashes, stack = nodes.parent, nodes.hashes, nodes.stack
    chosen, after_of = np.empty(130, np.int64), np.empty(130, np.int64)
    spent = 0
    while (scalars[STACK] > 0 or scalars[NODES] == 0) and spent < budget:
        made, top = scalars[NODES], scalars[STACK]
        if made + 140 > n_event.size or made * 10 > hashes.size * 6:
            scalars[STATUS] = FULL
            return
        spent += 1
        # What is arrived at: one configuration at ``goal``, or one for each of the chosen calls.
        count, opened, node = 0, 0, np.int64(-1)
        goal, mask, pend, state = np.int64(0), np.int64(0), np.int64(0), np.int64(initial)
        alone = made == 0
        if not alone:
            node = np.int64(stack[top - 1])
            goal, mask, pend, state = np.int64(n_event[node]), n_mask[node], n_pend[node], np.int64(n_state[node])
            if goal == returns.size:
                scalars[STATUS], scalars[GOAL] = FOUND, node
                return
            top -= 1
            bit = np.int64(1) << slot_of[owner[returns[goal]]]
            alone = mask & bit != 0
            if alone:
                goal, mask = goal + 1, mask & ~bit
        if goal < returns.size:
            travel(returns[goal], scalars, owner, is_return, slot_of, slot_op)
        if not alone:
            left = scalars[OPEN] & ~mask
            while left:
                low = left & -left
                left ^= low
                op = slot_op[PLACE[low % 67]]
                after = _step(state, op, kind, value, old, table)
                if after == -3:
                    scalars[ASK_STATE], scalars[ASK_CLASS], scalars[STATUS] = state, old[op], ASKING
                    return
                if after != -1:
                    # Of calls that are alike only the one that returns first is tried.
                    alike = -1
                    for index in range(count):
                        other = chosen[index]
                        if value[other] == value[op] and kind[other] == kind[op] and old[other] == old[op]:
                            alike = index
                            break
                    if alike < 0:
                        chosen[count], after_of[count] = op, after
                        count += 1
                    elif ret[op] < ret[chosen[alike]]:
                        chosen[alike] = op
            opened = count
            for index in range(waiting.size):
                if waiting_at[index] > returns[goal]:
                    break
                if pend >> index & 1:
                    continue
                op = waiting[index]
                after = _step(state, op, kind, value, old, table)
                if after == -3:
                    scalars[ASK_STATE], scalars[ASK_CLASS], scalars[STATUS] = state, old[op], ASKING
                    return
                if after == -1 or after == state:
                    continue
                known = False
                for other in range(opened, count):
                    o = waiting[chosen[other]]
                    if kind[o] == kind[op] and value[o] == value[op] and old[o] == old[op]:
                        known = True
                        break
                if not known:
                    chosen[count], after_of[count] = index, after
                    count += 1
            # The stack turns the order round: pending calls are tried last, the one that returns first is tried first.
            for turn in range(opened):
                latest = turn
                for index in range(turn + 1, opened):
                    if ret[chosen[index]] > ret[chosen[latest]]:
                        latest = index
                chosen[turn], chosen[latest] = chosen[latest], chosen[turn]
                after_of[turn], after_of[latest] = after_of[latest], after_of[turn]
        for turn in range(1 if alone else count):
            fresh_mask, fresh_pend, fresh_state = mask, pend, state
            if not alone:
                # First the pending ones, from the last.
                index = count - 1 - turn if turn < count - opened else turn - (count - opened)
                fresh_state = after_of[index]
                if index >= opened:
                    fresh_pend |= np.int64(1) << chosen[index]
                else:
                    fresh_mask |= np.int64(1) << slot_of[chosen[index]]
            # What is expanded next goes on at once to the first return of a call that is not done.
            at, next_up = goal, turn == (0 if alone else count - 1)
            while True:
                hopeless = rising and fresh_state > ceiling[at]
                if at < returns.size:
                    # Reads that are legal now are taken at once.
                    left = scalars[OPEN] & ~fresh_mask
                    while left:
                        low = left & -left
                        left ^= low
                        op = slot_op[PLACE[low % 67]]
                        if kind[op] == READ:
                            if value[op] == fresh_state:
                                fresh_mask |= low
                            hopeless |= rising and value[op] < fresh_state
                        elif kind[op] == TABLE_READ or kind[op] == FIELDS_READ:
                            after = _step(fresh_state, op, kind, value, old, table)
                            if after == -3:
                                scalars[ASK_STATE], scalars[ASK_CLASS], scalars[STATUS] = fresh_state, old[op], ASKING
                                if node >= 0:
                                    stack[top], scalars[STACK] = node, top + 1
                                return
                            if after == fresh_state:
                                fresh_mask |= low
                if hopeless or not next_up or at == returns.size or spent >= budget:
                    break
                bit = np.int64(1) << slot_of[owner[returns[at]]]
                if fresh_mask & bit == 0:
                    break
                at, fresh_mask, spent = at + 1, fresh_mask & ~bit, spent + 1
                if at < returns.size:
                    travel(returns[at], scalars, owner, is_return, slot_of, slot_op)
            if hopeless:
                continue
            size = np.uint64(hashes.size - 1)
            place = _mix(at, fresh_mask, fresh_pend, fresh_state) & size
            known = False
            while hashes[place] >= 0:
                other = hashes[place]
                if (
                    n_mask[other] == fresh_mask
                    and n_event[other] == at
                    and n_state[other] == fresh_state
                    and n_pend[other] == fresh_pend
                ):
                    known = True
                    break
                place = (place + np.uint64(1)) & size
            if known:
                continue
            fresh = scalars[NODES]
            hashes[place] = fresh
            n_event[fresh], n_mask[fresh], n_pend[fresh] = at, fresh_mask, fresh_pend
            n_state[fresh], n_parent[fresh] = fresh_state, node
            scalars[NODES] = fresh + 1
            stack[top] = fresh
            top += 1
            scalars[DEEPEST] = max(scalars[DEEPEST], at)
        scalars[STACK] = top
    if scalars[STACK] == 0:
        scalars[STATUS] = EXHAUSTED


@njit(cache=True)
def rehash(made, nodes):  # type: ignore[no-untyped-def]
    """Fill a larger table of hashes."""
    hashes, size = nodes.hashes, np.uint64(nodes.hashes.size - 1)
    for node in range(made):
        place = _mix(nodes.event[node], nodes.mask[node], nodes.pend[node], nodes.state[node]) & size
        while hashes[place] >= 0:
            place = (place + np.uint64(1)) & size
        hashes[place] = node
