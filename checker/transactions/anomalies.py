"""Dependencies, and anomalies that need no cycle: the common part of both analyses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from types import ModuleType
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checker.kernels.transaction_loops import PROCESS, REALTIME, WW
from checker.transactions.graph import MOST_SHOWN, Graph
from history.codes import FAIL, INFO, NEVER, OK, WRITE
from history.errors import FormatError
from history.readers.transactions import TransactionColumns
from history.records.operations import BEFORE

#: Up to this many steps, plain Python is faster than loading the compiled loops.
PLAIN_STEPS: Final = 4000
#: Up to this many steps, plain Python is used even if the compiled loops are loaded.
_FEW_STEPS: Final = 300
_COMPILED: Final = "checker.kernels.transactions"
Ints: TypeAlias = NDArray[Any]
#: Returns the rows and the sentence of the example at a place.
Example: TypeAlias = Callable[[int], tuple[tuple[int, ...], str]]
ABORTED: Final = "either it was aborted, and T1 read a value that never existed, or its failure proves nothing"


@dataclass(frozen=True, slots=True)
class Refutation:
    """Rows of transactions that contradict each other in any order, and a sentence about them as T1, T2, …"""

    name: str
    rows: tuple[int, ...]
    sentence: str


#: The kind of a dependency, its key, a sentence that explains it with {0} and {1} for its transactions, and the step of
#: each that proves it.  An order of processes or of time needs no steps.
Reason: TypeAlias = tuple[str, Any, str, tuple[int, ...]]


class Analysis(Protocol):
    """Dependencies and contradictions between transactions on one kind of object.

    ``counts`` has the number of contradictions of each name, ``contradictions`` the first ones of each.
    """

    graph: Graph
    counts: dict[str, int]
    contradictions: list[Refutation]

    def dependency(self, source: int, target: int, kinds: tuple[int, ...], helpers: tuple[int, ...]) -> Reason:
        """Explain the edge from ``source`` to ``target``.

        A path through ``helpers`` counts as one edge; ``kinds`` are the kinds of its parts.
        """


def loops_for(steps: int) -> ModuleType:
    """Return the loops: compiled if there are many steps and numba is installed, else plain Python."""
    from checker.kernels import transaction_loops

    if steps <= (_FEW_STEPS if _COMPILED in sys.modules else PLAIN_STEPS):
        return transaction_loops
    try:
        from checker.kernels import transactions
    except ModuleNotFoundError:
        return transaction_loops
    return transactions


class Contradictions:
    """Counts contradictions, and keeps the first few of each name."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.shown: list[Refutation] = []

    def add(self, name: str, places: Iterable[Any], make: Example) -> None:
        """Count the ``places``; ``make`` returns the rows and the sentence for one of them."""
        all_places = np.asarray(places)
        if all_places.size:
            self.counts[name] = self.counts.get(name, 0) + all_places.size
            kept = sum(contradiction.name == name for contradiction in self.shown)
            for place in islice(all_places.tolist(), MOST_SHOWN - kept):
                self.shown.append(Refutation(name, *make(place)))


class Steps:
    """Steps of all transactions, linked with each other.

    ``owner`` is the row of each step's transaction, and ``table`` finds the steps that write a value.  ``started``
    says that the first transaction wrote what was there at the start, so that it precedes all others at every level.
    Raises FormatError if a value is written to a key twice, because then the reads prove nothing.
    """

    def __init__(self, columns: TransactionColumns) -> None:
        self.columns = columns
        self.loops = loops_for(columns.kind.size)
        c = columns
        self.owner = np.repeat(np.arange(len(c), dtype=np.int32), np.diff(c.first))
        self.started = bool(
            (c.process == BEFORE).sum() == 1
            and c.process[0] == BEFORE
            and c.outcome[0] == OK
            and c.ret[0] < c.invoke[1:].min(initial=NEVER)
            and (c.kind[: c.first[1]] == WRITE).all()
        )
        self.table, dup, other = self.loops.index_writes(c.kind, c.key, c.value)
        if dup >= 0:
            places = " and at ".join(c.place(int(self.owner[step])) for step in (dup, other))
            verb = "appended" if c.holds == "list-append" else "written"
            raise FormatError(
                "history", places,
                f"the value {self.value(dup)} is {verb} to the key {self.key(dup)!r} twice, so no read shows which of "
                "the two it saw: every value of a key must be unique in the whole history",
            )  # fmt: skip
        self.previous = self.loops.link_steps(c.first, c.key, len(c.keys))

    def find(self, key: Ints, value: Ints) -> NDArray[np.int32]:
        """Return the step that writes each value to its key; -1 where no step does."""
        c = self.columns
        steps: NDArray[np.int32] = self.loops.find_writes(self.table, c.key, c.value, key, value)
        return steps

    def outcome(self, steps: Ints) -> NDArray[np.int8]:
        """Return the outcomes of the transactions that these steps belong to; -1 where there is no step."""
        outcomes: NDArray[np.int8] = np.where(steps >= 0, self.columns.outcome[self.owner[steps]], -1).astype(np.int8)
        return outcomes

    def committed(self, read_steps: Ints) -> NDArray[np.bool_]:
        """Return which transactions committed: they are ok, or in doubt and ``read_steps`` has one of their steps."""
        committed: NDArray[np.bool_] = self.columns.outcome == OK
        known = self.owner[read_steps[read_steps >= 0]]
        committed[known[self.columns.outcome[known] == INFO]] = True
        return committed

    def failed(self, steps: Ints) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = self.outcome(steps) == FAIL
        return mask

    def orders(self, committed: NDArray[np.bool_], nodes: int) -> tuple[list[tuple[Any, Any, Any]], int]:
        """Return the edges of sessions and of real time, and the number of nodes including helpers."""
        c = self.columns
        _, process = np.unique(c.process, return_inverse=True)
        session = self.loops.session_edges(process.astype(np.int64), int(process.max(initial=-1)) + 1, c.outcome,
                                           committed)  # fmt: skip
        ok = np.flatnonzero(c.outcome == OK)
        by_return = ok[np.argsort(c.ret[ok], kind="stable")]
        source, target, nodes = self.loops.realtime_edges(c.invoke, c.ret, by_return, committed, nodes)
        later = np.flatnonzero(committed)[1:] if self.started else ok[:0]
        return [(*session, PROCESS), (source, target, REALTIME), (np.zeros_like(later), later, WW)], int(nodes)

    def key(self, step: int) -> Any:
        """Return the name of a step's key."""
        return self.columns.keys[self.columns.key[step]]

    def value(self, step: int) -> Any:
        """Return the value of a step."""
        return self.columns.value_named(int(self.columns.value[step]))

    def of(self, row: int, kind: int) -> list[int]:
        """Return the reading or the writing steps of a transaction."""
        c = self.columns
        return [step for step in range(int(c.first[row]), int(c.first[row + 1])) if c.kind[step] == kind]

    def in_order(self, source: int, kind: str) -> Reason:
        """Return the reason for an edge given by the start, the order of a process, or real time."""
        if self.started and source == 0:
            return "realtime", None, "{0} is the initial state, which comes before {1}", ()
        if kind == "process":
            return kind, None, f"process {self.columns.process[source]} ran {{0}} and after it {{1}}", ()
        return kind, None, "{0} had returned before {1} was invoked", ()
