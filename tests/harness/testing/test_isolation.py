"""``assert_isolation``: on a store in memory that keeps its level, on broken ones, and on one that never answers."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import pytest

from harness.testing import assert_isolation


class Store:
    """Lists in memory, whose transactions are serial; ``stale``: reads see nothing of other transactions."""

    def __init__(self, *, stale: bool = False, refuses: str | None = None) -> None:
        self.lists: dict[int, list[int]] = {}
        self.stale, self.refuses, self.rolled_back, self.closed = stale, refuses, 0, 0
        self.lock = Lock()

    def transact(self, _: Any, steps: Any) -> Any:
        with self.lock:
            if self.refuses is not None and steps[0][0] == "append":
                error = RuntimeError("refused")
                error.sqlstate = self.refuses  # type: ignore[attr-defined]
                raise error
            own: dict[int, list[int]] = {}
            for step in steps:
                if step[0] == "append":
                    self.lists.setdefault(step[1], []).append(step[2])
                    own.setdefault(step[1], []).append(step[2])
                else:
                    step[2] = list((own if self.stale else self.lists).get(step[1], []))
            return steps

    def connect(self, _: str) -> Any:
        return self

    def rollback(self) -> None:
        self.rolled_back += 1

    def close(self) -> None:
        self.closed += 1


def run_on(store: Store, level: str = "serializable") -> Any:
    return assert_isolation("memory", store.transact, level, connect=store.connect, threads=3, transactions=60)


def test_a_serial_store_keeps_every_level() -> None:
    store = Store()
    report = run_on(store, "strict-serializable")
    assert report.transactions > 60, "and the last ones read every key"
    assert store.closed == 4


def test_a_store_that_hides_writes_is_refused_with_a_cycle() -> None:
    with pytest.raises(AssertionError, match=r"serializable is not kept\n.*T1"):
        run_on(Store(stale=True))


@pytest.mark.parametrize(("code", "rolled_back"), [("40001", True), ("40P01", True), ("40003", False), (None, False)])
def test_only_a_proven_rollback_is_a_failure(code: str | None, rolled_back: bool) -> None:
    """After any other error the connection is replaced."""
    store = Store(refuses=code or "")
    run_on(store)
    assert (store.rolled_back > 0) == rolled_back
    assert (store.closed > 4) != rolled_back


def test_a_callable_that_never_succeeds_proves_nothing() -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError

    connect: Callable[[str], Any] = Store().connect
    with pytest.raises(AssertionError, match=r"not tested: .*ZeroDivisionError"):
        assert_isolation("memory", broken, connect=connect, threads=2, transactions=4)
