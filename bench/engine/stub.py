"""A server in a separate process that answers every request at once, and a client that asks it over TCP."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context

from harness.clients.wire import Wire
from harness.generators import Invocation
from harness.systems.law import Outcome

TIMEOUT_S = 10.0


class _Answers(asyncio.Protocol):
    """A protocol that answers ``{"id":7,…}`` with ``{"id":7,"value":1}``."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._rest = transport, b""

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._transport.write(b"".join(line.partition(b",")[0] + b',"value":1}\n' for line in lines))


async def _serve(listening: socket.socket) -> None:
    server = await asyncio.get_running_loop().create_server(_Answers, sock=listening)
    await server.serve_forever()


def _run(listening: socket.socket) -> None:
    asyncio.run(_serve(listening))


@contextmanager
def stub_server() -> Iterator[int]:
    """Yield the port of such a server, which ends with the context."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        process = get_context("fork").Process(target=_run, args=(listening,), daemon=True)
        process.start()
        try:
            yield listening.getsockname()[1]
        finally:
            process.kill()
            process.join()


class StubClient:
    """A client that asks the stub over its own connection, like the clients of systems that speak JSON lines."""

    home = "n1"

    def __init__(self, port: int) -> None:
        self._wire = Wire("127.0.0.1", port)

    async def perform(self, invocation: Invocation) -> Outcome:
        request = {"f": invocation.f, "key": invocation.key, "value": invocation.value}
        answer = await self._wire.ask(request, TIMEOUT_S)
        return Outcome("ok", answer["value"] if invocation.f == "read" else invocation.value, "n1")

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        self._wire.close()
