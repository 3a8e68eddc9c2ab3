"""The interface of engines: where one applies, how it decides and how it explains."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from checker.core.calls import Call
from checker.core.model import Model
from checker.core.result import EngineResult, Limits
from checker.core.scene import Scene
from history import Counterexample, Operation

#: Calls, model, limits, and whether a linearization is wanted; None where the engine cannot decide after all.
Decide: TypeAlias = Callable[[Sequence[Call], Model, Limits, bool], EngineResult | None]
#: Operations on one object, without a call each and without proofs: the result, and how many took part.
DecideOperations: TypeAlias = Callable[[Sequence[Operation], Model, Limits], tuple[EngineResult, int] | None]
#: A core of an invalid result, all operations on the object, and that result.
Explain: TypeAlias = Callable[[Sequence[Call], Scene, EngineResult], Counterexample]
ANY_SIZE: Final = range(sys.maxsize)
BY_NAME_ONLY: Final = range(0)
#: Up to this many calls the plain search has a chance to be done in milliseconds, before compiled code is loaded.
PLAIN_SEARCH_CALLS: Final = 400


@dataclass(frozen=True, slots=True)
class Engine:
    """One way to decide the calls on one object.

    ``name`` is what ``engine=`` forces it by, ``title`` what its results and the reports call it, ``about`` what it is
    for and ``cost`` what it takes, in a line each.  ``applies`` says for which model and calls it is sound; without any
    calls, whether it is for that model at all.  ``explain`` makes the counterexample of one core, with its kind and
    sentence; without it the words are those of a register, or of any model.  ``decide_operations`` decides where no
    proof is wanted.  ``unasked`` are the numbers of calls for which it is chosen without being forced.

    ``compiled``: it loads compiled code, which takes longer than a small history takes the plain search.
    ``partial``: where it returns unknown though there was time, the next engine is tried.
    ``finds_all``: an invalid result counts all violations.  ``orders``: a valid result has its linearization.
    """

    name: str
    title: str
    about: str
    cost: str
    applies: Callable[[Model, Sequence[Call]], bool]
    decide: Decide
    explain: Explain | None = None
    decide_operations: DecideOperations | None = None
    unasked: range = ANY_SIZE
    compiled: bool = False
    partial: bool = False
    finds_all: bool = False
    orders: bool = True


def only(*functions: str) -> Callable[[Sequence[Call]], bool]:
    """Make a predicate: are all calls of these functions?"""
    return lambda calls: all(call.f in functions for call in calls)


#: The calls of registers that are only read and written.
READS_AND_WRITES: Final = only("read", "write")
