"""Nodes whose clocks tests can set wrong."""

from __future__ import annotations

from dataclasses import replace

from harness.testing import FakeClock, FakeNodes, FakeSystem, facts, world
from history import Probe
from nemesis.core.fault import Settings
from nemesis.core.ports import Completed

LIBRARY = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"


class Clocked(FakeNodes):
    """Keeps the offset file of every node; a sequence of several offsets stays at its last."""

    def run(self, commands):
        done = {}
        for node, command in commands.items():
            self.sent.append((node, command))
            if command.argv[3] == "/run/harness-clock":
                words = command.argv[4:]
                self.states[node, 0] = words[-1] if words and not self.deaf_rules else "+0"
            done[node] = Completed(node, 0, "", "", 0.0)
        return done

    def offset(self, node):
        return float(self.states.get((node, 0), "0"))


class Telling(FakeSystem):
    """A system whose nodes' clocks differ by a second each without any fault."""

    nodes: Clocked

    def probes(self):
        assert self.nodes.clock is not None
        now = self.nodes.clock.now()
        return {
            name: Probe(
                now, name, "follower", 1, clock_ms=int(1.7e12 + now / 1e6 + 1000 * (place + self.nodes.offset(name)))
            )
            for place, name in enumerate(self.nodes.names)
        }


def clocked(**quirks):
    ctx, *_ = world()
    clock = FakeClock()
    nodes = Clocked(ctx.nodes.names, clock=clock, **quirks)
    system = Telling(nodes)
    able = facts(nodes.names, nodes, f"faketime:{LIBRARY}")
    return replace(ctx, nodes=nodes, system=system, clock=clock, facts=able, settings=Settings(faketime=True))
