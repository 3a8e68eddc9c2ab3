from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from harness.testing import FakeClock, FakeNodes, facts, world
from nemesis.core.errors import FaultError, SkippedError
from nemesis.core.fault import Targets
from nemesis.core.guard import objection
from nemesis.core.ports import Command, Completed
from nemesis.faults.delay import COUNTS, PROGRAM, Shape
from nemesis.faults.registry import find


@dataclass
class Scripted(FakeNodes):
    """Answers every command by a function of node and argv."""

    answer: Callable[[str, Command], str] = lambda node, command: ""

    def run(self, commands):
        self.sent += commands.items()
        return {node: Completed(node, 0, self.answer(node, command), "", 0.0) for node, command in commands.items()}


def answering(measured, *, system=5, counts=None):
    """The rules have seen packets of the system, the helper has treated some, and measurements are as given."""
    reported = json.dumps(counts or {"seen": 9, "overtook": 3, "doubled": 2})

    def answer(node, command):
        argv = command.argv
        if "counters" in argv[2] or '-nvxL "$0"' in argv[2]:
            return f"  {system}  99  tcp  --  *  *  10.0.0.1  0.0.0.0/0  tcp dpt:20911 /* before n1 */\n"
        if argv[2] == COUNTS:
            return reported
        return measured(command) if argv[0] == "python3" else "gone"

    return answer


def shaped(name, answer=lambda *_: ""):
    ctx, *_ = world()
    nodes = Scripted(ctx.nodes.names, answer=answer)
    ctx = replace(ctx, clock=FakeClock(), nodes=nodes, facts=facts(nodes.names, nodes, "can:nfqueue", "python3"))
    return ctx, find(name), find(name).plan(ctx, random.Random(0))


def trips(milliseconds):
    return lambda command: "\n".join(f"{a} {milliseconds}" for a in command.argv[4:] for _ in range(7))


def test_the_smaller_half_shapes_what_it_hears_from_the_larger():
    _, _, targets = shaped("packet-delay")
    assert len(targets.grudge) == 2
    assert {len(peers) for peers in targets.grudge.values()} == {3}
    assert targets.detail["delay_ms"] == 50


def test_the_helper_is_started_before_the_rules_and_stopped_after_them():
    ctx, fault, targets = shaped("packet-delay", lambda node, command: "gone")
    ctx.nodes.sent.clear()
    fault.inject(ctx, targets)
    fault.heal(ctx, targets)
    kinds = [command.argv[3] for node, command in ctx.nodes.sent if node == targets.nodes[0]]
    chain = "harness-packet-delay"
    assert kinds == [PROGRAM, chain, chain, chain, PROGRAM, chain]


def test_the_start_carries_all_figures_and_the_program():
    command = Shape(60, 50, 10, 0.25, 0.1).start(7)
    assert command.argv[3:] == (PROGRAM, "/run/harness-queue-60.ready", "60", "50", "10", "0.25", "0.1", "7")
    assert "NETLINK_NETFILTER" in command.stdin


@pytest.mark.parametrize(
    ("before", "now", "stands"), [(0.5, 51.0, True), (0.5, 0.7, False), (0.5, 20.0, False), (45.0, 51.0, False)]
)
def test_a_delay_stands_out_against_the_round_trips_before(before, now, stands):
    ctx, fault, targets = shaped("packet-delay", answering(trips(before)))
    assert set(targets.detail["round_trip_ms_before"].values()) == {before}
    ctx.nodes.answer = answering(trips(now))
    if stands:
        witness = fault.witness(ctx, targets)
        assert set(witness["round_trip_ms"].values()) == {51.0}
        assert witness["packets_of_system"]
        assert set(witness["helper_seen"].values()) == {9}
    else:
        with pytest.raises(FaultError, match="did not become 36 ms longer"):
            fault.witness(ctx, targets)


@pytest.mark.parametrize(("delay_ms", "jitter_ms"), [(10, 10), (5, 10), (1, 0)])
def test_round_trips_as_before_are_no_delay_whatever_the_jitter(delay_ms, jitter_ms):
    ctx, fault, targets = shaped("packet-delay", answering(trips(0.5)))
    figures = {"delay_ms": delay_ms, "jitter_ms": jitter_ms}
    ctx = replace(ctx, settings=replace(ctx.settings, options=figures))
    with pytest.raises(FaultError, match="round trips did not become"):
        fault.witness(ctx, targets)
    ctx.nodes.answer = answering(trips(0.5 + delay_ms))
    assert fault.witness(ctx, targets)


@pytest.mark.parametrize("printed", ["{}", '{"seen": 9}'])
def test_a_helper_that_ended_before_the_heal_took_the_fault_with_it(printed):
    ctx, fault, targets = shaped("packet-delay", answering(trips(0.5)))
    ctx.nodes.answer = lambda node, command: (
        "  9  99  NFQUEUE  0  --  *  *  10.0.0.1  0.0.0.0/0  /* from n1 */\n"
        if '-nvxL "$0"' in command.argv[2]
        else printed if command.argv[3:4] == (PROGRAM,) and node == targets.nodes[0]
        else '{"seen": 9}' if command.argv[3:4] == (PROGRAM,)
        else "gone"
    )  # fmt: skip
    said = fault.heal(ctx, targets).get("lapsed")
    first, *_ = targets.nodes
    assert said == (f"the helper on {first} had exited by itself: packets passed as usual" if printed == "{}" else None)


def test_where_no_link_is_left_to_shape_nothing_is_tried():
    """It would be reported as a system that did not notice."""
    ctx, fault, _ = shaped("packet-delay")
    with pytest.raises(SkippedError, match="no link would be shaped"):
        fault.plan(replace(ctx, wanted=Targets(ctx.nodes.names)), random.Random(0))


def test_a_node_whose_packets_are_queued_is_under_no_other_such_fault():
    """They would come past it."""
    ctx, fault, targets = shaped("packet-delay")
    active, other = {0: (fault, targets)}, find("packet-reorder")
    first, *_ = targets.nodes
    rest = [name for name in ctx.nodes.names if name not in targets.nodes]
    assert objection(ctx, active, other, Targets((first, rest[0]))) == (
        f"packets of {first} are queued by another fault"
    )
    assert objection(ctx, active, other, Targets(tuple(rest))) is None
    assert objection(ctx, active, find("bridge"), Targets((first,))) is None


def test_a_delay_that_no_packet_of_the_system_met_is_doubt_before_anything_is_measured():
    ctx, fault, targets = shaped("packet-delay", answering(trips(0.5)))
    ctx.nodes.answer = answering(trips(51.0), system=0)
    ctx.nodes.sent.clear()
    with pytest.raises(FaultError, match="the system did not notice"):
        fault.witness(ctx, targets)
    assert not [command for _, command in ctx.nodes.sent if command.argv[0] == "python3"]


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
    ctx, fault, targets = shaped(name, answering(lambda _: seen))
    if stands:
        assert fault.witness(ctx, targets)["sent"] == 300
    else:
        with pytest.raises(FaultError):
            fault.witness(ctx, targets)


@pytest.mark.parametrize(("name", "count"), [("packet-reorder", "overtook"), ("packet-duplicate", "doubled")])
def test_what_the_helper_did_to_no_packet_of_others_is_doubt(name, count):
    none = {"seen": 9, "overtook": 3, "doubled": 2} | {count: 0}
    ctx, fault, targets = shaped(name, answering(lambda _: "330 300 80", counts=none))
    with pytest.raises(FaultError, match=f"none of the system's packets was affected \\({count}\\)"):
        fault.witness(ctx, targets)


def test_without_queues_it_is_refused():
    assert "n1 lacks nfqueue, python3" in (find("packet-delay").precheck(world()[0]) or "")
