"""The state of a server: primary or standby, its timeline, and where its log and its state end.

Indexes are positions in the write-ahead log, in bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import psycopg

from harness.systems.api import Machine
from harness.systems.postgresql.deadline import finish
from harness.systems.postgresql.server import connection_words

#: A starting standby receives the last log segment again, so its log ends at least where its replay does.
_ASK: Final = """SELECT standby, timeline_id, (log_end - '0/0')::bigint, (applied - '0/0')::bigint
FROM pg_control_checkpoint(), pg_is_in_recovery() AS standby, LATERAL (
  SELECT pg_last_wal_replay_lsn(), greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) WHERE standby
  UNION ALL SELECT pg_current_wal_flush_lsn(), pg_current_wal_flush_lsn() WHERE NOT standby
) AS at (applied, log_end)"""


class Prober:
    """A prober that asks one server over its own connection."""

    def __init__(self, node: Machine) -> None:
        self._words = connection_words(node)
        self._connection: Any = None

    async def ask(self, timeout: float) -> Mapping[str, Any]:
        clock = asyncio.get_running_loop().time
        late = clock() + timeout
        try:
            if self._connection is None:
                async with asyncio.timeout(timeout):
                    self._connection = await psycopg.AsyncConnection.connect(**self._words, autocommit=True)
            said = await finish(self._said(), self._connection, late - clock())
        except (psycopg.Error, TimeoutError) as error:
            await self.close()
            text = "" if clock() >= late else str(error).partition("\n")[0]
            raise OSError(text or "no answer in time") from None
        standby, timeline, log_end, applied = said
        return figures(standby=standby, timeline=timeline, log_end=log_end, applied=applied)

    async def _said(self) -> Any:
        return await (await self._connection.execute(_ASK)).fetchone()

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                await connection.close()


def figures(*, standby: bool, timeline: int, log_end: int | None, applied: int | None) -> dict[str, Any]:
    """Return the figures of a probe.  Only the primary knows what is committed: everything that it has on disk."""
    known = {"log_end": -1 if log_end is None else log_end, "applied": -1 if applied is None else applied}
    return {"role": "follower", "term": timeline, **known} if standby else {
        "role": "leader", "term": timeline, **known, "committed": known["log_end"]
    }  # fmt: skip
