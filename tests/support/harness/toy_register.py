"""A register server without replication, in this process: one memory behind several ports on loopback.

It is linearizable by construction.  Tests can make it lose acknowledged writes, answers, or whole nodes.
"""

from __future__ import annotations

import asyncio
import json
import threading
from itertools import cycle, islice
from types import TracebackType
from typing import Any, Self

import pytest

from harness.execution import conductor, final_phase, interpreter, light_load, probes
from harness.systems.dledger.client import RegisterClient
from harness.systems.dledger.status import StatusProber

Answer = dict[str, Any]


def quicken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a whole run against a register in this process take a second."""
    monkeypatch.setattr(probes, "PERIOD_S", 0.02)
    for module in (conductor, interpreter, final_phase):
        monkeypatch.setattr(module, "LOOK_S", 0.02)
    monkeypatch.setattr(conductor, "HEAL_AGAIN_S", 0.02)
    monkeypatch.setattr(light_load, "RECOVERY_RATE", 100.0)
    monkeypatch.setattr(final_phase, "ASK_AGAIN_S", 0.02)
    monkeypatch.setattr(final_phase, "QUIET_S", 2.0)


class ToyRegister:
    """Nodes n1, n2, …, the first of which leads; each has a client port.

    ``deaf`` nodes take requests and never answer, ``stuck`` ones never apply more than one entry, and ``restless`` ones
    apply something all the time.  ``unapplied`` is how many reads are acknowledged without having been applied.
    ``silent_keys`` are never answered, nor are writes while the server is ``deaf_to_writes``.  Of every ``lose_every``
    writes, one loses its answer; of every ``forget_every``, one is acknowledged and forgotten (0: never).
    """

    def __init__(self, nodes: int = 3, *, lose_every: int = 0, forget_every: int = 0) -> None:
        self.names = tuple(f"n{number}" for number in range(1, nodes + 1))
        self.deaf: set[str] = set()
        self.stuck: set[str] = set()
        self.unapplied = 0
        self.silent_keys: set[str] = set()
        self.deaf_to_writes = self.restless = False
        self.lose_every, self.forget_every = lose_every, forget_every
        self.endpoints: dict[str, tuple[str, int]] = {}
        self._registers: dict[str, int] = {}
        self._entries = self._writes = 0
        self._serving = set[asyncio.Task[None]]()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="toy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(5)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    async def _listen(self) -> None:
        self._servers = {name: await self._server(name) for name in self.names}
        self.endpoints = {name: server.sockets[0].getsockname() for name, server in self._servers.items()}

    def clients(self, number: int, timeout: float) -> list[RegisterClient]:
        """Return clients like those of the real servers, each at its own node."""
        homes = islice(cycle(self.endpoints), number)
        return [RegisterClient(self.endpoints, home, follows="leader", timeout=timeout) for home in homes]

    def probers(self) -> dict[str, StatusProber]:
        return {name: StatusProber(host, port) for name, (host, port) in self.endpoints.items()}

    async def _server(self, name: str) -> asyncio.Server:
        return await asyncio.start_server(lambda reader, writer: self._serve(name, reader, writer), "127.0.0.1", 0)

    async def _end(self) -> None:
        for server in self._servers.values():
            server.close()
        # A connection that is just being accepted belongs to a task of asyncio's, which loses it when it is cancelled.
        while asyncio.all_tasks() - {asyncio.current_task()} - self._serving:
            await asyncio.sleep(0)
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.current_task()
        assert serving is not None
        self._serving.add(serving)
        try:
            while line := await reader.readline():
                request = json.loads(line)
                if name in self.deaf or self._is_silent(request):
                    continue
                answer = self._answer(name, request)
                if answer is None:
                    break
                writer.write(json.dumps({"id": request["id"], **answer}).encode() + b"\n")
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    def _answer(self, name: str, request: dict[str, Any]) -> Answer | None:
        if request["op"] == "status":
            return self._status(name)
        if name != self.names[0]:
            error = {"code": 404, "name": "NOT_LEADER", "stage": "before-append", "message": ""}
            return {"ok": False, **error, "leader": self.names[0]}
        self._entries += 1
        return getattr(self, f"_{request['op']}")(request)

    def _is_silent(self, request: dict[str, Any]) -> bool:
        return request.get("key") in self.silent_keys or (self.deaf_to_writes and request["op"] == "write")

    def forget(self) -> None:
        """Lose everything that was ever written."""
        self._registers.clear()

    def _read(self, request: dict[str, Any]) -> Answer:
        if self.unapplied > 0:
            self.unapplied -= 1
            return {"ok": True, "applied": False, "value": self._registers.get(request["key"])}
        return {"ok": True, "applied": True, "value": self._registers.get(request["key"])}

    def _write(self, request: dict[str, Any]) -> Answer | None:
        self._writes += 1
        if not self._now(self.forget_every):
            self._registers[request["key"]] = request["value"]
        return None if self._now(self.lose_every) else {"ok": True, "applied": True}

    def _cas(self, request: dict[str, Any]) -> Answer:
        swapped = self._registers.get(request["key"]) == request["old"]
        if swapped:
            self._registers[request["key"]] = request["new"]
        return {"ok": True, "applied": True, "swapped": swapped}

    def _now(self, every: int) -> bool:
        return bool(every) and self._writes % every == 0

    def _status(self, name: str) -> Answer:
        self._entries += self.restless
        role = "leader" if name == self.names[0] else "follower"
        applied = 0 if name in self.stuck else self._entries
        return {"ok": True, "role": role, "term": 1, "leader": self.names[0], "committed": self._entries,
                "applied": applied, "ledgerBegin": 0, "ledgerEnd": self._entries, "clockMs": 1}  # fmt: skip
