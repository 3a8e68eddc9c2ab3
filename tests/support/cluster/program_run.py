"""A system of one file on real nodes: its clients at work while nodes are killed and links are cut."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

from harness.clusters.netns import NetnsCluster
from harness.remote.nodes import Remote
from harness.systems.api import Client, Prober, Setup
from harness.systems.deployment import Deployment, machines
from harness.systems.program.system import system_of
from harness.workloads import Invocation
from history import Event
from history.records.events import Type
from nemesis.core.ports import Command

WORKERS, KEYS, PAUSE_S = 5, 3, 0.2


class ProgramRun:
    """One deployment, and what its clients saw."""

    def __init__(self, file: Path, cluster: NetnsCluster, remote: Remote, **options: str) -> None:
        system = system_of(file)
        chosen = {**{option.name: option.default for option in system.options}, **options}
        self.setup = Setup(
            version=system.versions[0], options=chosen, nodes=machines(cluster.nodes), client_timeout=4.0
        )
        self.deployment = Deployment(system, self.setup, remote, time.monotonic)
        self.events: list[Event] = []
        self._began = time.monotonic_ns()
        self._stop = asyncio.Event()

    @property
    def names(self) -> tuple[str, ...]:
        return self.deployment.names

    def begin(self) -> None:
        """Everything anew: no data, no process of before."""
        self.deployment.kill(self.names)
        self.deployment.wipe()
        self.deployment.install()
        self.deployment.start(self.names)

    async def drive(self, faults: Sequence[Callable[[str], None]], stand_s: float) -> None:
        """Let the clients work while each fault in turn hits the leader, and stands for so long; then heal it."""
        clients, probers = self.deployment.clients(WORKERS), self.deployment.probers()
        values = count(1)
        for client in clients:
            await client.open()
        working = [asyncio.create_task(self._work(number, client, values)) for number, client in enumerate(clients)]
        try:
            for fault in faults:
                leader = await self._leader(probers)
                await asyncio.sleep(2)
                await asyncio.to_thread(fault, leader)
                await asyncio.sleep(stand_s)
                await asyncio.to_thread(self.heal)
            await self._leader(probers)
            await asyncio.sleep(2)
        finally:
            self._stop.set()
            await asyncio.gather(*working)
            for client in clients:
                await client.close()
            for prober in probers.values():
                await prober.close()

    def kill(self, node: str) -> None:
        self.deployment.kill([node])

    def cut(self, node: str) -> None:
        """Cut it and one other from the rest."""
        other = next(name for name in self.names if name != node)
        rest = [self.setup.node(name).address for name in self.names if name not in (node, other)]
        script = 'for peer; do iptables -w -A INPUT -s "$peer" -j DROP; done'
        for side in (node, other):
            self.deployment.shell(side).run(Command(("sh", "-c", script, "cut", *rest)))

    def heal(self) -> None:
        for name in self.names:
            self.deployment.shell(name).run(Command(("iptables", "-w", "-F", "INPUT")))
        self.deployment.start(self.names)

    async def _leader(self, probers: dict[str, Prober]) -> str:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            leaders = []
            for name, prober in probers.items():
                try:
                    said = await prober.ask(1.0)
                except (OSError, ValueError):
                    continue
                if said["role"] == "leader":
                    leaders.append((said["term"], name))
            if leaders:
                return max(leaders)[1]
            await asyncio.sleep(0.5)
        raise AssertionError("nobody leads")

    async def _work(self, worker: int, client: Client, values: count[int]) -> None:
        rng, process = random.Random(worker), worker
        while not self._stop.is_set():
            key = f"k{rng.randrange(KEYS)}"
            reads = rng.random() < 0.5
            invocation = Invocation("read", key) if reads else Invocation("write", key, next(values))
            self._record("invoke", process, invocation, invocation.value)
            outcome = await client.perform(invocation)
            self._record(outcome.type, process, invocation, outcome.value)
            process += WORKERS if outcome.type == "info" else 0
            await asyncio.sleep(PAUSE_S)

    def _record(self, type_: Type, process: int, invocation: Invocation, value: object) -> None:
        time_ns = time.monotonic_ns() - self._began
        self.events.append(Event(len(self.events), time_ns, type_, process, invocation.f, value, invocation.key))
