"""Brokers that only send heartbeats, each to every controller on its own connection, as long as clients are open.

In DLedger mode, each controller considers those brokers alive that send heartbeats to it.  If a connection ends, the
leader considers its broker dead and elects another master.  Connections therefore stay open, and no broker's timeout is
shorter than a run.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from harness.clients.wire import NoAnswerError
from harness.systems.api import Setup
from harness.systems.remoting import Connection
from harness.systems.rocketmq.controllers import NEVER_MS
from harness.systems.rocketmq.requests import HEARTBEAT, PORT, Broker, brokers_of

EVERY_S: Final = 1.0
#: Seconds to wait for an answer: longer than any fault, because giving up a heartbeat would end its connection.
PATIENCE_S: Final = 600.0


class Brokers:
    """All brokers of a run.  They belong to its event loop, and end when the last client is closed."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._users = 0
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        self._users += 1
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(beat(broker, (node.address, PORT)))
                for node in self._setup.nodes
                for broker in brokers_of(self._setup)
            ]

    async def close(self) -> None:
        self._users -= 1
        if self._users <= 0:
            tasks, self._tasks = self._tasks, []
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def beat(broker: Broker, address: tuple[str, int]) -> None:
    """Send a heartbeat every second until cancelled, and retry if the controller cannot be reached."""
    connection = Connection(address)
    try:
        while True:
            with suppress(NoAnswerError):
                await connection.ask(HEARTBEAT, ext=broker.heartbeat(NEVER_MS), timeout=PATIENCE_S)
            await asyncio.sleep(EVERY_S)
    finally:
        connection.close()
