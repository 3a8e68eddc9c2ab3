"""Promote a standby when the primary is dead, the way an operator does.

1. All standbys stop receiving, so that nothing more can arrive. What a socket still holds is lost on all of them.
2. The standby whose log reaches furthest is promoted.  If commits wait for n standbys, each acknowledged commit is on n
   of them, and thus on this one.
3. The others look for the new primary.  None of their logs reaches further, so all can follow it.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Any, Final

import psycopg

from harness.systems.api import Machine, Setup
from harness.systems.postgresql.deadline import finish
from harness.systems.postgresql.server import connection_words, primary_words, servers
from nemesis.core.ports import StartError

#: How long a standby may take to answer a statement.
_ANSWER_S: Final = 5.0
#: How long a node may take to accept or refuse a connection.
_REACH_S: Final = 3.0
_STOP_S: Final = 10.0
_PROMOTE_S: Final = 30
_LOOK_AGAIN_S: Final = 0.05
_END: Final = "SELECT greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'"


def promote(setup: Setup, dead: str) -> str:
    """Promote a standby in place of the dead primary unless one leads already; return its node.

    Raises StartError if a standby that can be reached does not answer (its log may be the longest), or if the one with
    the longest log does not become the primary.  Raises OSError if a standby cannot be reached.
    """
    return asyncio.run(_promote([node for node in servers(setup) if node.name != dead], primary_words(setup)))


async def _promote(nodes: list[Machine], words: str) -> str:
    async with AsyncExitStack() as stack:
        standbys = [await stack.enter_async_context(_Standby(node)) for node in nodes]
        leading = [standby for standby in standbys if not await standby.ask("SELECT pg_is_in_recovery()")]
        if not leading:
            for standby in standbys:
                await standby.receive_from("")
            for standby in standbys:
                await standby.await_stopped()
            ends = [await standby.ask(_END) for standby in standbys]
            leading = [standbys[ends.index(max(ends))]]
            if not await leading[0].ask(f"SELECT pg_promote(true, {_PROMOTE_S})", _PROMOTE_S):
                raise StartError({leading[0].name: f"it was promoted but did not lead within {_PROMOTE_S} s"})
        for standby in standbys:
            await standby.receive_from(words)
        return leading[0].name


class _Standby:
    """A connection to one standby.

    If there is no answer in time, each method raises StartError with the node's name, or OSError if the node cannot be
    reached, which is not the server's fault.
    """

    def __init__(self, node: Machine) -> None:
        self.name, self._words = node.name, connection_words(node)
        self._connection: Any = None

    async def __aenter__(self) -> _Standby:
        try:
            self._connection = await psycopg.AsyncConnection.connect(**self._words, autocommit=True)
        except psycopg.Error as error:
            raise await self._failed(_first_line(error)) from None
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.close()

    async def ask(self, query: str, work_s: float = 0.0) -> Any:
        """Return the first value of the answer, or None if it has none.  The server may work on it for ``work_s``."""
        seconds = work_s + _ANSWER_S
        late = time.monotonic() + seconds
        try:
            return await finish(self._answer(query), self._connection, seconds)
        except psycopg.Error as error:
            silent = time.monotonic() >= late
            why = f"it did not answer a statement within {seconds:g} s" if silent else _first_line(error)
            raise await self._failed(why) from None

    async def _answer(self, query: str) -> Any:
        cursor = await self._connection.execute(query)
        row = await cursor.fetchone() if cursor.description else None
        return row[0] if row else None

    async def receive_from(self, words: str) -> None:
        await self.ask(f"ALTER SYSTEM SET primary_conninfo = '{words}'")
        await self.ask("SELECT pg_reload_conf()")

    async def await_stopped(self) -> None:
        late = time.monotonic() + _STOP_S
        while await self.ask("SELECT count(*) FROM pg_stat_wal_receiver"):
            if time.monotonic() > late:
                raise await self._failed("it still receives")
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def _failed(self, why: str) -> StartError | OSError:
        """Return whose failure it is."""
        try:
            await reach(self._words["host"], self._words["port"])
        except OSError:  # also a TimeoutError
            return OSError(f"{self.name}: {why}")
        return StartError({self.name: why})


async def reach(host: str, port: int) -> None:
    """Reach a node: it accepts a connection or refuses it.  Raises OSError if it does neither."""
    with suppress(ConnectionRefusedError):
        async with asyncio.timeout(_REACH_S):
            _, writer = await asyncio.open_connection(host, port)
            writer.close()
            await writer.wait_closed()


def _first_line(error: psycopg.Error) -> str:
    return str(error).partition("\n")[0]
