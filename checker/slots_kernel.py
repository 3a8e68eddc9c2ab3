"""Slots for open calls, compiled: a call that returns has a bit of a mask while it is open, which others use after it.

numba does not see that code which it cached calls this: who changes this file touches the other kernels too.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

SLOTS: Final = 62
_NEVER: Final = 1 << 62
# The powers of two differ modulo 67: the place of a single bit without a loop.
PLACE: Final = np.array([next((p for p in range(66) if pow(2, p, 67) == r), 0) for r in range(67)], np.int64)
# Places in the array of scalars: the event that comes next, and the mask of the slots that are taken before it.
AT, OPEN = range(2)


@njit(cache=True)
def travel(target, scalars, owner, is_return, slot_of, slot_op):  # type: ignore[no-untyped-def]
    """Bring the table of open slots to the moment just before event ``target``, backwards or forwards."""
    at, opened = scalars[AT], scalars[OPEN]
    while at < target:
        op = owner[at]
        if slot_of[op] >= 0:
            if is_return[at]:
                opened &= ~(np.int64(1) << slot_of[op])
            else:
                slot_op[slot_of[op]] = op
                opened |= np.int64(1) << slot_of[op]
        at += 1
    while at > target:
        at -= 1
        op = owner[at]
        if slot_of[op] >= 0:
            if is_return[at]:
                slot_op[slot_of[op]] = op
                opened |= np.int64(1) << slot_of[op]
            else:
                opened &= ~(np.int64(1) << slot_of[op])
    scalars[AT] = at
    scalars[OPEN] = opened


@njit(cache=True)
def give_slots(owner, is_return, ret, slots):  # type: ignore[no-untyped-def]
    """A slot for each call that returns, -1 for pending ones; answers False if 62 slots do not suffice."""
    free = np.arange(SLOTS - 1, -1, -1)
    left = SLOTS
    for event in range(owner.size):
        op = owner[event]
        if ret[op] >= owner.size:
            slots[op] = -1
        elif is_return[event]:
            free[left] = slots[op]
            left += 1
        else:
            if left == 0:
                return False
            left -= 1
            slots[op] = free[left]
    return True


@njit(cache=True)
def earliest(mask, slot_ret):  # type: ignore[no-untyped-def]
    """Of the slots in the mask the one that returns first, as a bit; 0 if there is none."""
    if mask & (mask - 1) == 0:
        return mask
    best, bit = _NEVER, 0
    while mask:
        low = mask & -mask
        slot = PLACE[low % 67]
        if slot_ret[slot] < best:
            best, bit = slot_ret[slot], low
        mask ^= low
    return bit
