"""Any model as a table of transitions for the compiled search, filled on demand.

Most models have far too many states for a whole table, so it holds only the transitions that were needed.  A request
costs more than many steps of a model, so each one is answered together with likely next ones.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import chain, count, islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from checker.core.model import Model
from checker.core.result import Limits
from checker.search.jit import Shapes, Transitions
from checker.search.lookahead import LookAhead, MissingTransition

NO_TABLE: Final = np.zeros((1, 2), np.int64)
_ROOM: Final = 256
#: Greatest number of shapes of calls for which transitions are learnt in advance, and greatest number of those.
_FEW_SHAPES: Final = 16
_FIRST_STEPS: Final = 64


class TransitionTable:
    """Calls on an object of any model."""

    initial = 0

    def __init__(self, shapes: Shapes, model: Model) -> None:
        from checker.kernels import search_state as kernel

        self.transitions = Transitions(shapes, model)
        reads = np.array([f in model.reads for f, _, _ in self.transitions.examples], np.bool_)
        self.value = self.old = np.array(self.transitions.of, np.int64)
        self.is_read = reads[self.value]
        self.kind = np.where(self.is_read, kernel.TABLE_READ, kernel.TABLE).astype(np.int8)
        self._table = np.full((_ROOM, 2), -1, np.int64)
        self._entered = 0
        if len(self.transitions.examples) <= _FEW_SHAPES:
            with suppress(Exception):
                self._learn_first()

    def _learn_first(self) -> None:
        """Learn transitions from the initial state on.  Raises whatever the model's step raises."""
        learnt, shapes = self.transitions, range(len(self.transitions.examples))
        for state in count():
            if state == len(learnt.states) or len(learnt.known) + len(shapes) > _FIRST_STEPS:
                return
            for shape in shapes:
                learnt.step(state, shape)

    def learn(self, question: MissingTransition, ahead: LookAhead | None, limits: Limits) -> bool:
        """Learn the requested transition and likely next ones; return whether they explain the whole history.

        Raises whatever the model's step raises.
        """
        self.transitions.step(question.state, question.kind)
        # An error in a transition that is not needed yet is raised once it is needed.
        with suppress(Exception):
            if ahead is not None:
                return ahead.learn(question, limits)
            for op in question.opened:
                self.transitions.step(question.state, self.transitions.of[op])
        return False

    @property
    def table(self) -> NDArray[np.int64]:
        """The known transitions, as the compiled search reads them."""
        from checker.kernels import search_state as kernel

        known = self.transitions.known
        if 2 * len(known) > len(self._table):
            self._table = np.full((2 << (2 * len(known)).bit_length(), 2), -1, np.int64)
            self._entered = 0
        fresh = len(known) - self._entered
        items = chain.from_iterable(islice(reversed(known.items()), fresh))
        kernel.enter(np.fromiter(items, np.int64, 2 * fresh).reshape(-1, 2), self._table)
        self._entered = len(known)
        return self._table

    def describe(self, state: int) -> str:
        return self.transitions.model.describe(self.transitions.states[state])
