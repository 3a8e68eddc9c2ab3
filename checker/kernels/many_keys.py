"""Compiled loop over many registers whose values repeat: the automaton on one key after the other.

Linearizability is local (Herlihy and Wing 1990), so each key is a history of its own.  Keys that are not valid or take
too much work are left to the engines for one key, which also find counterexamples.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checker.kernels.automaton import (
    CONFIGURATION,
    DEAD,
    PROGRESS,
    RUNNING,
    Automaton,
    AutomatonInput,
    Configurations,
    Open,
    advance,
)
from checker.kernels.encode import order_of_values, takes_part
from checker.kernels.pending_writes import NO_COLUMN
from checker.kernels.slots import SLOTS
from checker.kernels.zones import judge
from history.codes import ABSENT, FAIL, NEVER, OK, READ, WRITE
from history.compiled import compiled, compiled_part, step

VALID, OPEN, INVALID = range(3)
#: States for ``judge_all``: the first three are the verdicts of the zones, the others those of the automaton.
AGREED, CONTRADICTED, REPEATED, EXPLAINED, UNEXPLAINED = range(5)
_FAR: Final = 1 << 61
_WIDTH: Final = 128
_COLUMNS: Final = 8
_PATIENCE: Final = 100_000


class Keyed(NamedTuple):
    """Calls on all keys, key by key, each key's in the order of their invocations.

    ``starts`` is where a key's calls begin, ``events`` where its events do.  The other columns are those of
    ``AutomatonInput``, with each key's calls, ranks and value ids counted from 0.  ``values`` is a key's number of
    values, 0 if the automaton cannot decide it.  This is a named tuple because compiled code cannot make
    dataclasses.
    """

    starts: NDArray[np.int64]
    events: NDArray[np.int64]
    code: NDArray[np.int64]
    write: NDArray[np.bool_]
    value: NDArray[np.int64]
    invoke: NDArray[np.int64]
    ret: NDArray[np.int64]
    values: NDArray[np.int64]


@compiled_part
def _counted(kind, outcome, value, key, invoke, ret, wanted):  # type: ignore[no-untyped-def]
    """Return (calls before each key, events before each key, least value, greatest value, last place)."""
    starts, events = np.zeros(wanted.size + 1, np.int64), np.zeros(wanted.size + 1, np.int64)
    low, high, top = np.int64(_FAR), np.int64(-_FAR), np.int64(-1)
    for row in range(kind.size):
        if not wanted[key[row]] or not takes_part(kind[row], outcome[row]):
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


@compiled_part
def _numbered(starts, value, write, odd, low, span):  # type: ignore[no-untyped-def]
    """Replace values by each key's own ids from 0 (the absent one) on; return each key's number of ids.

    That is 0 for keys that are ``odd``, and for those with a read of a value that was never written.
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
    """Return the calls on the ``wanted`` keys as ``Keyed``; None if their values lie too far apart."""
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
        if not wanted[k] or not takes_part(kind[row], outcome[row]):
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
    """Judge keys from ``begin`` on until the ``budget`` (in units of work) is spent; return the next key.

    ``state`` becomes VALID or INVALID for decided keys, and OPEN for keys that are left to others.
    """
    opened = _room_for_open_calls(keyed, begin)
    rows = np.zeros((2, _WIDTH), CONFIGURATION)
    few = Configurations(rows, np.zeros((2, _WIDTH, 0), np.int32))
    many = Configurations(rows, np.zeros((2, _WIDTH, _COLUMNS), np.int32))
    no_row, row = np.zeros(0, np.int32), np.zeros(_COLUMNS, np.int32)
    spent, key = 0, begin
    while key < state.size and spent < budget:
        spent += 1
        state[key] = OPEN
        values = keyed.values[key]
        if values:
            first, end = keyed.starts[key], keyed.starts[key + 1]
            write, value, ret = keyed.write[first:end], keyed.value[first:end], keyed.ret[first:end]
            last_read, pending_from, pending = order_of_values(write, value, keyed.invoke[first:end], ret, values)
            code = keyed.code[keyed.events[key] : keyed.events[key + 1]]
            history = AutomatonInput(code, write, value, ret, last_read, pending_from, pending)
            fresh = np.zeros(1, PROGRESS)
            _start(opened, few, fresh, values)
            # Two calls, because without columns of pending writes less has to be compiled into the second one.
            if pending.size:
                event = advance(Automaton(history, opened, many, row, fresh), 0, _PATIENCE)
            else:
                event = advance(Automaton(history, opened, few, no_row, fresh), 0, _PATIENCE)
            progress = fresh[0]
            spent += progress.work
            if progress.status == RUNNING and event == code.size:
                state[key] = VALID
            elif progress.status == DEAD and progress.pruned == 0:
                state[key] = INVALID
        key += 1
    return key


@compiled_part
def _room_for_open_calls(keyed, begin):  # type: ignore[no-untyped-def]
    """Make enough room for any key from ``begin`` on."""
    most, calls = 1, 0
    for key in range(begin, keyed.values.size):
        most, calls = max(most, keyed.values[key]), max(calls, keyed.starts[key + 1] - keyed.starts[key])
    return Open(
        slot_of=np.zeros(calls, np.int8),
        slot_ret=np.zeros(SLOTS, np.int64),
        reads_of=np.zeros(most, np.int64),
        writes_of=np.zeros(most, np.int64),
        column_of=np.full(most, -1, np.int64),
        available=np.zeros(_COLUMNS, np.int64),
        free_columns=np.arange(_COLUMNS),
    )


@step
def _start(opened, configs, fresh, values):  # type: ignore[no-untyped-def]
    """Reset to no open calls and a single configuration, in which the value is absent."""
    progress = fresh[0]
    for value in range(values):
        opened.reads_of[value], opened.writes_of[value], opened.column_of[value] = 0, 0, NO_COLUMN
    for column in range(_COLUMNS):
        opened.free_columns[column] = column
    progress.count, progress.free, progress.next, progress.thrift = 1, (1 << SLOTS) - 1, -1, 1
    absent = configs.rows[0, 0]
    absent.value, absent.spent, absent.satisfied, absent.open_then, absent.changed_at = 0, 0, 0, 0, -1


@compiled_part
def _for_automaton(kind, outcome, key, state):  # type: ignore[no-untyped-def]
    """Return which keys are REPEATED and have no CAS."""
    wanted = state == REPEATED
    if wanted.any():
        for row in range(kind.size):
            if kind[row] > WRITE and outcome[row] != FAIL:
                wanted[key[row]] = False
    return wanted


@compiled
def judge_all(kind, outcome, value, key, invoke, ret, keys, budget):  # type: ignore[no-untyped-def]
    """Judge all keys with the zones, and the remaining ones with the automaton.

    Returns (the verdict on each key, each key's number of calls, a mask of the verdicts that occur), or None if
    values and keys do not lie close together.  Keys stay REPEATED if they are left to others, or if the ``budget``
    (in units of work of the automaton) ran out before them.
    """
    judged = judge(kind, outcome, value, key, invoke, ret, keys)
    if judged is None:
        return None
    state, counts = judged
    wanted = _for_automaton(kind, outcome, key, state)
    if wanted.any():
        keyed = arrange_keys(kind, outcome, value, key, invoke, ret, wanted)
        if keyed is None:
            return None
        verdicts = np.full(keys, OPEN, np.int8)
        judge_keys(keyed, 0, budget, verdicts)
        for k in range(keys):
            if wanted[k]:
                counts[k] = keyed.starts[k + 1] - keyed.starts[k]
                if verdicts[k] != OPEN:
                    state[k] = EXPLAINED if verdicts[k] == VALID else UNEXPLAINED
    present = 0
    for k in range(keys):
        present |= 1 << state[k]
    return state, counts, present
