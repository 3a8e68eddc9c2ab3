"""What an answer of PostgreSQL proves: the law row by row, and a client that meets these answers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="needs the extra postgresql")

import psycopg
from psycopg.pq import TransactionStatus

from harness.systems import Machine, Setup
from harness.systems.law import LOST, NOT_SENT, Outcome
from harness.systems.postgresql.client import Client
from harness.systems.postgresql.outcomes import LAW, End, case_of
from harness.workloads import Invocation

#: A transaction that writes, before COMMIT was sent and after; and one that only reads, after.
BEFORE, ASKED, READS = (False, True), (True, True), (True, False)


@pytest.mark.parametrize(
    ("end", "case", "outcome"),
    [
        (End(*ASKED, tag="COMMIT"), "committed", "ok"),
        (End(*ASKED, tag="INSERT 0 1"), "committed", "ok"),
        (End(*ASKED, tag="ROLLBACK"), "rolled-back", "fail"),
        # Before COMMIT was sent nothing can commit, whatever the server says and however the connection ends.
        (End(*BEFORE, severity="ERROR", code="40001"), "refused", "fail"),
        (End(*BEFORE, severity="ERROR", code="XX000"), "refused", "fail"),
        (End(*BEFORE, severity="FATAL", code="57P01"), "cut-off", "fail"),
        (End(*BEFORE, severity="FATAL", code="25P03"), "cut-off", "fail"),
        (End(*BEFORE, severity="PANIC", code="XX000"), "cut-off", "fail"),
        (End(*BEFORE), "cut-off", "fail"),
        # Errors in answer to COMMIT, or to a statement alone, that come before anything has committed.
        *(
            (End(*ASKED, severity="ERROR", code=code), "refused", "fail")
            for code in ("40001", "40P01", "23505", "25P02", "25006", "55P03", "57014", "53200", "22012", "42P01")
        ),
        # Others prove nothing: the transaction may have committed before they came.
        (End(*ASKED, severity="ERROR", code="40003"), "doubted", "info"),
        (End(*ASKED, severity="ERROR", code="XX000"), "doubted", "info"),
        (End(*ASKED, severity="ERROR", code="58030"), "doubted", "info"),
        (End(*ASKED, severity="ERROR"), "doubted", "info"),
        (End(*ASKED, severity="PANIC", code="40001"), "doubted", "info"),
        (End(*ASKED, severity="FATAL", code="57P01"), LOST, "info"),
        (End(*ASKED, severity="FATAL", code="57P02"), LOST, "info"),
        (End(*ASKED), LOST, "info"),
        # Nothing was to be written, so nothing is in doubt.
        (End(*READS), "read-only", "fail"),
        (End(*READS, severity="PANIC"), "read-only", "fail"),
        (End(*READS, severity="FATAL", code="57P01"), "read-only", "fail"),
    ],
)  # fmt: skip
def test_an_end_is_of_one_case(end: End, case: str, outcome: str) -> None:
    assert (case_of(end), LAW.type_of(case_of(end), "txn")) == (case, outcome)


class Refused(psycopg.Error):
    """An error as the server sends it."""

    def __init__(self, severity: str | None, code: str | None) -> None:
        super().__init__(f"{severity} {code}")
        self.sqlstate = code
        self._severity = severity

    @property
    def diag(self) -> Any:
        return SimpleNamespace(severity_nonlocalized=self._severity)


SERIALIZATION, CLOSED = Refused("ERROR", "40001"), Refused(None, None)


class Connection:
    """Answers statements in their order: with rows, a number of changed rows, a command tag, or an error."""

    def __init__(self, answers: Sequence[Any], *, alive: bool = True) -> None:
        self.answers, self.sent, self.closed, self._alive = list(answers), list[str](), False, alive
        self.info = SimpleNamespace(transaction_status=TransactionStatus.INERROR)

    async def execute(self, sql: str, _parameters: Any = ()) -> Any:
        self.sent.append(sql.split()[0])
        if sql == "BEGIN":
            return None
        if sql == "ROLLBACK":
            if not self._alive:
                raise CLOSED
            return None
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        rows = answer if isinstance(answer, list) else []

        async def fetchall() -> list[Any]:
            return rows

        tag = answer if isinstance(answer, str) else "SELECT"
        return SimpleNamespace(
            rowcount=1 if answer is None else len(answer) if isinstance(answer, list) else answer,
            statusmessage=tag,
            fetchall=fetchall,
        )

    async def close(self) -> None:
        self.closed = True


def perform(answers: Sequence[Any], invocation: Invocation, workload: str, *, alive: bool = True) -> Any:
    """The outcome, and the connection after it."""
    connection = Connection(answers, alive=alive)

    async def run() -> Outcome:
        client = Client(Machine("n1", "127.0.0.1"), Setup(version="15", workload=workload), "serializable")
        client._connection = connection
        return await client.perform(invocation)

    return asyncio.run(run()), connection


STEPS = [["r", 3, None], ["append", 4, 7], ["r", 5, None]]
MIXED = Invocation("txn", None, STEPS)
DONE = [[("1,2",)], None, []]


def test_a_committed_transaction_has_what_was_read() -> None:
    outcome, connection = perform([*DONE, "COMMIT"], MIXED, "list-append")
    assert (outcome.type, outcome.value) == ("ok", [["r", 3, [1, 2]], ["append", 4, 7], ["r", 5, []]])
    assert connection.sent == ["BEGIN", "SELECT", "INSERT", "SELECT", "COMMIT"]


@pytest.mark.parametrize(
    ("answers", "alive", "type_", "ended"),
    [
        ([*DONE, "ROLLBACK"], True, "fail", False),
        ([*DONE, SERIALIZATION], True, "fail", False),
        ([SERIALIZATION], True, "fail", False),
        ([[], 0], True, "fail", False),
        ([*DONE[:2], CLOSED], False, "fail", True),
        ([*DONE, CLOSED], False, "info", True),
        ([*DONE, Refused("ERROR", "40003")], True, "info", False),
        ([*DONE, Refused("FATAL", "57P01")], False, "info", True),
    ],
)  # fmt: skip
def test_how_a_transaction_ends(answers: list[Any], alive: bool, type_: str, ended: bool) -> None:
    outcome, connection = perform(answers, MIXED, "list-append", alive=alive)
    assert (outcome.type, outcome.value, connection.closed) == (type_, STEPS, ended)
    assert outcome.error


@pytest.mark.parametrize(
    ("workload", "invocation", "answers", "type_", "value"),
    [
        ("list-append", Invocation("txn", None, [["append", 1, 1]]), [None], "ok", [["append", 1, 1]]),
        ("list-append", Invocation("txn", None, [["append", 1, 1]]), [CLOSED], "info", [["append", 1, 1]]),
        ("list-append", Invocation("txn", None, [["append", 1, 1]]), [0], "info", [["append", 1, 1]]),
        ("list-append", Invocation("txn", None, [["r", 1, None]]), [CLOSED], "fail", [["r", 1, None]]),
        ("list-append", Invocation("txn", None, [["r", 1, None]]), [[("1,x",)]], "ok", [["r", 1, [1, "x"]]]),
        ("rw-register", Invocation("txn", None, [["r", 1, None]]), [[("4",)]], "ok", [["r", 1, 4]]),
        ("rw-register", Invocation("txn", None, [["r", 1, None]]), [[]], "ok", [["r", 1, None]]),
        ("register", Invocation("write", "k0", 3), [None], "ok", 3),
        ("register", Invocation("write", "k0", 3), [CLOSED], "info", 3),
        ("register", Invocation("read", "k0"), [[("3",)]], "ok", 3),
        ("cas-register", Invocation("cas", "k0", [3, 4]), [None], "ok", [3, 4]),
        ("cas-register", Invocation("cas", "k0", [3, 4]), [0], "fail", [3, 4]),
        ("cas-register", Invocation("cas", "k0", [None, 4]), [0], "fail", [None, 4]),
        ("set", Invocation("read", "set-0"), [[(1,), (2,)]], "ok", [1, 2]),
        ("counter", Invocation("read", "c"), [[]], "ok", 0),
        ("bank", Invocation("read", "bank-0"), [[(0, -5), (1, 5)]], "ok", [[0, -5], [1, 5]]),
        ("bank", Invocation("transfer", "bank-0", [0, 1, 5]), [[(0, -5)], [(1, 5)], "COMMIT"], "ok", [[0, -5], [1, 5]]),
        ("bank", Invocation("transfer", "bank-0", [0, 1, 5]), [[(0, -5)], CLOSED], "fail", [0, 1, 5]),
    ],
)
def test_operations(workload: str, invocation: Invocation, answers: list[Any], type_: str, value: Any) -> None:
    outcome, _ = perform(answers, invocation, workload, alive=answers != [CLOSED])
    assert (outcome.type, outcome.value) == (type_, value)


def test_without_a_server_nothing_is_sent() -> None:
    async def run() -> Outcome:
        setup = Setup(version="15", workload="register", client_timeout=1.0)
        client = Client(Machine("n1", "127.0.78.9"), setup, "serializable")
        await client.open()
        return await client.perform(Invocation("write", "k0", 3))

    assert asyncio.run(run()).type == LAW.type_of(NOT_SENT, "write") == "fail"


def test_a_server_that_does_not_answer_is_given_up_in_time() -> None:
    """Its kernel accepts the connection, and nobody says anything."""

    async def run(port: int) -> Outcome:
        setup = Setup(version="15", workload="register", client_timeout=0.2)
        client = Client(Machine("n1", "127.0.0.1"), setup, "serializable")
        client._words["port"] = port
        return await asyncio.wait_for(client.perform(Invocation("write", "k0", 3)), 30)

    with socket.create_server(("127.0.0.1", 0)) as server:
        assert asyncio.run(run(server.getsockname()[1])).type == "fail", "no transaction had begun"
