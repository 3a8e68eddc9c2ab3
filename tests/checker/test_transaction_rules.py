"""Each rule that keeps the transactional checker sound: without it, a history is judged wrongly.

Every test has the history, what is true of it, and a mutant that breaks the rule, with which that is no longer so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from checker import Transaction, check_transactions
from checker.foreign import take
from checker.kernels import transaction_loops as loops
from checker.models.levels import weakest_refuted
from checker.transactions import graph, rw_register, transaction, verdict
from checker.transactions.anomalies import Steps
from checker.transactions.list_append import ListAppendGraph
from history import Operation
from history.codes import OK
from history.readers import Foreign
from history.records.operations import BEFORE

Mutate = Callable[[pytest.MonkeyPatch], None]


def ok(process: int, *steps: Any, invoked: float | None = None, returned: float | None = None) -> Transaction:
    return Transaction(process, [list(step) for step in steps], "ok", invoked, returned)


def wrapped(name: str, change: Callable[[Any, tuple[Any, ...]], Any]) -> Mutate:
    """A mutant of one loop, which is called with the original and the arguments."""
    original = getattr(loops, name)
    return lambda patch: patch.setattr(loops, name, lambda *arguments: change(original, arguments))


def no_strip(original: Any, arguments: tuple[Any, ...]) -> Any:
    """Own appends count as what was installed."""
    *before, previous, keys = arguments
    return original(*before, np.full_like(previous, -1), keys)


def order_is_known(patch: pytest.MonkeyPatch) -> None:
    """The longest read is the order, also where others contradict it."""
    original = ListAppendGraph._orders

    def orders(self: ListAppendGraph) -> None:
        self.broken[:] = False
        original(self)

    patch.setattr(ListAppendGraph, "_orders", orders)


def no_tail(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ListAppendGraph, "_tail", lambda self, *_: ([], len(self.columns)))


def torn_is_fine(original: Any, arguments: tuple[Any, ...]) -> Any:
    torn, *rest = original(*arguments)
    return np.zeros_like(torn), *rest


def doubt_is_failure(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Steps, "failed", lambda self, steps: self.outcome(steps) > OK)


def doubt_ends(original: Any, arguments: tuple[Any, ...]) -> Any:
    """The next transaction of a process comes after one in doubt, too."""
    process, processes, outcome, committed = arguments
    return original(process, processes, np.full_like(outcome, OK), committed)


def ties_are_order(patch: pytest.MonkeyPatch) -> None:
    """Of events at the same time those that return come first."""
    order = lambda events: sorted(events, key=lambda event: (event[0], -event[1], event[2]))  # noqa: E731
    patch.setattr(transaction, "sorted", order, raising=False)


def doubtful_writes_are_sure(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(verdict, "weakest_refuted", lambda name, **_: weakest_refuted(name))


def guesses_are_data(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(graph, "_GUESSED", (graph._GUESSED[-1],) * 3)


def reads_order_writes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(loops, "CONT_COMMITTED", loops.CONT)
    patch.setitem(rw_register._REASONS, loops.CONT, "")


def no_start(patch: pytest.MonkeyPatch) -> None:
    """What was there at the start is written by a transaction like any other."""
    original = Steps.__init__

    def init(self: Steps, columns: Any) -> None:
        original(self, columns)
        self.started = False

    patch.setattr(Steps, "__init__", init)


def any_start(patch: pytest.MonkeyPatch) -> None:
    """The first transaction of process -1 is the start, whenever it ran."""
    original = Steps.__init__

    def init(self: Steps, columns: Any) -> None:
        original(self, columns)
        self.started = bool(columns.process[0] == BEFORE)

    patch.setattr(Steps, "__init__", init)


def start_is_any_version(patch: pytest.MonkeyPatch) -> None:
    original = rw_register.RwRegisterGraph._number_versions

    def number(self: rw_register.RwRegisterGraph) -> None:
        original(self)
        self.opening[:] = -1

    patch.setattr(rw_register.RwRegisterGraph, "_number_versions", number)


def loaded(holds: str, start: dict[str, Any], *transactions: Transaction) -> list[Operation]:
    taken = take(Foreign("edn", transaction.operations_of_transactions(transactions)), holds, start)
    return list(taken.history.operations or ())


STALE = [
    ok(0, ("w", "x", 1), invoked=0, returned=1), ok(1, ("w", "x", 2), invoked=2, returned=3),
    ok(2, ("r", "x", 2), invoked=4, returned=5), ok(3, ("r", "x", 1), invoked=6, returned=7),
    ok(4, ("r", "x", 2), invoked=8, returned=9),
]  # fmt: skip
LISTS, REGISTERS = "list-append", "rw-register"
#: The rule: (object, history, level, whether it holds, the mutant).
RULES: dict[str, tuple[str, Sequence[Transaction] | Sequence[Operation], str, bool, Mutate]] = {
    "a read through own appends proves no version": (
        LISTS,
        [ok(0, ("append", "x", 1), ("r", "x", [1])), ok(1, ("append", "x", 2), ("r", "x", [2])),
         ok(2, ("r", "x", [1, 2]))],
        "read-committed", True, wrapped("external_reads", no_strip),
    ),
    "of contradicting reads none is the order": (
        LISTS,
        [ok(0, ("append", "x", 1), ("append", "y", 1)), ok(1, ("append", "x", 2), ("append", "y", 2)),
         ok(2, ("r", "x", [1, 2])), ok(3, ("r", "x", [2])), ok(4, ("r", "y", [2, 1]))],
        "read-uncommitted", True, order_is_known,
    ),
    "what no read shows comes last": (
        LISTS,
        [ok(0, ("r", "x", []), ("append", "y", 1)), ok(1, ("r", "y", []), ("append", "x", 2))],
        "serializable", False, no_tail,
    ),
    "the appends of one stand side by side": (
        LISTS,
        [ok(0, ("append", "x", 1), ("append", "x", 2)), ok(1, ("r", "x", [2]))],
        "serializable", False, wrapped("own_order", torn_is_fine),
    ),
    "what is in doubt may have happened": (
        LISTS,
        [Transaction(0, [["append", "x", 1]], "info"), ok(1, ("r", "x", [1]))],
        "serializable", True, doubt_is_failure,
    ),
    "what is in doubt may happen at any time": (
        LISTS,
        [Transaction(0, [["append", "x", 1]], "info"), ok(0, ("r", "x", [])), ok(1, ("r", "x", [1]))],
        "strong-session-serializable", True, wrapped("session_edges", doubt_ends),
    ),
    "equal stamps are no order": (
        LISTS,
        [ok(0, ("append", "x", 1), invoked=0, returned=1), ok(1, ("r", "x", []), invoked=1, returned=2)],
        "strict-serializable", True, ties_are_order,
    ),
    "a write cycle through one in doubt may be an aborted read": (
        LISTS,
        [Transaction(0, [["append", "x", 1], ["append", "y", 1]], "info"),
         ok(1, ("append", "x", 2), ("append", "y", 2)), ok(2, ("r", "x", [1, 2]), ("r", "y", [2, 1]))],
        "read-uncommitted", True, doubtful_writes_are_sure,
    ),
    "real time orders versions only where it is promised": (
        REGISTERS, STALE, "serializable", True, guesses_are_data,
    ),
    "a read orders writes only at read committed": (
        REGISTERS,
        [ok(0, ("r", "x", 1), ("w", "x", 2), ("w", "y", 1)), ok(1, ("w", "x", 1), ("r", "y", 1), ("w", "y", 2))],
        "read-uncommitted", True, reads_order_writes,
    ),
    "the start of lists precedes all, also without real time": (
        LISTS, loaded(LISTS, {"x": [1]}, ok(0, ("r", "x", []))), "consistent-view", False, no_start,
    ),
    "the start of registers precedes all, also without real time": (
        REGISTERS, loaded(REGISTERS, {"x": 1}, ok(0, ("r", "x", None))), "consistent-view", False, no_start,
    ),
    "a value of the start precedes all values": (
        REGISTERS,
        loaded(REGISTERS, {"x": 0}, ok(0, ("w", "x", 1), ("w", "y", 1)), ok(1, ("r", "y", 1), ("r", "x", 0))),
        "serializable", False, start_is_any_version,
    ),
    "who overwrote the start did not see the other values": (
        REGISTERS,
        loaded(REGISTERS, {"x": 0}, ok(0, ("r", "x", 0), ("w", "x", 1), ("r", "y", 1)),
               ok(1, ("w", "x", 2), ("w", "y", 1))),
        "serializable", False, start_is_any_version,
    ),
    "only a transaction before all others is the start": (
        LISTS,
        [ok(-1, ("append", "x", 1), invoked=0, returned=2), ok(0, ("r", "x", []), invoked=1, returned=3)],
        "strict-serializable", True, any_start,
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_without_the_rule_the_verdict_is_wrong(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    holds, history, level, kept, mutate = RULES[rule]
    assert (level in check_transactions(history, holds).holds) == kept
    mutate(monkeypatch)
    assert (level in check_transactions(history, holds).holds) != kept
