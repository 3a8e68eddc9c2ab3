"""Statements with a time limit.

To cancel a statement, psycopg asks the server and waits about ten seconds for its answer. So the connection is cut
instead.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import psycopg

T = TypeVar("T")


async def finish(work: Coroutine[Any, Any, T], connection: psycopg.AsyncConnection[Any], seconds: float) -> T:
    """Return what ``work`` on a connection returns.  After ``seconds`` the connection is cut, which ends the work."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            _cut(connection)
            await asyncio.wait({task})
    return task.result()


def _cut(connection: psycopg.AsyncConnection[Any]) -> None:
    """Shut the connection's socket down, so that a statement that waits for an answer fails at once."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)
