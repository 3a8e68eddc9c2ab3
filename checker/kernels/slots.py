"""Slots for open calls, compiled: an open call has a bit of a mask, which later calls reuse."""

from __future__ import annotations

from typing import Final

import numpy as np

from history.codes import NEVER
from history.compiled import compiled

SLOTS: Final = 62
#: The powers of two differ modulo 67, so this finds the place of a single bit without a loop.
PLACE: Final = np.array([next((p for p in range(66) if pow(2, p, 67) == r), 0) for r in range(67)], np.int64)


@compiled
def give_slots(owner, is_return, ret, slots):  # type: ignore[no-untyped-def]
    """Give each call that returns a slot, and pending ones -1; return False if 62 slots do not suffice."""
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


@compiled
def earliest(mask, slot_ret):  # type: ignore[no-untyped-def]
    """Return the slot in the mask whose call returns first, as a bit; 0 if the mask is empty."""
    if mask & (mask - 1) == 0:
        return mask
    best, bit = NEVER, 0
    while mask:
        low = mask & -mask
        slot = PLACE[low % 67]
        if slot_ret[slot] < best:
            best, bit = slot_ret[slot], low
        mask ^= low
    return bit
