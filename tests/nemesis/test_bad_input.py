"""What turns out to be impossible only when it is tried: skipped, with the reason, and nothing touched."""

from __future__ import annotations

import random
import threading

import pytest

from harness.testing import Recorder, world
from history import receipts_of
from nemesis.core.fault import LINK_FAMILIES
from nemesis.faults.registry import FAULTS, find
from nemesis.schedule.runner import Runner
from nemesis.schedule.steps import Step


def outcome(steps, n=5, **quirks):
    """(receipts, commands that were sent) of a schedule in the toy world."""
    ctx, nodes, system, clock = world(n)
    for node in quirks.get("down", ()):
        nodes.states[node, system.last[node]] = ""
    if quirks.get("no_leader"):
        system.leader = None
    record = Recorder(clock, nodes)
    Runner(ctx, steps, record, random.Random(0)).run(threading.Event())
    return receipts_of(record.events), nodes.sent


def aimed(fault, words, at=0.0, number=0):
    return Step(at, "inject", fault, number, {"choose": words})


@pytest.mark.parametrize(
    ("steps", "quirks", "reason"),
    [
        ([aimed("hammer-time", "n2")], {"down": ("n2",)}, "n2 is down already"),
        ([aimed("hammer-time", "n9")], {}, "no node is called 'n9'"),
        ([aimed("hammer-time", "n1/!n1")], {}, "n1/!n1 matches no node at this moment"),
        ([aimed("partition-random-node", "all")], {}, "no link would be cut"),
        ([aimed("kill-random-processes", "all")], {}, "would leave 0 of 5 nodes up; 3 are needed"),
        ([aimed("leader-transfer", "n1")], {}, "n1 leads already"),
        ([Step(0, "inject", "kill-leader", 0)], {"no_leader": True}, "no node claims to lead"),
        ([Step(0, "inject", "bridge", 0, None, "n5 leads", 4.0)], {}, "condition not met within 4 s: n5 leads"),
    ],
)
def test_it_is_skipped_and_says_why(steps, quirks, reason):
    (receipt,), sent = outcome(steps, **quirks)
    assert (receipt.state, receipt.reason) == ("skipped", reason)
    assert receipt.healed is None
    assert not sent


def test_a_second_fault_on_a_locked_node_is_skipped_and_the_first_stands():
    (first, second), _ = outcome([aimed("hammer-time", "n2"), aimed("kill-random-processes", "n2", 1.0, 1)])
    assert first.state == "installed"
    assert (second.state, second.reason) == ("skipped", "n2 is under another fault")


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.family in LINK_FAMILIES])
def test_a_partition_of_one_node_is_refused(name):
    ctx, *_ = world(1)
    why = find(name).precheck(ctx)
    assert why is not None
    assert "needs at least" in why
