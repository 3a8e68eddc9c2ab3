"""Many registers whose values repeat: the automaton on one key after the other, without leaving compiled code.

It tells which keys are valid; the others are looked at one by one, by those who can say what is wrong or go on longer.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checker.kernels.automaton import (
    COUNT,
    DEAD,
    FREE,
    NEXT,
    PRUNED,
    RUNNING,
    STATUS,
    THRIFT,
    WORK,
    Configurations,
    History,
    Open,
    advance,
)
from checker.kernels.encode import order_of_values
from checker.kernels.slots import SLOTS
from checker.kernels.zones import judge
from history.codes import ABSENT, FAIL, NEVER, OK, READ, WRITE
from history.compiled import compiled

VALID, OPEN, INVALID = range(3)
# States for ``judge_all``: the first three are those of the zones, then there is what the automaton tells.
AGREED, CONTRADICTED, REPEATED, EXPLAINED, UNEXPLAINED = range(5)
_FAR: Final = 1 << 61
_WIDTH: Final = 128
_COLUMNS: Final = 8
_PATIENCE: Final = 100_000


class Keyed(NamedTuple):
    """The calls of all keys, key by key, each key's in the order of their invocations.

    ``starts`` is where a key's calls begin, ``events`` where its events do; the other columns are those of
    ``automaton_kernel.History``, with calls, ranks and value ids of each key from 0 on.  ``values`` is how many values
    a key has, 0 if it is none for the automaton.
    """

    starts: NDArray[np.int64]
    events: NDArray[np.int64]
    code: NDArray[np.int64]
    write: NDArray[np.bool_]
    value: NDArray[np.int64]
    invoke: NDArray[np.int64]
    ret: NDArray[np.int64]
    values: NDArray[np.int64]


@compiled
def _counted(kind, outcome, value, key, invoke, ret, wanted):  # type: ignore[no-untyped-def]
    """(how many calls and how many events come before each key, the least and greatest value, the last place)."""
    starts, events = np.zeros(wanted.size + 1, np.int64), np.zeros(wanted.size + 1, np.int64)
    low, high, top = np.int64(_FAR), np.int64(-_FAR), np.int64(-1)
    for row in range(kind.size):
        if not wanted[key[row]] or outcome[row] == FAIL or (outcome[row] != OK and kind[row] == READ):
            continue
        starts[key[row] + 1] += 1
        events[key[row] + 1] += 1
        top = max(top, invoke[row])
        if outcome[row] == OK:
            events[key[row] + 1] += 1
            top = max(top, ret[row])
        if value[row] != ABSENT:
            low, high = min(low, value[row]), max(high, value[row])
    return np.cumsum(starts), np.cumsum(events), low, high, top


@compiled
def _numbered(starts, value, write, odd, low, span):  # type: ignore[no-untyped-def]
    """Put ids where the values are, a key's own from 0 on (the absent one); answers how many each key has.

    0 for keys that are ``odd``, and for those on which a value was read that nobody wrote.
    """
    values = np.ones(odd.size, np.int64)
    owner, number = np.full(span, -1, np.int64), np.zeros(span, np.int64)
    written = np.zeros(value.size + 1, np.bool_)
    for k in range(odd.size):
        for call in range(starts[k], starts[k + 1]):
            if value[call] == ABSENT:
                value[call] = 0
                continue
            place = value[call] - low
            if owner[place] != k:
                owner[place], number[place] = k, values[k]
                written[values[k]] = False
                values[k] += 1
            value[call] = number[place]
            if write[call]:
                written[number[place]] = True
        if odd[k] or not written[1 : values[k]].all():
            values[k] = 0
    return values


@compiled
def arrange_keys(kind, outcome, value, key, invoke, ret, wanted):  # type: ignore[no-untyped-def]
    """The calls on the ``wanted`` keys as ``Keyed``; None where their values lie too far apart."""
    starts, events, low, high, top = _counted(kind, outcome, value, key, invoke, ret, wanted)
    size = starts[-1]
    if low < -_FAR or high > _FAR or high - low >= 8 * kind.size + 1024:
        return None
    write, values = np.empty(size, np.bool_), np.empty(size, np.int64)
    begun, ended = np.empty(size, np.int64), np.full(size, NEVER, np.int64)
    odd, fill, at = np.zeros(wanted.size, np.bool_), starts.copy(), np.zeros(top + 1, np.int64)
    owner = np.empty(size, np.int64)
    for row in range(kind.size):
        k = key[row]
        if not wanted[k] or outcome[row] == FAIL or (outcome[row] != OK and kind[row] == READ):
            continue
        call = fill[k]
        fill[k] += 1
        write[call], values[call], owner[call] = kind[row] != READ, value[row], k
        odd[k] |= kind[row] > WRITE
        at[invoke[row]] = call + 1
        if outcome[row] == OK:
            at[ret[row]] = ~call
    code, fill = np.empty(events[-1], np.int64), events.copy()
    for moment in range(at.size):
        if at[moment]:
            call = at[moment] - 1 if at[moment] > 0 else ~at[moment]
            k = owner[call]
            event = fill[k]
            fill[k] += 1
            if at[moment] > 0:
                begun[call], code[event] = event - events[k], call - starts[k]
            else:
                ended[call], code[event] = event - events[k], ~(call - starts[k])
    ids = _numbered(starts, values, write, odd, low, max(1, high - low + 1))
    return Keyed(starts, events, code, write, values, begun, ended, ids)


@compiled
def judge_keys(keyed, begin, budget, state):  # type: ignore[no-untyped-def]
    """Go on from key ``begin`` until the ``budget`` (in units of work) is spent; answers the key that comes next.

    ``state`` becomes VALID or INVALID for keys that are, and OPEN for those about which more is to be said.
    """
    most, calls = 1, 0
    for k in range(begin, state.size):
        most, calls = max(most, keyed.values[k]), max(calls, keyed.starts[k + 1] - keyed.starts[k])
    opened = Open(
        np.zeros(calls, np.int8),
        np.zeros(SLOTS, np.int64),
        np.zeros(most, np.int64),
        np.zeros(most, np.int64),
        np.full(most, -1, np.int64),
        np.zeros(_COLUMNS, np.int64),
        np.arange(_COLUMNS),
    )
    room = np.zeros((10, _WIDTH), np.int64)
    val, used, sat, chg, at = room[:2], room[2:4], room[4:6], room[6:8], room[8:]
    plain = Configurations(val, used, sat, chg, at, np.zeros((2, _WIDTH, 0), np.int32))
    doubtful = Configurations(val, used, sat, chg, at, np.zeros((2, _WIDTH, _COLUMNS), np.int32))
    no_row, row, scalars = np.zeros(0, np.int32), np.zeros(_COLUMNS, np.int32), np.zeros(16, np.int64)
    spent, k = 0, begin
    while k < state.size and spent < budget:
        first, end = keyed.starts[k], keyed.starts[k + 1]
        size = keyed.events[k + 1] - keyed.events[k]
        spent += 1
        state[k] = OPEN
        if keyed.values[k]:
            write, value = keyed.write[first:end], keyed.value[first:end]
            invoke, ret = keyed.invoke[first:end], keyed.ret[first:end]
            last_read, pending_from, pending = order_of_values(write, value, invoke, ret, keyed.values[k])
            code = keyed.code[keyed.events[k] : keyed.events[k + 1]]
            history = History(code, write, value, ret, last_read, pending_from, pending)
            opened.rmask[: keyed.values[k]] = 0
            opened.wmask[: keyed.values[k]] = 0
            opened.colof[: keyed.values[k]] = -1
            opened.free_columns[:] = np.arange(_COLUMNS)
            scalars[:] = 0
            scalars[COUNT], scalars[FREE], scalars[NEXT], scalars[THRIFT] = 1, (1 << SLOTS) - 1, -1, 1
            val[0, 0], used[0, 0], sat[0, 0], chg[0, 0], at[0, 0] = 0, 0, 0, 0, -1
            if pending.size:
                event = advance(history, opened, doubtful, row, scalars, 0, _PATIENCE)
            else:
                event = advance(history, opened, plain, no_row, scalars, 0, _PATIENCE)
            spent += scalars[WORK]
            if scalars[STATUS] == RUNNING and event == size:
                state[k] = VALID
            elif scalars[STATUS] == DEAD and scalars[PRUNED] == 0:
                state[k] = INVALID
        k += 1
    return k


@compiled
def judge_all(kind, outcome, value, key, invoke, ret, keys, budget):  # type: ignore[no-untyped-def]
    """(by key what the zones say or else the automaton, how many calls each has, a bit for each state seen), or None.

    REPEATED stays for keys about which more is to be said, and for those that the ``budget`` (in units of work of the
    automaton) was not enough for.  None where values and keys do not lie close.
    """
    judged = judge(kind, outcome, value, key, invoke, ret, keys)
    if judged is None:
        return None
    state, counts = judged
    wanted = state == REPEATED
    for row in range(kind.size):
        if kind[row] > WRITE and outcome[row] != FAIL:
            wanted[key[row]] = False
    if wanted.any():
        keyed = arrange_keys(kind, outcome, value, key, invoke, ret, wanted)
        if keyed is None:
            return None
        found = np.full(keys, OPEN, np.int8)
        judge_keys(keyed, 0, budget, found)
        for k in range(keys):
            if wanted[k]:
                counts[k] = keyed.starts[k + 1] - keyed.starts[k]
                if found[k] != OPEN:
                    state[k] = EXPLAINED if found[k] == VALID else UNEXPLAINED
    present = 0
    for k in range(keys):
        present |= 1 << state[k]
    return state, counts, present
