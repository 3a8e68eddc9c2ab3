"""Linearizability by definition (Herlihy and Wing 1990), to verify the results of all engines.

``is_linearization`` verifies the certificate of a valid verdict in linear time.  ``linearizable`` decides a small
history by trying every order, which verifies the certificate of an invalid verdict.  Neither shares code with an
engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from checker.core.calls import Call
from checker.core.model import ILLEGAL, Model, State

#: At most this many calls are decided by the definition.
MAX_DEFINITION_CALLS: Final = 18

_Path: TypeAlias = "tuple[_Path, Call] | None"


def is_linearization(order: Sequence[Call], calls: Sequence[Call], model: Model) -> bool:
    """Return whether ``order`` is a linearization of ``calls``: legal, complete, and in real-time order.  O(n)."""
    sources = {call.source for call in order}
    if len(sources) != len(order) or any(call.source not in sources for call in calls if not call.pending):
        return False
    state, latest_invocation = model.initial, -1
    for call in order:
        # A later call in the order must not have returned before an earlier one was invoked.
        if call.ret <= latest_invocation:
            return False
        latest_invocation = max(latest_invocation, call.invoke)
        state = model.step(state, call.f, call.value, call.result)
        if state is ILLEGAL:
            return False
    return sources <= {call.source for call in calls}


def linearizable(calls: Sequence[Call], model: Model) -> bool:
    """Return whether a linearization exists.  Raises ValueError for more than ``MAX_DEFINITION_CALLS`` calls."""
    return linearization(calls, model) is not None


def linearization(calls: Sequence[Call], model: Model) -> list[Call] | None:
    """Find a linearization of a small history by dynamic programming over (set of calls done, state).

    It contains only the pending calls that other calls need.  Raises ValueError if the history is too large.
    """
    if len(calls) > MAX_DEFINITION_CALLS:
        raise ValueError(
            f"{len(calls)} calls are too many for the definition, which takes at most {MAX_DEFINITION_CALLS}"
        )
    must = sum(1 << place for place, call in enumerate(calls) if not call.pending)
    visited: set[tuple[int, State]] = {(0, model.initial)}
    todo: list[tuple[int, State, _Path]] = [(0, model.initial, None)]
    while todo:
        done, state, path = todo.pop()
        if done & must == must:
            return _calls_of(path)
        left = [place for place in range(len(calls) - 1, -1, -1) if not done >> place & 1]
        first_return = min(calls[place].ret for place in left)
        for place in left:
            call = calls[place]
            if call.invoke > first_return:
                continue
            after = model.step(state, call.f, call.value, call.result)
            node = (done | 1 << place, after)
            if after is not ILLEGAL and node not in visited:
                visited.add(node)
                todo.append((*node, (path, call)))
    return None


def _calls_of(path: _Path) -> list[Call]:
    order = []
    while path is not None:
        path, call = path
        order.append(call)
    return order[::-1]
