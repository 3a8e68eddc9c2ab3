"""Just-in-time linearization, compiled, for objects whose states are small integers.

Source: Lowe, "Testing for linearizability" (2017), after Wing and Gong (1993); ``checker.search.jit`` is the same
search in plain Python.  It visits the returns in order, depth first, and linearizes as late as possible.  When a call
returns that has not been linearized, open calls are linearized one after the other until that call is (``explore``).
Legal reads are linearized at once.  A configuration that was reached before is not explored again (``_remember``).

A configuration takes 28 bytes whatever the history's length: the next return, the linearized open calls (a bit per
slot), the linearized pending calls, the state, and the configuration that it came from.  Registers need no table of
transitions.  Other models bring one, and the driver fills it in when the search needs a missing transition.
"""

from __future__ import annotations

import numpy as np

from checker.kernels.multi_register import becomes, holds
from checker.kernels.search_state import (
    ADD,
    ANY_STATE,
    ASKING,
    EXHAUSTED,
    FIRST_WAITING,
    FOUND,
    FULL,
    ILLEGAL,
    MAX_PUSHED,
    NO_NODE,
    NOT_KNOWN,
    NOTHING,
    RUNNING,
    SUMS,
    TXN,
    TXN_READ,
    Configuration,
    due,
    hashed,
    look_up,
    travel,
)
from checker.kernels.slots import PLACE, SLOTS
from history.codes import CAS, READ
from history.compiled import compiled_loop, step


@compiled_loop
def explore(search, initial, budget):  # type: ignore[no-untyped-def]
    """Expand configurations until one explains everything, none is left, or the budget is spent.

    ``initial`` is the state of the first configuration.  The stack holds the steps still to be taken, each from a
    configuration by a call; the next configuration is made only when a step is taken.  A step with an unknown
    transition stays on the stack.  Requesting transitions is expensive, so the table is not consulted earlier either.
    """
    progress, returns = search.progress[0], search.events.returns
    progress.status = RUNNING
    spent = 0
    while (progress.stack > 0 or progress.nodes == 0) and spent < budget:
        if _is_full(search):
            progress.status = FULL
            return
        spent += 1
        parent, taken, configuration = _next_step(search, initial)
        travel(search, configuration.event)
        possible, configuration = _linearize(search, configuration, taken)
        if possible:
            possible, configuration, passed = _pass_returns(search, configuration, budget - spent)
            spent += passed
        if progress.status == ASKING:
            return
        progress.stack = max(0, progress.stack - 1)
        node = _remember(search, configuration, parent) if possible else NO_NODE
        if node == NO_NODE:
            continue
        if configuration.event == returns.size:
            progress.status, progress.goal = FOUND, node
            return
        if configuration.done & due(search.events, configuration.event):
            # The budget was spent on the way.
            search.nodes.stack[progress.stack], search.nodes.steps[progress.stack] = node, NOTHING
            progress.stack += 1
            return
        # The last one pushed is tried first: the open call that returns first.  Pending calls come after all others.
        _push_pending(search, node, configuration)
        _push_open(search, node, configuration)
    if progress.stack == 0:
        progress.status = EXHAUSTED


@step
def _is_full(search):  # type: ignore[no-untyped-def]
    """Return whether one more step might need more room than there is."""
    nodes, progress = search.nodes, search.progress[0]
    # A step makes at most one configuration and one state.  There are twice as many places for hashes.
    full = progress.nodes == nodes.event.size or progress.states == search.rows.cells.shape[0]
    return full or progress.stack + MAX_PUSHED > nodes.stack.size


@step
def _next_step(search, initial):  # type: ignore[no-untyped-def]
    """Return the node on top of the stack, the call to take, and the configuration; or the start.

    The step stays on the stack.
    """
    nodes, top = search.nodes, search.progress[0].stack - 1
    if top < 0:
        none = np.int64(0)
        return np.int64(NO_NODE), np.int64(NOTHING), Configuration(none, none, none, np.int64(initial))
    node = np.int64(nodes.stack[top])
    event, state = np.int64(nodes.event[node]), np.int64(nodes.state[node])
    pending = nodes.pending[node] & search.live[event]
    return node, np.int64(nodes.steps[top]), Configuration(event, nodes.done[node], pending, state)


@step
def _linearize(search, before, taken):  # type: ignore[no-untyped-def]
    """Return whether the step's call is legal, and the configuration after it.

    If the table lacks the transition, asks for it.
    """
    if taken == NOTHING:
        return True, before
    call = np.int64(taken if taken >= 0 else search.events.waiting[FIRST_WAITING - taken])
    state = _state_after(search, before.state, call)
    if state == NOT_KNOWN:
        _ask(search, before, call, call)
        return False, before
    if taken >= 0:
        done = before.done | np.int64(1) << search.events.slot_of[call]
        return state != ILLEGAL, Configuration(before.event, done, before.pending, state)
    # A pending call that changes nothing need not happen.
    pending = before.pending | np.int64(1) << ((FIRST_WAITING - taken) % SLOTS)
    return state != ILLEGAL and state != before.state, Configuration(before.event, before.done, pending, state)


@step
def _state_after(search, state, call):  # type: ignore[no-untyped-def]
    """Return the state after a call that may happen; with a table, possibly ILLEGAL or NOT_KNOWN."""
    calls, progress = search.calls, search.progress[0]
    kind, value = calls.kind[call], calls.value[call]
    if kind >= TXN:
        after = becomes(search.rows, state, value, progress.states)
        progress.states = max(progress.states, after + 1)
        return after
    if kind <= CAS:
        return value
    if kind == ADD:
        return (state + value) & (SUMS - 1)
    return look_up(calls.table, state, calls.old[call])


@step
def _pass_returns(search, configuration, budget):  # type: ignore[no-untyped-def]
    """Go on to the first return of a call that is not linearized; linearize legal reads on the way.

    Returns (whether the end can be reached, the configuration there, the number of returns passed, at most
    ``budget`` + 1).  Stops early at an unknown transition.
    """
    events, ceiling = search.events, search.calls.ceiling
    passed, looked_at, possible = 0, np.int64(0), True
    while possible:
        event, state = configuration.event, configuration.state
        possible = ceiling.size == 0 or state <= ceiling[event]
        if event == events.returns.size:
            break
        legal, done = _linearize_reads(search, configuration, looked_at)
        possible = possible and legal
        bit = due(events, event)
        if not possible or done & bit == 0 or passed > budget:
            configuration = Configuration(event, done, configuration.pending, state)
            break
        looked_at = search.progress[0].open & ~bit
        configuration = Configuration(event + 1, done & ~bit, configuration.pending, state)
        passed += 1
        travel(search, event + 1)
    return possible, configuration, passed


@step
def _linearize_reads(search, configuration, looked_at):  # type: ignore[no-untyped-def]
    """Return whether all open reads can still happen, and the linearized calls including the legal reads.

    Skips reads that were ``looked_at`` before.
    """
    calls, progress = search.calls, search.progress[0]
    state, done, possible = configuration.state, configuration.done, True
    left = progress.open & progress.reading & ~(done | looked_at)
    while left:
        low = left & -left
        left ^= low
        call = search.slot_op[PLACE[low % 67]]
        value = calls.value[call]
        if calls.kind[call] == READ:
            legal = value == state
            # A state that only rises never comes back to a smaller value.
            if value < state and calls.ceiling.size > 0:
                possible = False
        elif calls.kind[call] == TXN_READ:
            legal = holds(search.rows, state, value)
        else:
            after = look_up(calls.table, state, calls.old[call])
            if after == NOT_KNOWN:
                asking = Configuration(configuration.event, done, configuration.pending, state)
                _ask(search, asking, call, np.int64(NOTHING))
                return False, done
            legal = after == state
        if legal:
            done |= low
    return possible, done


@step
def _ask(search, configuration, call, taken):  # type: ignore[no-untyped-def]
    """Record which transition is unknown, at which configuration, and whether by the taken call or by a read."""
    progress = search.progress[0]
    progress.status = ASKING
    progress.asked_event, progress.asked_state = configuration.event, configuration.state
    progress.asked_done, progress.asked_pending = configuration.done, configuration.pending
    progress.asked_class, progress.asked_call = search.calls.old[call], taken


@step
def _remember(search, configuration, parent):  # type: ignore[no-untyped-def]
    """Store a new configuration and return its number; -1 if it was reached before."""
    nodes, progress = search.nodes, search.progress[0]
    event, done, pending, state = configuration
    hashes, last = nodes.hashes, np.uint64(nodes.hashes.size - 1)
    place = hashed(event, done, pending, state) & last
    while hashes[place] >= 0:
        other = hashes[place]
        if (
            nodes.done[other] == done
            and nodes.event[other] == event
            and nodes.state[other] == state
            and nodes.pending[other] == pending
        ):
            return np.int64(NO_NODE)
        place = (place + np.uint64(1)) & last
    node = progress.nodes
    hashes[place] = node
    nodes.event[node], nodes.done[node], nodes.pending[node] = event, done, pending
    nodes.state[node], nodes.parent[node] = state, parent
    progress.nodes = node + 1
    progress.deepest = max(progress.deepest, event)
    return node


@step
def _push_pending(search, node, configuration):  # type: ignore[no-untyped-def]
    """Push the pending calls that have begun; of equal ones only the first."""
    events, calls, nodes, progress = search.events, search.calls, search.nodes, search.progress[0]
    bottom = top = progress.stack
    moment = events.returns[configuration.event]
    pending = configuration.pending & search.live[configuration.event]
    for number in range(events.waiting.size):
        if events.waiting_at[number] > moment:
            break
        call = events.waiting[number]
        if events.waiting_at[number] + search.window < moment or pending >> (number % SLOTS) & 1:
            continue
        if not _precondition_holds(calls, call, configuration.state):
            continue
        place = bottom
        while place < top and not _are_alike(calls, call, events.waiting[FIRST_WAITING - nodes.steps[place]]):
            place += 1
        if place == top:
            nodes.stack[top], nodes.steps[top] = node, FIRST_WAITING - number
            top += 1
    progress.stack = top


@step
def _push_open(search, node, configuration):  # type: ignore[no-untyped-def]
    """Push the open calls, the first to return on top; of equal ones only that one."""
    calls, nodes, progress = search.calls, search.nodes, search.progress[0]
    kind, ret, steps, state = calls.kind, calls.ret, nodes.steps, configuration.state
    bottom = top = progress.stack
    # Legal reads are linearized already.  A read changes the state only if it is unknown.
    left = progress.open & ~configuration.done & (-1 if state == ANY_STATE else ~progress.reading)
    while left:
        low = left & -left
        left ^= low
        call = search.slot_op[PLACE[low % 67]]
        if not _precondition_holds(calls, call, state):
            continue
        if kind[call] == TXN and not holds(search.rows, state, calls.value[call]):
            continue
        place = bottom
        while place < top and not _are_alike(calls, call, steps[place]):
            place += 1
        if place == top:
            nodes.stack[top] = node
            top += 1
        elif ret[call] > ret[steps[place]]:
            continue
        while place + 1 < top and ret[steps[place + 1]] > ret[call]:
            steps[place] = steps[place + 1]
            place += 1
        while place > bottom and ret[steps[place - 1]] < ret[call]:
            steps[place] = steps[place - 1]
            place -= 1
        steps[place] = call
    progress.stack = top


@step
def _precondition_holds(calls, call, state):  # type: ignore[no-untyped-def]
    """Return whether the call can happen in the state.

    Only a CAS requires anything: its old value, or an unknown state.
    """
    return calls.kind[call] != CAS or state == calls.old[call] or state == ANY_STATE


@step
def _are_alike(calls, op, other):  # type: ignore[no-untyped-def]
    return (
        calls.kind[op] == calls.kind[other]
        and calls.value[op] == calls.value[other]
        and calls.old[op] == calls.old[other]
    )
