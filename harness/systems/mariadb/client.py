"""A client with one connection, which begins and commits transactions itself and sends nothing twice."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final

import aiomysql
from pymysql.constants import CLIENT
from pymysql.err import DataError, MySQLError

from harness.systems.api import Machine, Setup
from harness.systems.law import NOT_SENT, Outcome
from harness.systems.mariadb.outcomes import LAW, End, case_of
from harness.systems.mariadb.server import DIALECT, connection_words, galera
from harness.systems.sql.statements import Rows, answer, statements
from harness.workloads import Invocation

#: How long a client waits (s) after it could not connect.
_AGAIN_S: Final = 0.1
#: Client-side errors have codes in this range, or 0.
_CLIENT_SIDE: Final = range(2000, 3000)
_ERRORS: Final = (MySQLError, OSError, TimeoutError)


class Client:
    """One worker's connection to a node."""

    def __init__(self, node: Machine, setup: Setup) -> None:
        self.home = node.name
        level = str(setup.options["isolation"]).replace("-", " ")
        self._words = {
            **connection_words(node),
            "client_flag": CLIENT.FOUND_ROWS,  # counts rows that an update matched, also those it left as they were
            "init_command": f"SET SESSION TRANSACTION ISOLATION LEVEL {level}",
        }
        self._timeout, self._workload, self._galera = setup.client_timeout, setup.workload, galera(setup)
        self._connection: Any = None

    async def open(self) -> None:
        with suppress(*_ERRORS):
            await self._connect()

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    async def _connect(self) -> None:
        if self._connection is None or self._connection.closed:
            async with asyncio.timeout(self._timeout):
                self._connection = await aiomysql.connect(**self._words)

    async def perform(self, invocation: Invocation) -> Outcome:
        late = asyncio.get_running_loop().time() + self._timeout
        try:
            await self._connect()
        except _ERRORS as error:
            await asyncio.sleep(_AGAIN_S)
            return LAW.outcome(NOT_SENT, invocation, self.home, _text(error))
        work = statements(DIALECT, self._workload, invocation)
        single = len(work) == 1
        end = End(None, single, single, any(statement.writes for statement in work), self._galera)
        rows: list[Rows] = []
        try:
            async with asyncio.timeout_at(late), self._connection.cursor() as cursor:
                if not single:
                    await cursor.execute("START TRANSACTION")
                for statement in work:
                    await cursor.execute(statement.sql, statement.parameters)
                    # A row that was there counts twice in INSERT .. ON DUPLICATE KEY UPDATE.
                    if statement.writes and cursor.rowcount not in (1, 2):
                        if invocation.f == "cas":
                            return LAW.outcome("other-value", invocation, self.home)
                        raise DataError(f"{cursor.rowcount} rows were changed instead of one")
                    rows.append(await cursor.fetchall() if statement.answers else [])
                if not single:
                    end = end._replace(committing=True)
                    await cursor.execute("COMMIT")
        except _ERRORS as error:
            end = end._replace(code=_code(error))
            await self._roll_back(late, lost=end.code is None)
            return LAW.outcome(case_of(end), invocation, self.home, _text(error))
        return LAW.outcome("committed", invocation, self.home, value=answer(self._workload, invocation, rows))

    async def _roll_back(self, late: float, *, lost: bool) -> None:
        """End a transaction that may be open.  A connection that is lost or cannot do that is closed."""
        try:
            if lost:
                raise ConnectionError
            async with asyncio.timeout_at(late):
                await self._connection.rollback()
        except _ERRORS:
            self._connection.close()


def _code(error: Exception) -> int | None:
    """The code of a server's error; None for an error of the client or the connection."""
    code = error.args[0] if isinstance(error, MySQLError) and error.args else None
    return code if isinstance(code, int) and code and code not in _CLIENT_SIDE else None


def _text(error: Exception) -> str:
    """The code and the first line of an error."""
    return " ".join(str(part).partition("\n")[0] for part in error.args) or type(error).__name__
