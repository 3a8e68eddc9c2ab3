"""The register's client: prefers its node, can follow leader hints, never repeats what may have had an effect."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import cycle, islice
from typing import Final

from harness.clients.wire import NoAnswerError, Wire
from harness.systems.api import Setup
from harness.systems.dledger.objects import request_of
from harness.systems.dledger.outcomes import Reply, completion_of, completion_of_error
from harness.systems.dledger.status import CLIENT_PORT
from harness.workloads import Invocation

MAX_HOPS: Final = 3
#: Seconds for which a client avoids a node that did not answer.  Long enough not to hang on a paused node with every
#: operation, short enough to notice while a fault lasts that the node came back.
AVOID_S: Final = 2.0


class RegisterClient:
    """One worker's connection to the cluster, for one task at a time.

    ``follows="node"`` only asks the home node.  With ``"leader"``, and once everything was healed, an operation
    that provably had no effect at one node (the node answered before the append, or could not be reached) goes on
    to the leader that the node named.  An operation asks at most three nodes, all within one timeout.
    """

    def __init__(
        self,
        endpoints: Mapping[str, tuple[str, int]],
        home: str,
        *,
        follows: str,
        timeout: float,
        clock: Callable[[], float] = time.monotonic,
        read_mode: str = "log",
    ) -> None:
        self._wires = {node: Wire(host, port) for node, (host, port) in endpoints.items()}
        self.home = home
        self._read_mode = read_mode
        self._follows = follows
        self._timeout = timeout
        self._clock = clock
        self._leader: str | None = None
        self._avoid_until: dict[str, float] = {}

    async def open(self) -> None:
        """Do nothing: each connection is made when first needed."""

    async def perform(self, invocation: Invocation) -> Reply:
        """Perform one operation.  Never raises for anything that the system or the network does."""
        deadline = self._clock() + self._timeout
        follow = invocation.final or self._follows == "leader"
        tried: list[str] = []
        node = self._first_node() if follow else self.home
        while True:
            outcome = await self._ask(invocation, node, max(0.05, deadline - self._clock()))
            tried.append(node)
            onward = self._next_node(outcome, tried) if follow else None
            if onward is None or self._clock() >= deadline:
                return outcome
            node = onward

    async def close(self) -> None:
        for wire in self._wires.values():
            wire.close()

    def _first_node(self) -> str:
        if not self._avoided(self.home):
            return self.home
        if self._leader is not None and not self._avoided(self._leader):
            return self._leader
        return next((node for node in self._wires if not self._avoided(node)), self.home)

    def _next_node(self, outcome: Reply, tried: list[str]) -> str | None:
        if outcome.type != "fail" or len(tried) >= MAX_HOPS:
            return None
        if outcome.reached and not outcome.not_leader:
            return None
        candidates = [outcome.hint, self._leader]
        return next((node for node in candidates if node in self._wires and node not in tried), None)

    def _avoided(self, node: str) -> bool:
        return self._avoid_until.get(node, 0.0) > self._clock()

    async def _ask(self, invocation: Invocation, node: str, timeout: float) -> Reply:
        try:
            answer = await self._wires[node].ask(request_of(invocation, self._read_mode), timeout)
        except NoAnswerError as error:
            self._avoid_until[node] = self._clock() + AVOID_S
            self._leader = None if self._leader == node else self._leader
            return completion_of_error(invocation, error, node)
        outcome = completion_of(invocation, answer, node)
        if outcome.type == "ok":
            self._leader = node
        elif outcome.hint in self._wires:
            self._leader = outcome.hint
        return outcome


def clients(setup: Setup, number: int) -> list[RegisterClient]:
    """Make ``number`` clients, spread evenly over the nodes."""
    endpoints = {node.name: (node.address, CLIENT_PORT) for node in setup.nodes}
    follows, read_mode = str(setup.options["client_follows"]), str(setup.options["read_mode"])
    return [
        RegisterClient(endpoints, home, follows=follows, timeout=setup.client_timeout, read_mode=read_mode)
        for home in islice(cycle(endpoints), number)
    ]
