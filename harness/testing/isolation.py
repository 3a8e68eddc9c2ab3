"""A check that a database keeps an isolation level: transactions on lists in threads, judged by the checker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Lock
from typing import Any, Final

from checker import IsolationReport, Transaction, check_transactions
from harness.workloads.transactions import Steps, last_transactions, mixed_steps
from history.readers.transactions.columns import DEFAULT_LEVEL
from history.records.operations import Outcome

#: What SQL calls a serialization failure and a deadlock, which prove a rollback.
_ROLLED_BACK: Final = ("40001", "40P01")


def assert_isolation(
    dsn: str,
    transact: Callable[[Any, Steps], Steps],
    level: str = DEFAULT_LEVEL,
    *,
    connect: Callable[[str], Any] | None = None,
    threads: int = 8,
    transactions: int = 1000,
    keys: int = 3,
    seed: int = 1,
) -> IsolationReport:
    """Run transactions on lists in threads, and assert that they keep an isolation level.

    ``transact(connection, steps)`` runs the steps as one transaction: ``["append", key, value]`` appends to the list of
    a key, ``["r", key, None]`` reads it; keys and values are integers, and all lists are empty at first.  It returns
    the steps, each read with the list in place of None.  If it raises an error with the SQLSTATE of a serialization
    failure or a deadlock, the transaction is rolled back; after any other it is in doubt, and its connection is
    replaced.  ``connect`` opens a connection for a thread, by default with psycopg.

    Raises AssertionError with the sentences of a shortest cycle if the level is broken, or if nothing was proven.
    """
    asked = mixed_steps(Random(seed), keys, "append")
    planned = [next(asked) for _ in range(transactions)]
    used = sorted({step[1] for steps in planned for step in steps})
    final = [invocation.value for invocation in last_transactions(used)]
    load = _Load(dsn, transact, connect or _connect)
    with ThreadPoolExecutor(threads) as pool:
        todo = iter(planned)
        list(pool.map(lambda process: load.run(todo, process, threads), range(threads)))
    load.run(iter(final), -1, -1)
    report = check_transactions(load.done, "list-append", level)
    if report.violations:
        worst = report.violations[0]
        raise AssertionError(f"{level} is not kept\n{worst.name}: {worst.sentence}")
    if report.verdict != "valid":
        first = f", first {load.errors[0]!r}" if load.errors else ""
        raise AssertionError(f"{level} was not tested: {report.reason}{first}")
    return report


class _Load:
    """The state that the threads share: connections, operations ``done``, and errors."""

    def __init__(self, dsn: str, transact: Callable[[Any, Steps], Steps], connect: Callable[[str], Any]) -> None:
        self._dsn, self._transact, self._connect = dsn, transact, connect
        self._lock = Lock()
        self.done: list[Transaction] = []
        self.errors: list[Exception] = []

    def run(self, todo: Iterator[Steps], process: int, following: int) -> None:
        """Run transactions until there are none; after one in doubt, under the ``following`` process number."""
        connection = self._connect(self._dsn)
        while (steps := self._next(todo)) is not None:
            outcome = self._perform(connection, process, steps)
            if outcome == "fail":
                connection.rollback()
            elif outcome == "info":
                connection.close()
                connection, process = self._connect(self._dsn), process + following
        connection.close()

    def _next(self, todo: Iterator[Steps]) -> Steps | None:
        with self._lock:
            return next(todo, None)

    def _perform(self, connection: Any, process: int, steps: Steps) -> Outcome:
        invoked, answered = time.monotonic_ns(), steps
        outcome: Outcome = "ok"
        try:
            answered = self._transact(connection, [list(step) for step in steps])
        except Exception as error:  # noqa: BLE001 (whatever it is, the transaction is in doubt)
            outcome = "fail" if getattr(error, "sqlstate", None) in _ROLLED_BACK else "info"
            self.errors.append(error)
        self.done.append(Transaction(process, answered, outcome, invoked, time.monotonic_ns()))
        return outcome


def _connect(dsn: str) -> Any:
    import psycopg

    return psycopg.connect(dsn)
