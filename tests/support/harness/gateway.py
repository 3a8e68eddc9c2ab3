"""A gateway in this process: one ledger cluster in memory, whose answers a test can replace."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from harness.systems import Machine, Setup
from harness.systems.bookkeeper import processes
from harness.systems.bookkeeper.options import OPTIONS

#: Of this process alone, so that test processes that run side by side do not meet at the port.
ADDRESS = f"127.{1 + os.getpid() // 65536 % 250}.{os.getpid() // 256 % 256}.{1 + os.getpid() % 254}"


def setup_of(
    version: str = "4.17.3", nodes: int = 5, planted_bug: str = "", timeout: float = 2.0, **options: Any
) -> Setup:
    """Return the default options with a test's changes; the nodes' addresses are from the documentation range."""
    chosen = {option.name: option.default for option in OPTIONS} | options
    machines = tuple(Machine(f"n{number}", f"192.0.2.{number}") for number in range(1, nodes + 1))
    return Setup(version=version, options=chosen, planted_bug=planted_bug, nodes=machines, client_timeout=timeout)


class Gateway:
    """Serves :data:`ADDRESS` at the gateways' port. ``replies`` replace its own answers, by their op."""

    def __init__(self) -> None:
        self.entries: list[int] = []
        self.asked: list[dict[str, Any]] = []
        self.replies: dict[str, Mapping[str, Any] | None] = {}
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, ADDRESS, processes.GATEWAY_PORT)

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.transport.abort()
        await asyncio.sleep(0)
        self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        while line := await _line(reader):
            request = json.loads(line)
            self.asked.append(request)
            reply = self.replies.get(request["op"], {})
            if reply is None:
                continue  # silence
            own: Callable[[dict[str, Any]], Any] = getattr(self, request["op"])
            answer = {"id": request["id"], **(reply or {"ok": True, "value": own(request)})}
            writer.write(json.dumps(answer).encode() + b"\n")
        writer.close()
        self._open.discard(writer)

    def status(self, _request: dict[str, Any]) -> Any:
        return {"pid": 1, "handles": 0, "writable_bookies": 4}

    def create(self, _request: dict[str, Any]) -> Any:
        return {"handle": 100, "ledger": 7, "last": -1, "length": 0}

    def add(self, request: dict[str, Any]) -> Any:
        begin = len(self.entries)
        self.entries += range(request["first"], request["first"] + request["count"])
        return {"ids": list(range(begin, len(self.entries))), "codes": {}, "sealed": False}

    def openRecover(self, request: dict[str, Any]) -> Any:  # noqa: N802 (the wire's name)
        return {"handle": 101, "ledger": request["ledger"], "last": len(self.entries) - 1, "length": self._length}

    openNoRecover = openRecover  # noqa: N815 (the wire's name)

    def readLAC(self, _request: dict[str, Any]) -> Any:  # noqa: N802 (the wire's name)
        return {"lac": len(self.entries) - 1}

    def read(self, request: dict[str, Any]) -> Any:
        entries = self.entries[request["first"] : request["last"] + 1]
        return {"entries": entries, "bytes": 10 * len(entries)}

    def metadata(self, _request: dict[str, Any]) -> Any:
        return {"state": "CLOSED", "last": len(self.entries) - 1, "length": self._length}

    def close(self, _request: dict[str, Any]) -> Any:
        return {"last": len(self.entries) - 1, "length": self._length}

    @property
    def _length(self) -> int:
        return 10 * len(self.entries)


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ConnectionError:
        return b""
