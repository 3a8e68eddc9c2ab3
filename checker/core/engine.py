"""The interface of engines: when one applies, how it decides, and how it explains."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checker.core.calls import Call
from checker.core.intervals import IntArray
from checker.core.model import Model, Register
from checker.core.result import EngineResult, Limits
from checker.core.scene import Scene
from history import Counterexample, Operation
from history.readers.columns import OperationColumns

#: Calls, model, limits, and whether a linearization is wanted; None where the engine cannot decide after all.
Decide: TypeAlias = Callable[[Sequence[Call], Model, Limits, bool], EngineResult | None]
#: Operations on one object, model, limits, and whether a valid verdict is to have its linearization verified.
DecideOperations: TypeAlias = "Callable[[Sequence[Operation], Model, Limits, bool], ByColumns | None]"
#: Columns of registers that are absent at first, by key whether it is still to be decided, model, and limits.
DecideKeys: TypeAlias = "Callable[[OperationColumns, NDArray[np.bool_], Register, Limits], JudgedKeys | None]"
#: The calls on one such register (``kernels.encode.Gathered``), and limits.
DecideRegister: TypeAlias = Callable[[Any, Limits], EngineResult | None]
#: A core of an invalid result, all operations on the object, and that result.
Explain: TypeAlias = Callable[[Sequence[Call], Scene, EngineResult], Counterexample]
#: Above this many operations no linearization is made and verified.
MAX_PROVEN_OPERATIONS: Final = 2000
#: Up to this many operations calls are faster than columns.
MAX_BY_CALLS: Final = 60
ANY_SIZE: Final = range(sys.maxsize)
BY_NAME_ONLY: Final = range(0)
#: Up to this many calls the plain search has a chance to be done in milliseconds, before compiled code is loaded.
PLAIN_SEARCH_CALLS: Final = 400
#: Bytes that one step of the plain search takes.
NODE_BYTES: Final = 260


@dataclass(frozen=True, slots=True)
class RankContradiction:
    """Operations that fit into no order, by the ranks of their invocations, and the ``kind`` if the engine knows it."""

    begun: tuple[int, ...]
    kind: str | None = None


class ColumnProof(Protocol):
    """Evidence for a verdict from columns, computed only on request."""

    def certificate(self) -> int | None:
        """Return the length of a verified linearization; None if there is none."""

    def contradictions(self, gone: Collection[int]) -> Sequence[RankContradiction] | None:
        """Return the contradictions without the operations invoked at ``gone``; None if calls must find them."""

    def again(self, begun: int) -> Sequence[tuple[int, int]]:
        """Return the begin and end of each later read with the same answer as the read invoked at ``begun``."""


@dataclass(frozen=True, slots=True)
class ByColumns:
    """Result of a check without call objects, and the number of operations that took part.

    Without a ``proof`` the calls provide the evidence.
    """

    result: EngineResult
    operations: int
    proof: ColumnProof | None = None


@dataclass(frozen=True, slots=True)
class JudgedKeys:
    """Keys that one pass found ``valid`` or ``invalid``, and the number of operations on each.

    ``cores`` returns the results of the invalid keys with their counterexamples; without it the per-key engines do.
    """

    valid: NDArray[np.bool_]
    invalid: NDArray[np.bool_]
    counts: IntArray
    cores: Callable[[Model], Iterable[tuple[int, EngineResult]]] | None = None


@dataclass(frozen=True, slots=True)
class Engine:
    """One way to decide the calls on one object.

    - ``name``: selects it in ``engine=``.
    - ``title``: its name in results and reports.
    - ``about``, ``cost``: its purpose and its cost, in a line each.
    - ``applies``: whether it is sound for a model and calls or, without calls, whether it handles that model at all.
    - ``explain``: makes the counterexample of one core, with its kind and sentence.  Without it, the words of a
      register, or of any model, are used.
    - ``by_columns``: decides more than ``MAX_BY_CALLS`` operations without making calls.  Where it returns None, calls
      are decided.
    - ``by_keys``, ``by_register``: decide all keys of columns of registers in one pass, or one key.
    - ``unasked``: the numbers of calls for which it is chosen without being forced.
    - ``compiled``: it loads compiled code, which takes longer than the plain search takes for a small history.
    - ``partial``: where it returns unknown with time left, the next engine is tried.
    - ``finds_all``: an invalid result counts all violations.
    - ``orders``: a valid result contains its linearization.
    """

    name: str
    title: str
    about: str
    cost: str
    applies: Callable[[Model, Sequence[Call]], bool]
    decide: Decide
    explain: Explain | None = None
    by_columns: DecideOperations | None = None
    by_keys: DecideKeys | None = None
    by_register: DecideRegister | None = None
    unasked: range = ANY_SIZE
    compiled: bool = False
    partial: bool = False
    finds_all: bool = False
    orders: bool = True


def only(*functions: str) -> Callable[[Sequence[Call]], bool]:
    """Make a predicate that is true if every call is of one of these functions."""
    return lambda calls: all(call.f in functions for call in calls)


#: The calls of registers that are only read and written.
READS_AND_WRITES: Final = only("read", "write")
