"""Test a fault without machines: a context made of fakes, and a record of events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.testing.clock import FakeClock
from harness.testing.nodes import FakeNodes, FakeSystem
from history import Event
from nemesis.core.facts import Facts
from nemesis.core.fault import Context


class Recorder:
    """A record of a runner's events.  Set ``broken`` to simulate a full disk."""

    def __init__(self, clock: FakeClock, nodes: FakeNodes | None = None) -> None:
        self.clock = clock
        self.nodes = nodes
        self.events: list[Event] = []
        self.sent_before: list[int] = []
        self.broken = False

    def __call__(self, kind: Any, f: str, value: dict[str, Any], /) -> None:
        if self.broken:
            raise OSError(28, "No space left on device")
        self.events.append(Event(len(self.events), self.clock.now(), kind, "nemesis", f, value))
        self.sent_before.append(len(self.nodes.sent) if self.nodes else 0)


def facts(names: Iterable[str], nodes: FakeNodes, *can: str) -> Facts:
    """Return the facts about the nodes: their addresses, the usual abilities, and those in ``can``."""
    able = frozenset({"bash", "timeout", "can:nft", "can:iptables", "can:nft-loss", "can:iptables-rate", *can})
    return Facts({name: (nodes.address(name),) for name in names}, dict.fromkeys(names, able))


def world(n: int = 5, **quirks: Any) -> tuple[Context, FakeNodes, FakeSystem, FakeClock]:
    """Return a context for faults on ``n`` nodes, and its parts.

    ``quirks`` are the fields of the fake nodes, and ``stop_at`` of the clock.
    """
    clock = FakeClock(quirks.pop("stop_at", None))
    nodes = FakeNodes(tuple(f"n{i}" for i in range(1, n + 1)), clock=clock, **quirks)
    system = FakeSystem(nodes)
    return Context(nodes, system, clock, facts(nodes.names, nodes)), nodes, system, clock
