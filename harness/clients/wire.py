"""Connections to servers, opened when first needed, and newline-delimited JSON whose answers are matched by id.

The errors distinguish what is known about a request that got no answer.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, TypeVar

from history.json_object import load_object

Answer = TypeVar("Answer")


class NoAnswerError(ConnectionError):
    """No answer came.  ``case`` names the rule that applies in every law of outcomes (``harness.systems.law``)."""

    case: ClassVar[str]


class NotSentError(NoAnswerError):
    """The request certainly never left this machine, because no connection could be made."""

    case = "not-sent"


class LostError(NoAnswerError):
    """The request was handed to the network, but no answer came: it may have taken effect."""

    case = "lost"


class Link:
    """A connection that is opened when first needed, for one exchange at a time; different links are independent."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def ended(self) -> bool:
        """Whether the server is known to have ended the connection."""
        # After a reset, the reader has an exception but no end of file, so only the writer shows it.
        return self._streams is not None and (self._streams[0].at_eof() or self._streams[1].is_closing())

    async def exchange(
        self, request: bytes, read_answer: Callable[[asyncio.StreamReader], Awaitable[Answer]], timeout: float
    ) -> Answer:
        """Send a request and read its answer, within ``timeout`` seconds in all.

        Raises NotSentError or LostError.  Either closes the connection, and the next call makes a new one.
        """
        deadline = asyncio.get_running_loop().time() + timeout
        reader, writer = await self._connected(timeout)
        try:
            async with asyncio.timeout_at(deadline):
                writer.write(request)
                await writer.drain()
                return await read_answer(reader)
        except TimeoutError:
            self.close()
            raise LostError(f"no answer within {timeout:g} s") from None
        except (OSError, EOFError, ValueError, RecursionError) as error:
            self.close()
            raise LostError(f"connection lost: {error or type(error).__name__}") from None
        except BaseException:
            self.close()
            raise

    async def _connected(self, timeout: float) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.ended:
            self.close()
        if self._streams is None:
            try:
                async with asyncio.timeout(timeout):
                    self._streams = await asyncio.open_connection(self._host, self._port, limit=1 << 20)
            except TimeoutError:
                raise NotSentError(f"no connection within {timeout:g} s") from None
            except OSError as error:
                raise NotSentError(f"no connection: {error.strerror or error}") from None
        return self._streams

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


class Wire(Link):
    """A connection on which each request is one line of JSON and each answer has the id of its request."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self._id = 0

    async def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Send one request and wait for its answer.  Raises the errors of :meth:`Link.exchange`."""
        self._id += 1
        line = json.dumps({"id": self._id, **request}, separators=(",", ":")).encode() + b"\n"
        return await self.exchange(line, self._answer, timeout)

    async def _answer(self, reader: asyncio.StreamReader) -> dict[str, Any]:
        while True:
            line = await reader.readline()
            if not line.endswith(b"\n"):
                raise EOFError("closed by the server")
            answer = json.loads(line)
            if isinstance(answer, dict) and answer.get("id") == self._id:
                return answer


class BlockingWire:
    """A client that sends each request as one line of JSON on a new connection, and blocks until the answer comes."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)

    def ask(self, request: dict[str, Any], timeout: float = 1.0) -> dict[str, Any]:
        """Send the request and return the answer.

        Raises OSError if there is none (also after a timeout), and ValueError if it is not valid.
        """
        deadline = time.monotonic() + timeout
        with socket.create_connection(self._address, timeout=timeout) as connection:
            connection.sendall(json.dumps({"id": 1, **request}).encode() + b"\n")
            buffer = b""
            while not buffer.endswith(b"\n"):
                connection.settimeout(max(0.001, deadline - time.monotonic()))
                if not (more := connection.recv(65536)):
                    raise ConnectionResetError("connection closed without an answer")
                buffer += more
        return load_object(buffer)
