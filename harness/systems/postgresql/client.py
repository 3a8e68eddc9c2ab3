"""A client with one connection, which begins and commits transactions itself and sends nothing twice."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus

from harness.systems.api import Machine, Setup
from harness.systems.law import NOT_SENT, Outcome
from harness.systems.postgresql.deadline import finish
from harness.systems.postgresql.outcomes import LAW, End, case_of
from harness.systems.postgresql.server import DIALECT, connection_words, servers
from harness.systems.sql.statements import Rows, answer, statements
from harness.systems.sql.store import primary_of
from harness.workloads import Invocation

#: How long a client waits after it could not connect, in seconds.
_AGAIN_S: Final = 0.1


class Client:
    """One worker's connection to a node, whose transactions have the isolation level ``isolation``.

    With standbys, the clients of the first node look for the primary, whichever it is.  A server that does not answer
    can take all of a client's time, so after a timeout the client asks the next one first.
    """

    def __init__(self, node: Machine, setup: Setup, isolation: str) -> None:
        self.home = primary_of(setup) if node in setup.nodes[:1] else node.name
        level = isolation.replace("-", "\\ ")
        self._words = {**connection_words(node), "options": f"-c default_transaction_isolation={level}"}
        self._hosts = deque([node.address])
        if self.home != node.name:
            self._words["target_session_attrs"] = "read-write"
            self._hosts = deque(server.address for server in servers(setup))
        self._timeout, self._workload = setup.client_timeout, setup.workload
        self._connection: Any = None

    async def open(self) -> None:
        with suppress(psycopg.Error, TimeoutError):
            await self._connect()

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def _connect(self) -> None:
        if self._connection is None or self._connection.closed:
            self._connection = None
            words = {**self._words, "host": ",".join(self._hosts)}
            try:
                async with asyncio.timeout(self._timeout):
                    self._connection = await psycopg.AsyncConnection.connect(**words, autocommit=True)
            except TimeoutError:
                self._hosts.rotate(-1)
                raise

    async def perform(self, invocation: Invocation) -> Outcome:
        began = asyncio.get_running_loop().time()
        try:
            await self._connect()
        except (psycopg.Error, TimeoutError) as error:
            await asyncio.sleep(_AGAIN_S)
            return LAW.outcome(NOT_SENT, invocation, self.home, _text(error))
        left = began + self._timeout - asyncio.get_running_loop().time()
        return await finish(self._carry_out(invocation), self._connection, left)

    async def _carry_out(self, invocation: Invocation) -> Outcome:
        work = statements(DIALECT, self._workload, invocation)
        end = End(committing=len(work) == 1, writes=any(statement.writes for statement in work))
        rows: list[Rows] = []
        try:
            if not end.committing:
                await self._connection.execute("BEGIN")
            for statement in work:
                cursor = await self._connection.execute(statement.sql, statement.parameters)
                if statement.writes and cursor.rowcount != 1:
                    if invocation.f == "cas":
                        return LAW.outcome("other-value", invocation, self.home)
                    raise psycopg.DataError(f"{cursor.rowcount} rows were changed instead of one")
                rows.append(await cursor.fetchall() if statement.answers else [])
            if not end.committing:
                end = end._replace(committing=True)
                cursor = await self._connection.execute("COMMIT")
            end = end._replace(tag=cursor.statusmessage)
        except psycopg.Error as error:
            end = end._replace(severity=error.diag.severity_nonlocalized, code=error.sqlstate)
            await self._roll_back()
            return LAW.outcome(case_of(end), invocation, self.home, _text(error))
        case = case_of(end)
        if case == "committed":
            return LAW.outcome(case, invocation, self.home, value=answer(self._workload, invocation, rows))
        return LAW.outcome(case, invocation, self.home, "COMMIT was answered with ROLLBACK")

    async def _roll_back(self) -> None:
        """End a transaction that is still open, or close the connection if that fails."""
        try:
            if self._connection.info.transaction_status != TransactionStatus.IDLE:
                await self._connection.execute("ROLLBACK")
        except psycopg.Error:
            await self._connection.close()


def _text(error: Exception) -> str:
    """Return the code and the first line of an error."""
    code = getattr(error, "sqlstate", None)
    line = str(error).partition("\n")[0] or type(error).__name__
    return f"{code} {line}" if code else line
