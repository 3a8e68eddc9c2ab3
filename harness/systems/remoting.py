"""RocketMQ's remoting protocol, which DLedger also uses: frames with a JSON header, blocking and asynchronous.

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

from harness.clients.wire import Link

#: The limit that the library sets for netty's decoder, in bytes.
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

    def __str__(self) -> str:
        return f"{self.code}: {self.remark}"[:200]

    def json(self) -> Any:
        """Return the body as JSON, or None if it is empty.  Raises ValueError if it is not JSON."""
        return json.loads(self.body or b"null")


def frame(code: int, body: object = None, opaque: int = 1, ext: Mapping[str, object] | None = None) -> bytes:
    """Return one request as bytes.  Values in ``ext`` are sent as text, and a body as JSON unless it is bytes."""
    header: dict[str, object] = {"code": code}
    if ext is not None:
        header["extFields"] = {name: _text(value) for name, value in ext.items()}
    header |= {"flag": 0, "language": "PYTHON", "opaque": opaque, "serializeTypeCurrentRPC": "JSON", "version": 0}
    packed = _json(header)
    content = b"" if body is None else body if isinstance(body, bytes) else _json(body)
    rest = struct.pack(">I", len(packed)) + packed + content
    return struct.pack(">I", len(rest)) + rest


def parse(rest: bytes) -> Answer:
    """Return the answer in a frame without its length.  Raises ValueError if it is malformed."""
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
    """Send one request on a new connection and return the answer.

    Raises OSError without an answer (also for a timeout), ValueError for a malformed one.
    """
    deadline = time.monotonic() + timeout
    with socket.create_connection(address, timeout=timeout) as connection:
        connection.sendall(frame(code, body, ext=ext))
        length = _checked(_exactly(connection, 4, deadline))
        return parse(_exactly(connection, length, deadline))


class Connection(Link):
    """A connection for RocketMQ's frames that is made when first needed."""

    def __init__(self, address: Address) -> None:
        super().__init__(*address)
        self._opaque = 0

    async def ask(
        self, code: int, body: object = None, ext: Mapping[str, object] | None = None, *, timeout: float
    ) -> Answer:
        """Send one request and wait for its answer.  Raises the errors of :meth:`Link.exchange`."""
        self._opaque += 1
        return await self.exchange(frame(code, body, self._opaque, ext), self._answer, timeout)

    async def _answer(self, reader: asyncio.StreamReader) -> Answer:
        while True:
            answer = parse(await reader.readexactly(_checked(await reader.readexactly(4))))
            if answer.opaque == self._opaque:
                return answer


def left(deadline: float) -> float:
    """Return the time (s) until a deadline, but at least enough to see an answer that is already there."""
    return max(0.05, deadline - time.monotonic())


def _checked(packed: bytes) -> int:
    (length,) = struct.unpack(">I", packed)
    if not 4 <= length <= LARGEST_FRAME:
        raise ValueError(f"a frame of {length} bytes; expected 4 to {LARGEST_FRAME}")
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
