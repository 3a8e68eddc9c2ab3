from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from nemesis.catalogue import find
from nemesis.errors import FaultError
from nemesis.shaping import PROGRAM, Shape
from nemesis.view import Command, Completed
from tests.nemesis.toy import ToyNodes, facts, world


@dataclass
class Scripted(ToyNodes):
    """Answers every command by a function of node and argv."""

    answer: Callable[[str, Command], str] = lambda node, command: ""

    def run(self, commands):
        self.sent += commands.items()
        return {node: Completed(node, 0, self.answer(node, command), "", 0.0) for node, command in commands.items()}


def shaped(name, answer):
    ctx, *_ = world()
    nodes = Scripted(ctx.nodes.names, answer=answer)
    ctx = replace(ctx, nodes=nodes, facts=facts(nodes.names, nodes, "can:nfqueue", "python3"))
    return ctx, find(name), find(name).plan(ctx, random.Random(0))


def test_the_smaller_half_shapes_what_it_hears_from_the_larger():
    _, _, targets = shaped("packet-delay", lambda *_: "")
    assert len(targets.grudge) == 2
    assert {len(peers) for peers in targets.grudge.values()} == {3}
    assert targets.detail["delay_ms"] == 50


def test_the_helper_is_started_before_the_rules_and_stopped_after_them():
    ctx, fault, targets = shaped("packet-delay", lambda node, command: "gone")
    fault.inject(ctx, targets)
    fault.heal(ctx, targets)
    kinds = [command.argv[3] for node, command in ctx.nodes.sent if node == targets.nodes[0]]
    assert kinds == [PROGRAM, "harness-packet-delay", "harness-packet-delay", PROGRAM, "harness-packet-delay"]


def test_the_start_carries_all_figures_and_the_program():
    command = Shape(60, 50, 10, 0.25, 0.1).start(7)
    assert command.argv[3:] == (PROGRAM, "/run/harness-queue-60.ready", "60", "50", "10", "0.25", "0.1", "7")
    assert "NETLINK_NETFILTER" in command.stdin


@pytest.mark.parametrize(("trip", "stands"), [(51.0, True), (0.3, False), (20.0, False)])
def test_a_delay_is_proved_by_round_trips(trip, stands):
    ctx, fault, targets = shaped(
        "packet-delay", lambda node, command: "\n".join(f"{a} {trip}" for a in command.argv[4:] for _ in range(7))
    )
    if stands:
        assert set(fault.witness(ctx, targets)["round_trip_ms"].values()) == {51.0}
    else:
        with pytest.raises(FaultError, match="shorter than 36 ms"):
            fault.witness(ctx, targets)


@pytest.mark.parametrize(
    ("name", "seen", "stands"),
    [
        ("packet-reorder", "300 300 80", True),
        ("packet-reorder", "300 300 0", False),
        ("packet-reorder", "", False),
        ("packet-duplicate", "330 300 30", True),
        ("packet-duplicate", "300 300 0", False),
    ],
)
def test_order_and_copies_are_proved_by_numbered_datagrams(name, seen, stands):
    ctx, fault, targets = shaped(name, lambda node, command: seen)
    if stands:
        assert fault.witness(ctx, targets)["sent"] == 300
    else:
        with pytest.raises(FaultError):
            fault.witness(ctx, targets)


def test_without_queues_it_is_refused():
    assert "n1 lacks nfqueue, python3" in find("packet-delay").precheck(world()[0])
