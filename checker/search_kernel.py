"""The compiled just-in-time search for objects whose states are small integers; see ``search`` for the idea.

A configuration takes 36 bytes whatever the history's length: the return that comes next, the open calls that are done
(one bit a slot), the pending calls that are done, the state, and where it came from.  Registers need no table of
transitions; other models bring one, whose unknown entries the driver fills in when the search asks for them.
"""

# Compiled code is one flat loop: calls cost, and numba compiles what it is given.
# ruff: noqa: C901
from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from checker.slots_kernel import travel

# Kinds of calls.
READ, WRITE, CAS, TABLE, TABLE_READ = range(5)
# Places in the array of scalars.
AT, OPEN, NODES, STACK, DEEPEST, STATUS, ASK_STATE, ASK_CLASS, GOAL = range(9)
RUNNING, FOUND, EXHAUSTED, ASKING, FULL = range(5)
ANY_STATE: Final = -2
_UNKNOWN: Final = -2


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
def _arrive(  # type: ignore[no-untyped-def]
    event,
    mask,
    pend,
    state,
    parent,
    scalars,
    returns,
    owner,
    is_return,
    slot_of,
    slot_op,
    kind,
    value,
    old,
    table,
    n_event,
    n_mask,
    n_pend,
    n_state,
    n_parent,
    hashes,
    stack,
):
    """Take open reads that are legal now, then remember the configuration if it is new.  Answers False if asking."""
    if event < returns.size:
        travel(returns[event], scalars, owner, is_return, slot_of, slot_op)
        left = scalars[OPEN] & ~mask
        slot = 0
        while left:
            if left & 1:
                op = slot_op[slot]
                if kind[op] == READ:
                    if value[op] == state:
                        mask |= np.int64(1) << slot
                elif kind[op] == TABLE_READ:
                    after = _step(state, op, kind, value, old, table)
                    if after == -3:
                        scalars[ASK_STATE], scalars[ASK_CLASS] = state, old[op]
                        return False
                    if after == state:
                        mask |= np.int64(1) << slot
            left >>= 1
            slot += 1
    size = np.uint64(hashes.size - 1)
    place = _mix(event, mask, pend, state) & size
    while hashes[place] >= 0:
        node = hashes[place]
        if n_event[node] == event and n_mask[node] == mask and n_pend[node] == pend and n_state[node] == state:
            return True
        place = (place + np.uint64(1)) & size
    node = scalars[NODES]
    hashes[place] = node
    n_event[node], n_mask[node], n_pend[node] = event, mask, pend
    n_state[node], n_parent[node] = state, parent
    scalars[NODES] += 1
    stack[scalars[STACK]] = node
    scalars[STACK] += 1
    if event > scalars[DEEPEST]:
        scalars[DEEPEST] = event
    return True


@njit(cache=True)
def _ask_again(node, scalars, stack):  # type: ignore[no-untyped-def]
    """What was put on the stack stays; the node itself goes back on top, to be expanded again with the answer."""
    stack[scalars[STACK]] = node
    scalars[STACK] += 1
    scalars[STATUS] = ASKING


@njit(cache=True)
def explore(  # type: ignore[no-untyped-def]
    budget,
    scalars,
    returns,
    owner,
    is_return,
    slot_of,
    slot_op,
    kind,
    value,
    old,
    ret,
    table,
    waiting,
    waiting_at,
    n_event,
    n_mask,
    n_pend,
    n_state,
    n_parent,
    hashes,
    stack,
):
    """Expand configurations until one explains everything, none is left, or the budget is spent."""
    chosen = np.empty(130, np.int64)
    after_of = np.empty(130, np.int64)
    spent = 0
    while scalars[STACK] > 0 and spent < budget:
        if scalars[NODES] + 140 > n_event.size or scalars[NODES] * 10 > hashes.size * 6:
            scalars[STATUS] = FULL
            return
        node = stack[scalars[STACK] - 1]
        event, mask, pend, state = n_event[node], n_mask[node], n_pend[node], n_state[node]
        if event == returns.size:
            scalars[STATUS], scalars[GOAL] = FOUND, node
            return
        spent += 1
        scalars[STACK] -= 1
        due = owner[returns[event]]
        bit = np.int64(1) << slot_of[due]
        if mask & bit:
            if not _arrive(
                event + 1,
                mask & ~bit,
                pend,
                state,
                node,
                scalars,
                returns,
                owner,
                is_return,
                slot_of,
                slot_op,
                kind,
                value,
                old,
                table,
                n_event,
                n_mask,
                n_pend,
                n_state,
                n_parent,
                hashes,
                stack,
            ):
                _ask_again(node, scalars, stack)
                return
            continue
        travel(returns[event], scalars, owner, is_return, slot_of, slot_op)
        count = 0
        left = scalars[OPEN] & ~mask
        slot = 0
        while left:
            if left & 1:
                op = slot_op[slot]
                after = _step(state, op, kind, value, old, table)
                if after == -3:
                    scalars[ASK_STATE], scalars[ASK_CLASS] = state, old[op]
                    _ask_again(node, scalars, stack)
                    return
                if after != -1:
                    # Of calls that are alike only the one that returns first is tried.
                    alike = -1
                    for index in range(count):
                        other = chosen[index]
                        if kind[other] == kind[op] and value[other] == value[op] and old[other] == old[op]:
                            alike = index
                            break
                    if alike < 0:
                        chosen[count], after_of[count] = op, after
                        count += 1
                    elif ret[op] < ret[chosen[alike]]:
                        chosen[alike] = op
            left >>= 1
            slot += 1
        opened = count
        for index in range(waiting.size):
            if waiting_at[index] > returns[event]:
                break
            if pend >> index & 1:
                continue
            op = waiting[index]
            after = _step(state, op, kind, value, old, table)
            if after == -3:
                scalars[ASK_STATE], scalars[ASK_CLASS] = state, old[op]
                _ask_again(node, scalars, stack)
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
        for index in range(count - 1, opened - 1, -1):
            if not _arrive(
                event,
                mask,
                pend | np.int64(1) << chosen[index],
                after_of[index],
                node,
                scalars,
                returns,
                owner,
                is_return,
                slot_of,
                slot_op,
                kind,
                value,
                old,
                table,
                n_event,
                n_mask,
                n_pend,
                n_state,
                n_parent,
                hashes,
                stack,
            ):
                _ask_again(node, scalars, stack)
                return
        for turn in range(opened):
            latest = turn
            for index in range(turn + 1, opened):
                if ret[chosen[index]] > ret[chosen[latest]]:
                    latest = index
            chosen[turn], chosen[latest] = chosen[latest], chosen[turn]
            after_of[turn], after_of[latest] = after_of[latest], after_of[turn]
            if not _arrive(
                event,
                mask | np.int64(1) << slot_of[chosen[turn]],
                pend,
                after_of[turn],
                node,
                scalars,
                returns,
                owner,
                is_return,
                slot_of,
                slot_op,
                kind,
                value,
                old,
                table,
                n_event,
                n_mask,
                n_pend,
                n_state,
                n_parent,
                hashes,
                stack,
            ):
                _ask_again(node, scalars, stack)
                return
    if scalars[STACK] == 0:
        scalars[STATUS] = EXHAUSTED


@njit(cache=True)
def start(  # type: ignore[no-untyped-def]
    state,
    scalars,
    returns,
    owner,
    is_return,
    slot_of,
    slot_op,
    kind,
    value,
    old,
    table,
    n_event,
    n_mask,
    n_pend,
    n_state,
    n_parent,
    hashes,
    stack,
):
    """Put the first configuration on the stack.  Answers False if the table must be asked first."""
    return _arrive(
        0,
        np.int64(0),
        np.int64(0),
        state,
        -1,
        scalars,
        returns,
        owner,
        is_return,
        slot_of,
        slot_op,
        kind,
        value,
        old,
        table,
        n_event,
        n_mask,
        n_pend,
        n_state,
        n_parent,
        hashes,
        stack,
    )


@njit(cache=True)
def rehash(nodes, n_event, n_mask, n_pend, n_state, hashes):  # type: ignore[no-untyped-def]
    """Fill a larger table of hashes."""
    size = np.uint64(hashes.size - 1)
    for node in range(nodes):
        place = _mix(n_event[node], n_mask[node], n_pend[node], n_state[node]) & size
        while hashes[place] >= 0:
            place = (place + np.uint64(1)) & size
        hashes[place] = node
