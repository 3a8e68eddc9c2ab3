from __future__ import annotations

import random
from dataclasses import replace

import pytest

from harness.testing import world
from history import Probe
from nemesis.core.errors import FaultError, NotYetError, SkippedError
from nemesis.core.fault import Settings, Targets
from nemesis.faults import traffic
from nemesis.faults.partitions import PARTITIONS
from nemesis.faults.registry import FAULTS, aim_refusal, find
from nemesis.faults.targeted_partitions import TARGETED_PARTITIONS
from nemesis.faults.traffic import TRAFFIC, burst


def plan(name, seed=0, ctx=None, **system):
    ctx = ctx or world()[0]
    for key, value in system.items():
        setattr(ctx.system, key, value)
    return ctx, find(name).plan(ctx, random.Random(seed))


@pytest.mark.parametrize(("side", "hears"), [("minority", 2), ("majority", 3)])
def test_the_leader_is_on_the_side_asked_for(side, hears):
    for seed in range(30):
        _, targets = plan(f"partition-leader-{side}", seed, leader="n4")
        assert 5 - len(targets.grudge["n4"]) == hears


def test_one_way_hits_the_leader_in_one_direction_and_both_come_up():
    shapes = set()
    for seed in range(30):
        _, targets = plan("partition-one-way", seed, leader="n2")
        deaf = targets.grudge == {"n2": ("n1", "n3", "n4", "n5")}
        mute = targets.grudge == dict.fromkeys(("n1", "n3", "n4", "n5"), ("n2",))
        assert deaf != mute
        shapes.add(deaf)
    assert shapes == {True, False}


@pytest.mark.parametrize("leader", ["n2", None])
def test_one_way_hits_whom_it_is_aimed_at_with_and_without_a_leader(leader):
    """A system without a leader, such as BookKeeper, has nodes that can be named."""
    ctx = replace(world()[0], wanted=Targets(("n3",)))
    shapes = set()
    for seed in range(30):
        _, targets = plan("partition-one-way", seed, ctx, leader=leader)
        deaf = targets.grudge == {"n3": ("n1", "n2", "n4", "n5")}
        assert deaf != (targets.grudge == dict.fromkeys(("n1", "n2", "n4", "n5"), ("n3",)))
        shapes.add(deaf)
    assert shapes == {True, False}


@pytest.mark.parametrize("name", ["reset", "swizzle", "packet-loss", "slow-link", "partition-random-halves"])
def test_the_aimed_nodes_are_one_side_of_a_fault_between_two(name):
    ctx = replace(world()[0], wanted=Targets(("n2", "n4")))
    both = {**dict.fromkeys(("n2", "n4"), ("n1", "n3", "n5")), **dict.fromkeys(("n1", "n3", "n5"), ("n2", "n4"))}
    for seed in range(5):
        assert find(name).plan(ctx, random.Random(seed)).grudge == both


def test_an_aimed_bridge_is_the_node_in_which_the_halves_meet():
    ctx = replace(world()[0], wanted=Targets(("n3",)))
    for seed in range(10):
        grudge = find("bridge").plan(ctx, random.Random(seed)).grudge
        assert sorted(grudge) == ["n1", "n2", "n4", "n5"]
        assert {len(peers) for peers in grudge.values()} == {2}
        assert all("n3" not in peers for peers in grudge.values())
    with pytest.raises(SkippedError, match="one node, but n2, n3"):
        find("bridge").plan(replace(ctx, wanted=Targets(("n2", "n3"))), random.Random(0))


def test_a_fault_of_links_hits_the_named_node_or_says_why_it_cannot():
    of_links = {fault.name for fault in (*PARTITIONS, *TARGETED_PARTITIONS, *TRAFFIC)}
    unaimed = {name for name in FAULTS if aim_refusal(name)}
    rigid = {"partition-leader-minority", "partition-leader-majority", "partition-majorities-ring"}
    assert unaimed == {*rigid, "promote-follower"}
    for name in of_links - unaimed - {"bridge"}:
        grudge = find(name).plan(replace(world()[0], wanted=Targets(("n3",))), random.Random(0)).grudge
        pairs = [(node, peer) for node, peers in grudge.items() for peer in peers]
        assert pairs, name
        assert all("n3" in pair for pair in pairs), name


def test_without_a_leader_aimed_faults_wait():
    for name in ("partition-leader-minority", "partition-one-way", "kill-leader", "pause-leader"):
        with pytest.raises(NotYetError):
            plan(name, leader=None)


def test_swizzle_cuts_link_after_link_and_restores_in_another_order():
    ctx, targets = plan("swizzle", seed=1)
    fault = find("swizzle")
    cut, restore = targets.detail["cut_order"], targets.detail["restore_order"]
    assert sorted(cut) == sorted(restore)
    assert cut != restore
    assert len(cut) == 6
    fault.inject(ctx, targets)
    assert fault.witness(ctx, targets)["attempts_silence"] == 12
    first_two = [node for node, _ in ctx.nodes.sent[:2]]
    assert sorted(first_two) == cut[0]
    healed = fault.heal(ctx, targets)
    assert healed["links_restored"] == 6
    assert healed["packets_dropped"] > 0
    assert not any(ctx.nodes.rules.values())


def test_a_swizzle_that_is_stopped_half_way_says_so_and_heals():
    ctx, targets = plan("swizzle")
    ctx.stop.set()
    with pytest.raises(FaultError, match="1 of 6 links"):
        find("swizzle").inject(ctx, targets)
    find("swizzle").heal(replace(ctx, stop=world()[0].stop), targets)
    assert not any(ctx.nodes.rules.values())


def isolated(threshold=100):
    ctx, _, system, _ = world()
    ctx = replace(ctx, settings=Settings(snapshot_threshold=threshold, options={"isolate_s": 1.0}))
    for name in ctx.nodes.names:
        system.said[name] = Probe(0, name, "leader" if name == "n1" else "follower", 1, "n1", applied=50)
    fault = find("isolate-until-snapshot")
    targets = fault.plan(ctx, random.Random(0))
    fault.inject(ctx, targets)
    return ctx, system, fault, targets, targets.detail["follower"]


def test_isolation_needs_lag_and_a_snapshot_of_another_node():
    ctx, system, fault, targets, follower = isolated()
    other = next(name for name in ctx.nodes.names if name not in ("n1", follower))
    with pytest.raises(FaultError, match="0 entries behind"):
        fault.witness(ctx, targets)
    system.said["n1"] = replace(system.said["n1"], applied=151)
    with pytest.raises(FaultError, match="101 entries behind"):
        fault.witness(ctx, targets)
    system.said[follower] = replace(system.said[follower], snapshots_saved=1)
    with pytest.raises(FaultError):
        fault.witness(ctx, targets)
    system.said[other] = replace(system.said[other], snapshots_saved=1)
    witness = fault.witness(ctx, targets)
    assert (witness["lag"], witness["snapshots_saved_meanwhile"]) == (101, 1)


def test_isolation_is_healed_by_a_counted_snapshot_install():
    ctx, system, fault, targets, follower = isolated()
    system.said["n1"] = replace(system.said["n1"], applied=1000)
    assert fault.heal(ctx, targets)["snapshots_loaded"] == 0
    system.said[follower] = replace(system.said[follower], snapshots_loaded=1)
    assert fault.heal(ctx, targets)["snapshots_loaded"] == 1


def test_isolation_without_lag_does_not_wait_for_a_snapshot():
    ctx, _, fault, targets, _ = isolated()
    began = ctx.clock.now()
    assert fault.heal(ctx, targets)["snapshots_loaded"] == 0
    assert ctx.clock.now() - began < 1e9


def test_isolation_is_refused_without_snapshots():
    ctx, *_ = world()
    without = replace(ctx, settings=Settings(snapshots=False))
    refused = "the system saves no snapshots in this run"
    assert find("isolate-until-snapshot").precheck(without) == refused


@pytest.mark.parametrize(("dropped", "installed"), [(20, True), (0, False), (5, False)])
def test_loss_is_measured_by_datagrams_of_its_own(dropped, installed, monkeypatch):
    ctx, targets = plan("packet-loss")
    links = [(node, peer) for node, peers in targets.grudge.items() for peer in peers]
    counts = [dict.fromkeys(links, 7), dict.fromkeys(links, 7 + dropped)]
    sent = []
    monkeypatch.setattr(traffic, "counted", lambda *_: __import__("collections").Counter(counts.pop(0)))
    monkeypatch.setattr(traffic, "send_over", lambda ctx, grudge, count, size: sent.append((count, size)))
    monkeypatch.setattr(traffic, "system_packets", lambda *_: {"packets_of_system": {"n1<-n2": 1}})
    if installed:
        assert find("packet-loss").witness(ctx, targets)["share_dropped"] == 0.2
    else:
        with pytest.raises(FaultError, match="instead of 20%"):
            find("packet-loss").witness(ctx, targets)
    assert sent == [(100, 16)]


@pytest.mark.parametrize("name", ["packet-loss", "slow-link"])
def test_links_on_which_the_system_lost_nothing_are_doubt_before_anything_is_sent(name):
    ctx, targets = plan(name, ctx=world(quiet=True)[0])
    find(name).inject(ctx, targets)
    with pytest.raises(FaultError, match="the system did not notice"):
        find(name).witness(ctx, targets)
    assert not [command for _, command in ctx.nodes.sent if "burst" in command.argv]


def test_bursts_carry_their_figures_as_arguments():
    ctx, *_ = world()
    command = burst(ctx, ["n2"], 5, 16)
    assert command.argv[:3] == ("bash", "--norc", "-c")
    assert command.argv[4:] == ("burst", "5", "16", "10.0.0.2")
