"""A fault on nodes with prepared answers."""

from __future__ import annotations

import random

from harness.testing import FakeNodes, FakeSystem, facts, world
from nemesis.core.fault import Context
from nemesis.faults.registry import find

TOOLS = ("xfs_io", "mount", "umount", "dd", "fallocate", "stat", "python3")


def ready(name, answers):
    ctx, _, _, clock = world()
    nodes = FakeNodes(ctx.nodes.names, clock=clock, answers=answers)
    ctx = Context(nodes, FakeSystem(nodes), clock, facts(nodes.names, nodes, *TOOLS))
    return ctx, find(name), find(name).plan(ctx, random.Random(1))
