"""Nodes that answer as prepared."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from nemesis.core.fault import Context
from nemesis.core.ports import Command
from nemesis.faults.registry import find
from tests.support.nemesis.toy import ToyNodes, ToySystem, facts, world

TOOLS = ("xfs_io", "mount", "umount", "dd", "fallocate", "stat", "python3")


@dataclass
class Answering(ToyNodes):
    """Answers by script, the toy's way where no answer is given for it."""

    answers: dict[str, Callable[[str, Command], str]] = field(default_factory=dict)

    def _one(self, node, command):
        for script, answer in self.answers.items():
            if script in command.argv:
                return 0, answer(node, command), ""
        return super()._one(node, command)


def ready(name, answers):
    ctx, _, _, clock = world()
    nodes = Answering(ctx.nodes.names, clock=clock, answers=answers)
    ctx = Context(nodes, ToySystem(nodes), clock, facts(nodes.names, nodes, *TOOLS))
    return ctx, find(name), find(name).plan(ctx, random.Random(1))
