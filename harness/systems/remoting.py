"""RocketMQ's remoting protocol, which DLedger speaks too: frames with a JSON header, blocking and asynchronous.

A frame is a length (4 bytes, big endian, of all that follows), the header's length with the serialization in the top
byte (0: JSON), the header, and the body.  An answer has the ``opaque`` of its request.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from harness.clients.wire import LostError, NotSentError

#: The library's own limit, of netty's decoder.
LARGEST_FRAME: Final = 16 << 20

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: its code, the texts in its header, and its body."""

    code: int
    remark: str
    ext: Mapping[str, str]
    body: bytes
    opaque: int

    def json(self) -> Any:
        """The body as JSON, None without one.  Raises ValueError when it is none."""
        return json.loads(self.body or b"null")


def frame(code: int, body: object = None, opaque: int = 1, ext: Mapping[str, object] | None = None) -> bytes:
    """One request; what is in ``ext`` travels as text."""
    header: dict[str, object] = {"code": code}
    if ext is not None:
        header["extFields"] = {name: _text(value) for name, value in ext.items()}
    header |= {"flag": 0, "language": "PYTHON", "opaque": opaque, "serializeTypeCurrentRPC": "JSON", "version": 0}
    packed = _json(header)
    rest = struct.pack(">I", len(packed)) + packed + (b"" if body is None else _json(body))
    return struct.pack(">I", len(rest)) + rest


def parse(rest: bytes) -> Answer:
    """The answer in a frame without its length.  Raises ValueError when it is malformed."""
    if len(rest) < 4:
        raise ValueError(f"a frame of {len(rest)} bytes")
    length = struct.unpack(">I", rest[:4])[0] & 0xFFFFFF
    header = json.loads(rest[4 : 4 + length])
    if not isinstance(header, dict) or type(header.get("code")) is not int:
        raise ValueError(f"a header without a code: {header!r}"[:200])
    ext = header.get("extFields") or {}
    return Answer(header["code"], str(header.get("remark") or ""), ext, rest[4 + length :], header.get("opaque", -1))


def ask(
    address: Address, code: int, body: object = None, ext: Mapping[str, object] | None = None, timeout: float = 3.0
) -> Answer:
    """Ask on a connection of its own.  Raises OSError (a timeout too) without an answer, ValueError for a bad one."""
    deadline = time.monotonic() + timeout
    with socket.create_connection(address, timeout=timeout) as connection:
        connection.sendall(frame(code, body, ext=ext))
        length = _checked(_exactly(connection, 4, deadline))
        return parse(_exactly(connection, length, deadline))


class Connection:
    """A lazily made connection.  One request at a time."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._opaque = 0

    async def ask(
        self, code: int, body: object = None, ext: Mapping[str, object] | None = None, *, timeout: float
    ) -> Answer:
        """Send one request and wait for its answer, ``timeout`` seconds in all.

        Raises NotSentError or LostError; after either the connection is closed and the next call makes a new one.
        """
        deadline = asyncio.get_running_loop().time() + timeout
        reader, writer = await self._connected(timeout)
        self._opaque += 1
        try:
            async with asyncio.timeout_at(deadline):
                writer.write(frame(code, body, self._opaque, ext))
                await writer.drain()
                while True:
                    answer = parse(await reader.readexactly(_checked(await reader.readexactly(4))))
                    if answer.opaque == self._opaque:
                        return answer
        except TimeoutError:
            self.close()
            raise LostError(f"no answer within {timeout:g} s") from None
        except (OSError, EOFError, ValueError) as error:
            self.close()
            raise LostError(f"connection lost: {error or type(error).__name__}") from None
        except BaseException:
            self.close()
            raise

    async def _connected(self, timeout: float) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is not None and (self._streams[0].at_eof() or self._streams[1].is_closing()):
            self.close()
        if self._streams is None:
            try:
                async with asyncio.timeout(timeout):
                    self._streams = await asyncio.open_connection(*self._address)
            except TimeoutError:
                raise NotSentError(f"no connection within {timeout:g} s") from None
            except OSError as error:
                raise NotSentError(f"no connection: {error.strerror or error}") from None
        return self._streams

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


def _checked(packed: bytes) -> int:
    (length,) = struct.unpack(">I", packed)
    if not 4 <= length <= LARGEST_FRAME:
        raise ValueError(f"a frame of {length} bytes")
    return int(length)


def _exactly(connection: socket.socket, count: int, deadline: float) -> bytes:
    data = b""
    while len(data) < count:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        if not (more := connection.recv(count - len(data))):
            raise ConnectionResetError("closed without an answer")
        data += more
    return data


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
