"""``assert_isolation``: on a store in memory that keeps its level, on broken ones, and with broken callables."""

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
    with pytest.raises(AssertionError, match=r"serializable .*\n.*T1"):
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


def appends_only(steps: Any) -> bool:
    return all(step[0] == "append" for step in steps)


def with_reads(steps: Any, change: Callable[[Any], Any]) -> Any:
    return [[f, key, change(value) if f == "r" else value] for f, key, value in steps]


@pytest.mark.parametrize(
    "change",
    [
        lambda steps: steps,
        tuple,
        lambda steps: [tuple(step) for step in steps],
        lambda steps: with_reads(steps, tuple),
    ],
)
def test_steps_may_be_lists_or_tuples(change: Callable[[Any], Any]) -> None:
    store = Store()
    report = assert_isolation(
        "memory", lambda _, steps: change(store.transact(_, steps)), connect=store.connect, threads=3, transactions=60
    )
    assert report.verdict == "valid"


@pytest.mark.parametrize(
    "change",
    [
        lambda _: None,
        lambda _: [],
        lambda _: [["r", 0, []]],
        iter,
        lambda steps: [step for step in steps if step[0] == "append"],
        lambda steps: steps[::-1],
        lambda steps: [*steps, ["r", 0, []]],
        lambda steps: [[f, key + 1, value] for f, key, value in steps],
        lambda steps: [["r", key, []] for _, key, _ in steps],
        lambda steps: [[f, key, value + 1 if f == "append" else value] for f, key, value in steps],
        lambda steps: [step[:2] for step in steps],
        lambda steps: [step[0] for step in steps],
        lambda steps: with_reads(steps, lambda _: None),
        lambda steps: with_reads(steps, str),
        lambda steps: with_reads(steps, set),
    ],
)
def test_other_steps_than_those_asked_for_are_an_error_of_the_callable(change: Callable[[Any], Any]) -> None:
    """The database is right: it must not be accused, and nothing may pass."""
    store = Store()
    with pytest.raises(ValueError, match=r"(?s)asked for \[\[.* returned .*"):
        assert_isolation(
            "memory",
            lambda _, steps: change(store.transact(_, steps)),
            connect=store.connect,
            threads=1,
            transactions=60,
        )
    assert store.closed == 1, "a connection left open could keep locks"


def test_a_list_that_changes_after_it_was_returned_is_an_error_of_the_callable() -> None:
    store = Store()

    def live(_: Any, steps: Any) -> Any:
        store.transact(_, steps)
        return [[f, key, store.lists.setdefault(key, []) if f == "r" else value] for f, key, value in steps]

    with pytest.raises(ValueError, match="later changed"):
        assert_isolation("memory", live, connect=store.connect, threads=1, transactions=60)


@pytest.mark.parametrize("level", ["strict-serializable", "serializable", "snapshot-isolation", "read-committed"])
def test_an_acknowledged_append_must_be_in_the_last_read(level: str) -> None:
    """The bad twin forgets one transaction that no other read saw, which no cycle shows at most levels."""

    class Forgetful(Store):
        dropped: Any = None

        def transact(self, _: Any, steps: Any) -> Any:
            if self.dropped is None and appends_only(steps):
                self.dropped = steps
                return steps
            return super().transact(_, steps)

    run_on(Store(), level)
    store = Forgetful()
    expected = "G-single-process" if level == "strict-serializable" else "was acknowledged and is not in the last read"
    with pytest.raises(AssertionError, match=expected):
        run_on(store, level)


def test_an_append_in_doubt_may_be_missing_from_the_last_read() -> None:
    class Unsure(Store):
        def transact(self, _: Any, steps: Any) -> Any:
            if appends_only(steps):
                raise ConnectionError
            return super().transact(_, steps)

    assert run_on(Unsure()).verdict == "valid"


def test_a_last_read_that_fails_proves_nothing_about_appends() -> None:
    class Ending(Store):
        def transact(self, _: Any, steps: Any) -> Any:
            if len(steps) > 4:
                raise ConnectionError("gone")
            return super().transact(_, steps)

    with pytest.raises(AssertionError, match=r"nothing was proven about .* appends .*gone"):
        run_on(Ending())
