"""What an answer of MariaDB proves: the law row by row, and a client that meets these answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Self

import pytest

pytest.importorskip("aiomysql", reason="needs the extra mariadb")

from pymysql.err import IntegrityError, InterfaceError, MySQLError, OperationalError

from harness.systems import Machine, Setup
from harness.systems.law import LOST, Outcome
from harness.systems.mariadb import SYSTEM
from harness.systems.mariadb.client import Client
from harness.systems.mariadb.outcomes import LAW, End, case_of
from harness.systems.mariadb.server import roles
from harness.workloads import Invocation

#: (committing, single, writes) before COMMIT was sent, after, of a single statement; and of reads.
BEFORE, ASKED, SINGLE = (False, False, True), (True, False, True), (True, True, True)
READS, READ = (True, False, False), (True, True, False)


@pytest.mark.parametrize(
    ("end", "case", "outcome"),
    [
        # Before COMMIT was sent nothing can commit, whatever the server says and however the connection ends.
        *((End(code, *BEFORE), "refused", "fail") for code in (1020, 1047, 1180, 1205, 1213, 1927)),
        (End(None, *BEFORE), "cut-off", "fail"),
        # Only a deadlock proves that COMMIT rolled back.
        (End(1213, *ASKED), "refused", "fail"),
        *((End(code, *ASKED), "doubted", "info") for code in (1020, 1047, 1180, 1205, 1317, 1927)),
        (End(None, *ASKED), LOST, "info"),
        # A node of Galera that is cut off while it sends a transaction to the others may answer the same.
        *((End(1213, *when, galera=True), "doubted", "info") for when in (ASKED, SINGLE)),
        (End(1213, *BEFORE, galera=True), "refused", "fail"),
        (End(1047, *SINGLE, galera=True), "refused", "fail"),
        # A single statement changed nothing if it failed by itself.
        *((End(code, *SINGLE), "refused", "fail") for code in (1020, 1047, 1062, 1205, 1213, 1290)),
        *((End(code, *SINGLE), "doubted", "info") for code in (1180, 1317, 1927)),
        (End(None, *SINGLE), LOST, "info"),
        # Nothing was to be written, so nothing is in doubt.
        *((End(code, *reads), "read-only", "fail") for code in (None, 1180) for reads in (READS, READ)),
    ],
)  # fmt: skip
def test_an_end_is_of_one_case(end: End, case: str, outcome: str) -> None:
    assert (case_of(end), LAW.type_of(case_of(end), "txn")) == (case, outcome)


class Connection:
    """Answers statements in their order: with rows, a number of changed rows, an error, or not at all (``...``)."""

    def __init__(self, answers: Sequence[Any]) -> None:
        self.answers, self.sent, self.closed = list(answers), list[str](), False
        self._rows: list[Any] = []
        self.rowcount = 0

    def cursor(self) -> Self:
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def execute(self, sql: str, _parameters: Any = ()) -> None:
        self.sent.append(sql.split()[0])
        if sql == "START TRANSACTION":
            return
        answer = self.answers.pop(0)
        if answer is ...:
            await asyncio.sleep(60)
        if isinstance(answer, Exception):
            raise answer
        self._rows = answer if isinstance(answer, list) else []
        self.rowcount = len(answer) if isinstance(answer, list) else answer

    async def fetchall(self) -> list[Any]:
        return self._rows

    async def rollback(self) -> None:
        self.sent.append("ROLLBACK")

    def close(self) -> None:
        self.closed = True


def setup(**options: str) -> Setup:
    chosen = {option.name: option.default for option in SYSTEM.options} | options
    nodes = tuple(Machine(f"n{number}", f"10.0.0.{number}") for number in (1, 2, 3))
    return Setup(version="10.11", options=chosen, nodes=nodes, workload="list-append", client_timeout=0.2)


def perform(answers: Sequence[Any], steps: list[Any]) -> tuple[Outcome, Connection]:
    connection = Connection(answers)

    async def run() -> Outcome:
        client = Client(Machine("n1", "127.0.0.1"), setup())
        client._connection = connection
        return await client.perform(Invocation("txn", None, steps))

    return asyncio.run(run()), connection


STEPS = [["r", 3, None], ["append", 4, 7]]
DEADLOCK, GONE = OperationalError(1213, "Deadlock found"), OperationalError(2013, "Lost connection")


def test_a_committed_transaction_has_what_was_read() -> None:
    outcome, connection = perform([[("1,2",)], 2, 0], STEPS)
    assert (outcome.type, outcome.value) == ("ok", [["r", 3, [1, 2]], ["append", 4, 7]])
    assert connection.sent == ["START", "SELECT", "INSERT", "COMMIT"]


@pytest.mark.parametrize(
    ("answers", "type_", "closed"),
    [
        ([DEADLOCK], "fail", False),
        ([[], OperationalError(1020, "Record has changed since last read")], "fail", False),
        ([[], 0], "fail", True),  # no row was changed
        ([[], GONE], "fail", True),
        ([[], ...], "fail", True),
        ([[], 1, DEADLOCK], "fail", False),
        ([[], 1, OperationalError(1180, "Got error 5 during COMMIT")], "info", False),
        ([[], 1, GONE], "info", True),
        ([[], 1, InterfaceError(0, "Not connected")], "info", True),
        ([[], 1, ConnectionResetError("reset")], "info", True),
        ([[], 1, ...], "info", True),
    ],
)  # fmt: skip
def test_how_a_transaction_ends(answers: list[Any], type_: str, closed: bool) -> None:
    outcome, connection = perform(answers, STEPS)
    assert (outcome.type, outcome.value, connection.closed) == (type_, STEPS, closed)
    assert outcome.error
    assert ("ROLLBACK" in connection.sent) is not closed


@pytest.mark.parametrize(
    ("answer", "type_"),
    [(1, "ok"), (2, "ok"), (0, "info"), (GONE, "info"), (IntegrityError(1062, "Twice"), "fail")],
)
def test_a_single_statement_commits_itself(answer: int | MySQLError, type_: str) -> None:
    outcome, connection = perform([answer], [["append", 4, 7]])
    assert (outcome.type, connection.sent[0]) == (type_, "INSERT")


def test_only_the_first_node_founds_a_cluster() -> None:
    made = {role.node: role.command for role in roles(setup(galera="on")) if role.task}
    assert [node for node, words in made.items() if "safe_to_bootstrap: 1" in words[-1]] == ["n1"]
    assert len(made) == 3
    assert {role.node for role in roles(setup())} == {"n1"}


@pytest.mark.parametrize(
    ("options", "workload", "refused"),
    [
        ({"galera": "on"}, "list-append", False),
        ({"galera": "on", "isolation": "serializable"}, "list-append", True),
        ({"galera": "on"}, "register", True),
        ({"isolation": "serializable"}, "register", False),
    ],
)
def test_galera_runs_only_what_it_promises(options: dict[str, str], workload: str, refused: bool) -> None:
    plan = setup(**options)
    asked = Setup(version=plan.version, options=plan.options, nodes=plan.nodes, workload=workload)
    assert SYSTEM.refuse is not None
    assert bool(SYSTEM.refuse(asked)) is refused
