"""Search in Python, a little ahead of the compiled search, to learn the transitions that it will need.

It takes the same steps in the same order.  If every state is new, it reaches the end by itself.  If there is little to
learn, it stops, because compiled code takes known transitions much faster.
"""

from __future__ import annotations

from sys import getsizeof
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checker.core.result import Limits
from checker.search.jit import Transitions

#: At most this many steps between two looks at the clock, but only one if the last steps took this many seconds.
_LOOK_EVERY: Final = 256
_SOON: Final = 0.02
#: Steps allowed before anything is learned, and further steps for each transition learned.
IDLE: Final = 64
PAYS: Final = 6
#: Bytes of a transition (here and in a table that is at least a quarter full), of a configuration, and of a state
#: besides its own size; and the number of states whose size is sampled.
_TRANSITION_BYTES: Final = 90 + 64
_NODE_BYTES: Final = 350
_STATE_BYTES: Final = 110
_SAMPLE: Final = 64
#: The bits that the search has for calls that return; those of pending calls stand above them.
SLOTS: Final = 62
#: The number of the next return, the state, the calls that are done, the open reads that are not, and the call to be
#: taken, or one of these: no call, and all but the one that is due.
_Step: TypeAlias = tuple[int, int, int, list[int], int]
_NOTHING: Final = -1
_OTHERS: Final = -2


class MissingTransition(NamedTuple):
    """A transition that the compiled search needs: what a call of that ``kind`` does in a state.

    In the configuration that needs it, ``event`` is the number of the next return, ``done`` are the calls that are
    done, as bits, ``opened`` the open calls that return, and ``taken`` is the call, or -1 if it only looks at a
    read.
    """

    event: int
    state: int
    kind: int
    taken: int
    done: int
    opened: list[int]


class LookAhead:
    """A search in Python through one history, ahead of the compiled one.

    For each return it holds the ``_reads`` invoked since the previous return, the ``_writes`` that are open and
    return, earliest return first, and the number of open pending calls.
    """

    def __init__(
        self, transitions: Transitions, events: Any, ret: NDArray[np.int64], is_read: NDArray[np.bool_]
    ) -> None:
        from checker.kernels.open_calls import open_calls

        # The farthest return and the number of configurations at the last check of the clock.
        self.deepest = self.made = 0
        self._transitions = transitions
        self._is_read: list[bool] = is_read.tolist()
        self._due: list[int] = events.owner[events.returns].tolist()
        slots = events.slot_of.copy()
        slots[events.waiting] = SLOTS + np.arange(events.waiting.size)
        self._bit = list(map((1).__lshift__, slots.tolist()))
        reads, reads_at, self._writes, writes_at = open_calls(events.owner, events.is_return, ret, is_read)
        self._reads, self._reads_at, self._writes_at = reads.tolist(), reads_at.tolist(), writes_at.tolist()
        self._waiting: list[int] = events.waiting.tolist()
        self._pending = frozenset(self._waiting)
        self._waiting_at: list[int] = np.searchsorted(events.waiting_at, events.returns).tolist()

    def learn(self, question: MissingTransition, limits: Limits) -> bool:  # noqa: C901 (one loop, for speed)
        """Continue while that pays off; return whether the whole history is explained.

        Raises whatever the model's step raises.
        """
        step, of, known = self._transitions.step, self._transitions.of, self._transitions.known
        due_at, bit, reads, reads_at, is_read = self._due, self._bit, self._reads, self._reads_at, self._is_read
        event, state, _, op, done, opened = question
        todo, done = self._with_reads(state, [op for op in opened if is_read[op] and not done & bit[op]], done)
        stack: list[_Step] = [(event, state, done, todo, op)]
        visited: set[tuple[int, int, int]] = set()
        credit, left, learned, window, looked = IDLE, 0, len(known), 1, limits.clock()
        while stack:
            event, state, done, todo, op = stack.pop()
            if op == _OTHERS:
                stack += self._others(event, state, done, todo)
                continue
            while True:
                left -= 1
                if left < 0:
                    credit += PAYS * (len(known) - learned)
                    self.deepest, self.made = max(self.deepest, event), len(visited)
                    if credit <= 0 or limits.over() or self.held > limits.memory:
                        return False
                    window = min(4 * window, _LOOK_EVERY) if limits.clock() - looked < _SOON else 1
                    left, learned, looked = min(credit, window), len(known), limits.clock()
                    credit -= left
                if op != _NOTHING:
                    after = step(state, of[op])
                    if after < 0 or (after == state and op in self._pending):
                        break
                    done |= bit[op]
                    if after != state:
                        state = after
                        if todo:
                            todo, done = self._with_reads(state, todo, done)
                due = due_at[event]
                if done & bit[due]:
                    done ^= bit[due]
                    at = reads_at[event]
                    event += 1
                    if event == len(due_at):
                        return True
                    while at < reads_at[event]:
                        read = reads[at]
                        at += 1
                        if step(state, of[read]) == state:
                            done |= bit[read]
                        else:
                            todo = [*todo, read]
                    op = _NOTHING
                    continue
                made = len(visited)
                visited.add((event, state, done))
                if len(visited) == made:
                    break
                stack.append((event, state, done, todo, _OTHERS))
                if is_read[due]:
                    break
                op = due
        return False

    @property
    def held(self) -> int:
        """Approximate memory in use, in bytes."""
        states = self._transitions.states
        each = _STATE_BYTES + sum(map(getsizeof, states[-_SAMPLE:])) // len(states[-_SAMPLE:])
        return _TRANSITION_BYTES * len(self._transitions.known) + _NODE_BYTES * self.made + each * len(states)

    def _with_reads(self, state: int, todo: list[int], done: int) -> tuple[list[int], int]:
        """Return the reads that are illegal now, and the calls done with the others."""
        step, of = self._transitions.step, self._transitions.of
        left = []
        for op in todo:
            if step(state, of[op]) == state:
                done |= self._bit[op]
            else:
                left.append(op)
        return left, done

    def _others(self, event: int, state: int, done: int, todo: list[int]) -> list[_Step]:
        """Return the calls that are not due, in stack order; one of those that are alike."""
        of, bit = self._transitions.of, self._bit
        tried = {of[self._due[event]]}
        writes = self._writes[self._writes_at[event] : self._writes_at[event + 1]].tolist()
        steps: list[_Step] = []
        for op in writes + self._waiting[: self._waiting_at[event]]:
            if not done & bit[op] and of[op] not in tried:
                tried.add(of[op])
                steps.append((event, state, done, todo, op))
        return steps[::-1]
