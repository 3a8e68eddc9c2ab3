from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from harness.testing import world
from nemesis.core.errors import FaultError
from nemesis.core.facts import Facts
from nemesis.core.fault import Targets
from nemesis.faults import partitions as network
from nemesis.faults.partitions import attempts, rules_of, try_peers
from nemesis.faults.registry import find

RING = find("partition-majorities-ring")


def test_a_partition_stands_is_seen_and_is_gone_again():
    ctx, nodes, _, _ = world()
    targets = RING.plan(ctx, random.Random(1))
    RING.inject(ctx, targets)
    witness = RING.witness(ctx, targets)
    assert witness["packets_counted"] >= 10
    assert (witness["attempts_silence"], witness["attempts"]) == (10, 10)
    healed = RING.heal(ctx, targets)
    assert healed["packets_dropped"] >= witness["packets_counted"]
    assert len(witness["packets_of_system"]) == 10
    assert not any(nodes.rules.values())


def test_one_command_a_node_installs_it():
    ctx, nodes, _, _ = world()
    RING.inject(ctx, RING.plan(ctx, random.Random(1)))
    assert [node for node, _ in nodes.sent] == ["n1", "n2", "n3", "n4", "n5"]


def test_links_that_stay_open_are_doubt_and_named(monkeypatch):
    ctx, nodes, *_ = world()
    targets = find("partition-random-node").plan(ctx, random.Random(1))
    RING.inject(ctx, targets)
    nodes.deaf_rules = True
    with pytest.raises(FaultError, match="did not notice"):
        RING.witness(ctx, targets)
    monkeypatch.setattr(nodes, "attempt", lambda *_: 0)
    nodes.deaf_rules = False
    with pytest.raises(FaultError, match=r"\d packets counted; n\d still hears n\d \(connected\)"):
        RING.witness(ctx, targets)


def test_silence_without_a_single_counted_packet_is_doubt():
    ctx, *_ = world(uncounted=True)
    targets = RING.plan(ctx, random.Random(1))
    RING.inject(ctx, targets)
    with pytest.raises(FaultError, match="did not notice"):
        RING.witness(ctx, targets)


def test_a_partition_that_no_packet_of_the_system_met_is_doubt_and_nothing_of_ours_is_sent_before_that_is_known():
    ctx, nodes, *_ = world(quiet=True)
    targets = RING.plan(ctx, random.Random(1))
    RING.inject(ctx, targets)
    with pytest.raises(FaultError, match=r"the system did not notice: within 3 s none of its own packets"):
        RING.witness(ctx, targets)
    assert not [command for _, command in nodes.sent if "try" in command.argv]


def test_one_link_that_the_system_uses_is_enough_and_the_silent_ones_are_tried(monkeypatch):
    ctx, nodes, *_ = world(quiet=True)
    targets = find("partition-random-node").plan(ctx, random.Random(1))
    find("partition-random-node").inject(ctx, targets)
    node, (peer, *_) = next(iter(targets.grudge.items()))
    usual = nodes.listing

    def listing(name, chain):
        nodes.own[node, chain, peer] += name == node
        return usual(name, chain)

    monkeypatch.setattr(nodes, "listing", listing)
    witness = find("partition-random-node").witness(ctx, targets)
    assert list(witness["packets_of_system"]) == [f"{node}<-{peer}"]
    assert witness["attempts_silence"] == witness["attempts"] == 8


def test_healing_twice_and_before_anything_stood_is_fine():
    ctx, *_ = world()
    targets = RING.plan(ctx, random.Random(1))
    assert RING.heal(ctx, targets)["packets_dropped"] == 0
    assert RING.heal(ctx, targets)["rules_gone"] == list(targets.nodes)


def test_a_named_node_or_a_recorded_grudge_is_kept():
    ctx, *_ = world(3)
    one = find("partition-random-node").plan(replace(ctx, wanted=Targets(("n2",))), random.Random(0))
    assert one.grudge == {"n1": ("n2",), "n2": ("n1", "n3"), "n3": ("n2",)}
    recorded = Targets.from_json({"nodes": ["n1"], "grudge": {"n1": ["n3"]}})
    assert RING.plan(replace(ctx, wanted=recorded), random.Random(0)).grudge == {"n1": ("n3",)}


def test_partitions_of_too_few_nodes_and_without_a_firewall_are_refused():
    small, *_ = world(1)
    assert find("partition-random-node").precheck(small) == "needs at least 2 nodes with data, this cluster has 1"
    ctx, *_ = world(3)
    assert RING.precheck(ctx) is None
    bare = replace(ctx, facts=Facts(ctx.facts.addresses, {"n1": frozenset({"can:nft", "bash", "timeout"})}))
    assert RING.precheck(bare) == ("neither nftables nor iptables works on every node (nftables missing on n2, n3)")


def test_ipv6_without_its_packet_filter_is_refused():
    ctx, *_ = world(3)
    able = frozenset({"can:iptables", "bash", "timeout"})
    addresses = {name: (address[0], f"fd00::{name[1]}") for name, address in ctx.facts.addresses.items()}
    facts = Facts(addresses, dict.fromkeys(addresses, able))
    assert "n1 lacks ip6tables" in (RING.precheck(replace(ctx, facts=facts)) or "")
    facts = Facts(addresses, dict.fromkeys(addresses, able | {"can:ip6tables"}))
    assert RING.precheck(replace(ctx, facts=facts)) is None


def test_a_slow_link_is_refused_where_iptables_cannot_limit_rates():
    ctx, *_ = world(3)
    assert find("slow-link").precheck(ctx) is None
    able = frozenset({"can:iptables", "bash", "timeout"})
    facts = Facts(ctx.facts.addresses, dict.fromkeys(ctx.facts.addresses, able))
    assert "iptables cannot limit rates here: n1 lacks" in (find("slow-link").precheck(replace(ctx, facts=facts)) or "")
    facts = Facts(ctx.facts.addresses, dict.fromkeys(ctx.facts.addresses, able | {"can:iptables-rate"}))
    assert find("slow-link").precheck(replace(ctx, facts=facts)) is None


def test_peers_are_tried_at_the_systems_own_port():
    ctx, *_ = world(3)
    assert try_peers(ctx, ["n2", "n3"]).argv[-5:] == ("try", "0.5", "7000", "10.0.0.2", "10.0.0.3")


def test_a_partition_of_one_port_is_tried_at_that_port_and_no_other_fault_is_limited_to_it():
    ctx, *_ = world(3)
    limited = replace(ctx, settings=replace(ctx.settings, options={"partition_port": 10912}))
    assert try_peers(limited, ["n2"]).argv[-3:] == ("0.5", "10912", "10.0.0.2")
    assert [rule.only for action in ("drop", "lose") for rule in rules_of(limited, ["n2"], action)] == [10912, 0]
    assert [rule.only for rule in rules_of(ctx, ["n2"], "drop")] == [0]


def test_an_attempt_that_never_began_is_no_silence():
    printed = "10.0.0.2 began\n10.0.0.2 137\n10.0.0.3 137\n10.0.0.4 began\n10.0.0.4 1\n10.0.0.5 began\n10.0.0.5 0\n"
    assert attempts(printed) == {"10.0.0.2": "silence", "10.0.0.4": "refusal", "10.0.0.5": "connected"}


@pytest.mark.parametrize("counted", [True, False])
def test_a_link_that_could_not_be_tried_is_proved_by_its_counter_alone(counted, monkeypatch):
    ctx, *_ = world()
    targets = RING.plan(ctx, random.Random(1))
    RING.inject(ctx, targets)
    links = [(node, peer) for node, peers in targets.grudge.items() for peer in peers]
    packets = Counter(dict.fromkeys(links[1:], 3) | ({links[0]: 1} if counted else {}))
    monkeypatch.setattr(network, "_look_at_links", lambda *_: (packets, dict.fromkeys(links[1:], "silence")))
    if counted:
        assert RING.witness(ctx, targets)["attempts_silence"] == 9
    else:
        with pytest.raises(FaultError, match="not tried"):
            RING.witness(ctx, targets)
