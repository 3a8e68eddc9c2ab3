"""One connection to a server's client port: newline-delimited JSON, answered by request id."""

from __future__ import annotations

import asyncio
import json
from typing import Any


class NotSentError(Exception):
    """The request certainly never left this machine: the connection was refused or could not be made."""


class LostError(Exception):
    """The request was handed to the network and no answer came: it may have had its effect."""


class Wire:
    """A lazily made connection.  One request at a time; requests of different wires are independent."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._id = 0

    @property
    def ended(self) -> bool:
        """Whether the server is known to have ended the connection."""
        # After a reset the reader holds an exception and never an end of file: only the writer shows it.
        return self._streams is not None and (self._streams[0].at_eof() or self._streams[1].is_closing())

    async def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Send one request and wait for its answer, ``timeout`` seconds in all.

        Raises NotSentError or LostError; after either the connection is closed and the next call makes a new one.
        """
        deadline = asyncio.get_running_loop().time() + timeout
        reader, writer = await self._connected(timeout)
        self._id += 1
        line = json.dumps({"id": self._id, **request}, separators=(",", ":")).encode() + b"\n"
        try:
            async with asyncio.timeout_at(deadline):
                writer.write(line)
                await writer.drain()
                return await self._answer(reader, self._id)
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

    @staticmethod
    async def _answer(reader: asyncio.StreamReader, request_id: int) -> dict[str, Any]:
        while True:
            line = await reader.readline()
            if not line.endswith(b"\n"):
                raise EOFError("closed by the server")
            answer = json.loads(line)
            if isinstance(answer, dict) and answer.get("id") == request_id:
                return answer

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None
