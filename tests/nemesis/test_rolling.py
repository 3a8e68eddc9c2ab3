from __future__ import annotations

import random
import threading
from dataclasses import replace
from itertools import pairwise

import pytest

from harness.testing import world
from history import Probe
from nemesis.core.errors import FaultError, SkippedError
from nemesis.core.fault import Targets
from nemesis.faults.registry import find
from tests.support.nemesis.elections import elect_after_kills


def test_rolling_restarts_every_node_once_with_at_most_one_down(monkeypatch):
    ctx, nodes, system, _ = world()
    fault = find("restart-rolling")
    targets = fault.plan(ctx, random.Random(0))
    fewest = []
    usual = system.start

    def start(names):
        fewest.append(sum(pid is None for pid in system.pids(nodes.names).values()))
        usual(names)

    monkeypatch.setattr(system, "start", start)
    fault.inject(ctx, targets)
    assert fewest == [1] * 5
    witness = fault.witness(ctx, targets)
    assert all(witness["pids_now"][node] != pid for node, pid in witness["pids_before"].items())


def test_a_node_that_was_not_restarted_is_doubt():
    ctx, *_ = world()
    fault = find("restart-rolling")
    with pytest.raises(FaultError, match="no new process on n1"):
        fault.witness(ctx, fault.plan(ctx, random.Random(0)))


@pytest.mark.parametrize("seed", range(5))
def test_one_node_stays_down_while_all_others_come_back_one_by_one(seed, monkeypatch):
    ctx, nodes, system, clock = world()
    elect_after_kills(system)
    fault = find("rolling-kill")
    targets = fault.plan(ctx, random.Random(seed))
    last, *others = targets.detail["order"]
    steps, moments = [], []
    usual = system.start

    def start(names):
        steps.append((tuple(names), {node for node, pid in system.pids(nodes.names).items() if pid is None}))
        moments.append(clock.now())
        usual(names)

    monkeypatch.setattr(system, "start", start)
    fault.inject(ctx, targets)
    assert steps == [((node,), {last, node}) for node in others]
    assert sorted([last, *others]) == ["n1", "n2", "n3", "n4", "n5"]
    assert all(0.1 <= pause <= 1.0 for pause in targets.detail["pauses_s"])
    assert len(set(targets.detail["pauses_s"])) == 10
    assert all(later - sooner >= 0.2e9 for sooner, later in pairwise(moments))
    witness = fault.witness(ctx, targets)
    assert witness["stood_ms"] == 0.0
    assert witness["pids_gone"] == {last: targets.detail["pids"][last]}
    assert set(witness["pids_now"]) == set(others)
    assert set(fault.heal(ctx, targets)["pids_now"]) == {last, *others}
    assert steps[-1] == (targets.nodes, {last}), "it comes back last"


def test_a_recorded_rolling_kill_keeps_its_order_and_pauses():
    ctx, *_ = world()
    fault = find("rolling-kill")
    drawn = fault.plan(ctx, random.Random(0))
    again = fault.plan(replace(ctx, wanted=Targets.from_json(drawn.to_json())), random.Random(1))
    assert again.detail == drawn.detail


def test_nodes_that_do_not_serve_together_are_doubt_and_everything_is_started_again():
    """No node leads after the leader: the next one is not killed."""
    ctx, nodes, system, _ = world()
    fault = find("rolling-kill")
    targets = fault.plan(ctx, random.Random(0))
    with pytest.raises(FaultError, match="did not serve together within 60 s: no node leads"):
        fault.inject(ctx, targets)
    assert sum(pid is None for pid in system.pids(nodes.names).values()) <= 2
    assert all(fault.heal(ctx, targets)["pids_now"].values())


def test_an_election_on_a_loaded_machine_is_waited_for(monkeypatch):
    """It may take twenty times as long as on an idle one."""
    ctx, nodes, system, clock = world()
    usual, since = system.probes, {}

    def probes():
        if system.leader and system.pids([system.leader])[system.leader] is None:
            system.leader, since["down"] = None, clock.now()
        if system.leader is None and clock.now() - since["down"] > 40e9:
            system.leader = next(name for name, pid in system.pids(nodes.names).items() if pid)
        return usual()

    monkeypatch.setattr(system, "probes", probes)
    fault = find("rolling-kill")
    targets = fault.plan(ctx, random.Random(0))
    fault.inject(ctx, targets)
    assert fault.witness(ctx, targets)


def test_a_wait_that_was_in_vain_names_the_node_that_does_not_serve():
    ctx, _, system, _ = world()
    system.said["n4"] = Probe(0, "n4", "candidate", 7)
    with pytest.raises(FaultError, match=r"within 60 s: n4 is candidate$"):
        find("rolling-kill").inject(ctx, find("rolling-kill").plan(ctx, random.Random(0)))


def test_a_node_that_had_no_turn_or_did_not_stay_down_is_doubt():
    ctx, nodes, system, _ = world()
    fault = find("rolling-kill")
    targets = fault.plan(ctx, random.Random(0))
    last, first, *_ = targets.detail["order"]
    with pytest.raises(FaultError, match=f"still there: {last}"):
        fault.witness(ctx, targets)
    nodes.states[last, targets.detail["pids"][last]] = ""
    with pytest.raises(FaultError, match=f"no new process on {first}"):
        fault.witness(ctx, targets)
    assert all(fault.heal(ctx, targets)["pids_now"].values())
    assert all(system.pids(nodes.names).values())


def test_a_rolling_kill_that_is_stopped_is_doubt():
    ctx, _, system, _ = world()
    elect_after_kills(system)
    stop = threading.Event()
    stop.set()
    fault = find("rolling-kill")
    stopped = replace(ctx, stop=stop)
    with pytest.raises(FaultError, match="stopped before"):
        fault.inject(stopped, fault.plan(stopped, random.Random(0)))


def test_a_rolling_kill_needs_two_nodes_to_spare():
    ctx, *_ = world()
    fault = find("rolling-kill")
    assert fault.precheck(ctx) is None
    assert fault.precheck(world(3)[0]) == "needs at least 5 nodes to leave a majority after two kills"
    with pytest.raises(SkippedError, match="no majority"):
        fault.plan(replace(ctx, busy=frozenset({"n5"})), random.Random(0))
