"""Brokers that only beat: to every controller, each on a connection of its own, for as long as clients are open.

In DLedger mode each controller takes for alive what beats to itself.  A connection that ends is a broker that ended,
and its leader elects another master then: so connections stay, and no broker waits less than a run takes.
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
#: Longer than any fault: a beat that is not answered is not given up, since that would end its connection.
PATIENCE_S: Final = 600.0


class Brokers:
    """All brokers of a run; they belong to its event loop, and end with the last client that is closed."""

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
    """Beat once a second until cancelled; what cannot be reached is tried again."""
    connection = Connection(address)
    try:
        while True:
            with suppress(NoAnswerError):
                await connection.ask(HEARTBEAT, ext=broker.heartbeat(NEVER_MS), timeout=PATIENCE_S)
            await asyncio.sleep(EVERY_S)
    finally:
        connection.close()
