"""A line server on loopback that follows a script, for tests of clients."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

Request = dict[str, Any]
Script = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


class ToyServer:
    """Calls its script for every line that arrives, keeps the requests and counts the connections."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.requests: list[Request] = []
        self.connections = 0
        self.host, self.port = "127.0.0.1", 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while line := await reader.readline():
                request = json.loads(line)
                self.requests.append(request)
                await self._script(request, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(script: Script) -> AsyncIterator[ToyServer]:
    toy = ToyServer(script)
    server = await asyncio.start_server(toy.serve, toy.host, 0, limit=1 << 21)
    toy.port = server.sockets[0].getsockname()[1]
    try:
        yield toy
    finally:
        server.close()


def send(writer: asyncio.StreamWriter, *answers: object) -> None:
    """Send each answer as one line of JSON; send bytes unchanged."""
    writer.write(b"".join(a if isinstance(a, bytes) else json.dumps(a).encode() + b"\n" for a in answers))


def closed_port() -> int:
    """Return a port on loopback on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
