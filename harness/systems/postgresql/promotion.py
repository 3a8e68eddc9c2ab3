"""Promotion of a standby when the primary is dead, as an operator does it.

1. All standbys stop receiving, so that nothing can arrive any more.  What a socket still holds is lost on all of them.
2. The standby whose log reaches furthest is promoted.  If commits wait for n standbys, each acknowledged commit is on n
   of them, and thus on this one.
3. The others look for the new primary.  None of their logs reaches further, so all can follow it.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any, Final

import psycopg

from harness.systems.api import Setup
from harness.systems.postgresql.server import connection_words, primary_words, servers

_STOP_S: Final = 10.0
_PROMOTE_S: Final = 30
_LOOK_AGAIN_S: Final = 0.05
_END: Final = "SELECT greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'"


def promote(setup: Setup, dead: str) -> str:
    """Promote a standby in place of the dead primary unless one leads already; return its node.

    Raises OSError if a standby does not answer: its log may be the longest.
    """
    names = [node.name for node in servers(setup) if node.name != dead]
    try:
        with ExitStack() as stack:
            standbys = {
                name: stack.enter_context(psycopg.connect(**connection_words(setup.node(name)), autocommit=True))
                for name in names
            }
            leading = [name for name, one in standbys.items() if not _ask(one, "SELECT pg_is_in_recovery()")]
            if not leading:
                for one in standbys.values():
                    _receive_from(one, "")
                for name, one in standbys.items():
                    _await_stopped(name, one)
                ends = {name: _ask(one, _END) for name, one in standbys.items()}
                leading = [max(names, key=lambda name: ends[name])]
                if not _ask(standbys[leading[0]], f"SELECT pg_promote(true, {_PROMOTE_S})"):
                    raise OSError(f"{leading[0]} did not lead within {_PROMOTE_S} s")
            for one in standbys.values():
                _receive_from(one, primary_words(setup))
            return leading[0]
    except psycopg.Error as error:
        raise OSError(str(error).partition("\n")[0]) from None


def _ask(connection: psycopg.Connection[Any], query: str) -> Any:
    row = connection.execute(query).fetchone()
    return row[0] if row else None


def _receive_from(connection: psycopg.Connection[Any], words: str) -> None:
    connection.execute(f"ALTER SYSTEM SET primary_conninfo = '{words}'")
    connection.execute("SELECT pg_reload_conf()")


def _await_stopped(name: str, connection: psycopg.Connection[Any]) -> None:
    late = time.monotonic() + _STOP_S
    while _ask(connection, "SELECT count(*) FROM pg_stat_wal_receiver"):
        if time.monotonic() > late:
            raise OSError(f"{name} still receives")
        time.sleep(_LOOK_AGAIN_S)
