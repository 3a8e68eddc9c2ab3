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

#: A starting standby receives the last log segment again, so its log ends at least where its replay does.  The
#: timeline of a standby is the last one that it saved; the primary's is in the name of the file that it writes.  If
#: commits wait for n standbys, the primary's state that clients see reaches as far as the logs of n standbys.
_ASK: Final = """SELECT standby, timeline, (log_end - '0/0')::bigint, (applied - '0/0')::bigint
FROM pg_is_in_recovery() AS standby, LATERAL (
  SELECT greatest(timeline_id, min_recovery_end_timeline), pg_last_wal_replay_lsn(),
    greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())
  FROM pg_control_checkpoint(), pg_control_recovery() WHERE standby
  UNION ALL SELECT ('x' || left(pg_walfile_name(at), 8))::bit(32)::int,
    CASE WHEN %(wait_for)s = 0 THEN at ELSE (
      SELECT least(at, flush_lsn) FROM pg_stat_replication WHERE sync_state = 'quorum' AND flush_lsn IS NOT NULL
      ORDER BY flush_lsn DESC OFFSET %(wait_for)s - 1 LIMIT 1
    ) END, at
  FROM pg_current_wal_flush_lsn() AS at WHERE NOT standby
) AS seen (timeline, applied, log_end)"""


class Prober:
    """A prober that asks one server over its own connection."""

    def __init__(self, node: Machine, wait_for: int = 0) -> None:
        """Create a prober of a node's server, whose commits wait for this many standbys."""
        self._words, self._wait_for = connection_words(node), wait_for
        self._connection: Any = None

    async def ask(self, timeout: float) -> Mapping[str, Any]:
        clock = asyncio.get_running_loop().time
        late = clock() + timeout
        try:
            if self._connection is None:
                async with asyncio.timeout(timeout):
                    self._connection = await psycopg.AsyncConnection.connect(**self._words, autocommit=True)
            answer = await finish(self._said(), self._connection, late - clock())
        except (psycopg.Error, TimeoutError) as error:
            await self.close()
            text = "" if clock() >= late else str(error).partition("\n")[0]
            raise OSError(text or "no answer in time") from None
        standby, timeline, log_end, applied = answer
        return figures(standby=standby, timeline=timeline, log_end=log_end, applied=applied)

    async def _said(self) -> Any:
        return await (await self._connection.execute(_ASK, {"wait_for": self._wait_for})).fetchone()

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                await connection.close()


def figures(*, standby: bool, timeline: int, log_end: int | None, applied: int | None) -> dict[str, Any]:
    """Return the figures of a probe.

    What a server has applied is also committed: on the primary that is what its clients see, and on a standby what it
    has on disk, which survives a promotion, because the standby with the longest log is promoted.
    """
    known = {} if applied is None else {"applied": applied, "committed": applied}
    role = "follower" if standby else "leader"
    return {"role": role, "term": timeline, "log_end": -1 if log_end is None else log_end, **known}
