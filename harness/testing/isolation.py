"""A check that a database satisfies an isolation level: transactions on lists in threads, judged by the checker."""

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
    """Run transactions on lists in threads, and assert that they satisfy an isolation level.

    ``transact(connection, steps)`` runs the steps as one transaction: ``["append", key, value]`` appends to the list of
    a key, ``["r", key, None]`` reads it; keys and values are integers, and all lists are empty at first.  It returns
    the steps, each read with a list or tuple in place of None.  If it raises an error with the SQLSTATE of a
    serialization failure or a deadlock, the transaction is rolled back; after any other it is in doubt, and its
    connection is replaced.  ``connect`` opens a connection for a thread, by default with psycopg.

    Every key is read once more at the end.  Raises AssertionError with the sentences of a shortest cycle if the level
    is broken, if the last read of a key lacks an acknowledged append, or if nothing was proven.  Raises ValueError if
    ``transact`` returns anything but the steps it was asked for.
    """
    stream = mixed_steps(Random(seed), keys, "append")
    planned = [next(stream) for _ in range(transactions)]
    used = sorted({step[1] for steps in planned for step in steps})
    final = [invocation.value for invocation in last_transactions(used)]
    load = _Load(dsn, transact, connect or _connect)
    with ThreadPoolExecutor(threads) as pool:
        todo = iter(planned)
        list(pool.map(lambda process: load.run(todo, process, threads), range(threads)))
    before = len(load.done)
    load.run(iter(final), -1, -1)
    load.require_copies()
    last = _lists(load.done[before:])
    report = check_transactions(load.done, "list-append", level)
    if report.violations:
        worst = report.violations[0]
        raise AssertionError(f"{level} is violated\n{worst.name}: {worst.sentence}")
    _require_appends(load.done, last)
    if report.verdict != "valid":
        first = f", first {load.errors[0]!r}" if load.errors else ""
        raise AssertionError(f"{level} was not tested: {report.reason}{first}")
    if unread := sorted({key for key, _ in _appends(load.done)} - last.keys()):
        raise AssertionError(
            f"the last read of key {unread[0]} did not succeed, so nothing was proven about acknowledged appends to "
            f"{len(unread)} of {len(used)} keys; the last error was {load.errors[-1]!r}"
        )
    return report


def _require_appends(done: list[Transaction], last: dict[int, list[Any]]) -> None:
    """Raise AssertionError if the last reads, which began after all else had returned, lack an acknowledged append."""
    for key, value in _appends(done):
        if value not in last.get(key, [value]):
            raise AssertionError(
                f"the append of {value} to {key} was acknowledged and is not in the last read, which is {last[key]}"
            )


def _appends(done: list[Transaction]) -> Iterator[tuple[int, int]]:
    """Yield the key and the value of each acknowledged append."""
    acknowledged = (step for transaction in done if transaction.outcome == "ok" for step in transaction.steps)
    return ((key, value) for f, key, value in acknowledged if f == "append")


def _lists(last: list[Transaction]) -> dict[int, list[Any]]:
    """Return the list of each key whose last read succeeded."""
    return {key: read for transaction in last if transaction.outcome == "ok" for _, key, read in transaction.steps}


class _Load:
    """The state that the threads share: connections, operations ``done``, and errors."""

    def __init__(self, dsn: str, transact: Callable[[Any, Steps], Steps], connect: Callable[[str], Any]) -> None:
        self._dsn, self._transact, self._connect = dsn, transact, connect
        self._lock = Lock()
        self.done: list[Transaction] = []
        self.errors: list[Exception] = []
        #: Each list that ``transact`` returned, with our copy of it.
        self._reads: list[tuple[Any, list[Any]]] = []

    def run(self, todo: Iterator[Steps], process: int, following: int) -> None:
        """Run all transactions; after a transaction in doubt, continue as the ``following`` process."""
        connection = self._connect(self._dsn)
        while (steps := self._next(todo)) is not None:
            outcome = self._perform(connection, process, steps)
            if outcome == "fail":
                connection.rollback()
            elif outcome == "info":
                connection.close()
                connection, process = self._connect(self._dsn), process + following
        connection.close()

    def require_copies(self) -> None:
        """Raise ValueError if a list changed after ``transact`` returned it, because its value when read is unknown."""
        for read, copy in self._reads:
            if list(read) != copy:
                raise ValueError(f"transact returned a list that later changed from {copy} to {read}: return a copy")

    def _next(self, todo: Iterator[Steps]) -> Steps | None:
        with self._lock:
            return next(todo, None)

    def _perform(self, connection: Any, process: int, steps: Steps) -> Outcome:
        invoked, answered = time.monotonic_ns(), steps
        outcome: Outcome = "ok"
        try:
            returned = self._transact(connection, [list(step) for step in steps])
        except Exception as error:  # noqa: BLE001 (whatever it is, the transaction is in doubt)
            outcome = "fail" if getattr(error, "sqlstate", None) in _ROLLED_BACK else "info"
            self.errors.append(error)
        else:
            if not _fits(steps, returned):
                # Its locks could block the other threads forever.
                connection.close()
                raise ValueError(
                    f"transact was asked for {steps} and returned {returned!r}: return every step in order, appends as "
                    "they are, and reads with the list or tuple that was read ([] if there is none)"
                )
            answered = [[f, key, self._copy(value) if f == "r" else value] for f, key, value in returned]
        self.done.append(Transaction(process, answered, outcome, invoked, time.monotonic_ns()))
        return outcome

    def _copy(self, read: Any) -> list[Any]:
        copy = list(read)
        self._reads.append((read, copy))
        return copy


def _fits(steps: Steps, returned: Any) -> bool:
    """Return whether these are the requested steps, with a list or tuple in each read."""
    return (
        isinstance(returned, list | tuple)
        and len(returned) == len(steps)
        and all(
            isinstance(step, list | tuple)
            and len(step) == 3
            and (step[0], step[1]) == (f, key)
            and (isinstance(step[2], list | tuple) if f == "r" else step[2] == value)
            for step, (f, key, value) in zip(returned, steps, strict=True)
        )
    )


def _connect(dsn: str) -> Any:
    import psycopg

    return psycopg.connect(dsn)
