"""A controller or broker made of a socket: it answers RocketMQ's requests as the test specifies, and remembers them."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
#: No answer: the connection stays open, or ends.
SILENCE, HANG_UP = object(), object()


def answer(
    code: int, ext: Mapping[str, str] | None = None, body: str | bytes = "", remark: str = ""
) -> tuple[Any, ...]:
    return code, dict(ext or {}), body, remark


@dataclass
class ControllerSocket:
    """The answers to each request code, in order; the last one is repeated."""

    answers: dict[int, Sequence[Any]]
    asked: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    connections: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                (length,) = struct.unpack(">I", await reader.readexactly(4))
                rest = await reader.readexactly(length)
                header_length = struct.unpack(">I", rest[:4])[0] & 0xFFFFFF
                header = json.loads(rest[4 : 4 + header_length])
                self.asked.append((header["code"], header.get("extFields", {}), rest[4 + header_length :]))
                waiting = list(self.answers.get(header["code"], [SILENCE]))
                given = waiting.pop(0)
                if waiting:
                    self.answers[header["code"]] = waiting
                if given is HANG_UP:
                    return
                if given is not SILENCE:
                    writer.write(packed(given, header["opaque"]))
        except asyncio.IncompleteReadError:
            pass

    def codes(self) -> list[int]:
        return [code for code, *_ in self.asked]


@asynccontextmanager
async def listening(serve: Serve, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[tuple[str, int]]:
    """Serve connections; at the end, wait for those that clients have closed."""
    handlers: list[asyncio.Task[Any] | None] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handlers.append(asyncio.current_task())
        try:
            await serve(reader, writer)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    server = await asyncio.start_server(handle, host, port)
    try:
        yield server.sockets[0].getsockname()
    finally:
        server.close()
        await asyncio.gather(*(one for one in handlers if one is not None), return_exceptions=True)


def packed(given: tuple[Any, ...], opaque: int) -> bytes:
    code, ext, body, remark = given
    header = json.dumps({"code": code, "flag": 1, "opaque": opaque, "remark": remark, "extFields": ext}).encode()
    content = body if isinstance(body, bytes) else body.encode()
    return struct.pack(">II", 4 + len(header) + len(content), len(header)) + header + content
