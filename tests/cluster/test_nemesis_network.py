"""Network faults on real nodes, looked at from outside the nemesis: other processes, other sockets."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace

import pytest

from nemesis.core.errors import FaultError
from nemesis.core.facts import Facts
from nemesis.core.fault import Targets
from nemesis.faults.registry import find
from nemesis.sweep import heal_everything
from tests.support.cluster.nemesis_world import IPTABLES_ONCE, World, real_world

pytestmark = pytest.mark.cluster

FIREWALL_STATE = """nft list ruleset; tc qdisc show
for t in iptables ip6tables; do $t -w -S; $t -w -t mangle -S; done"""


@pytest.fixture(scope="module")
def world():
    with real_world("t-nem-net") as one:
        one.system.work()
        one.on_all(IPTABLES_ONCE)
        yield one


def rules(world: World, node: str) -> str:
    return re.sub(r"packets \d+ bytes \d+", "", world.sh(node, FIREWALL_STATE))


def all_rules(world: World) -> dict[str, str]:
    return {node: re.sub(r"packets \d+ bytes \d+", "", text) for node, text in world.on_all(FIREWALL_STATE).items()}


def stand(world, name, nodes=None, ctx=None, seed=1):
    fault, ctx = find(name), ctx or world.ctx
    assert fault.precheck(ctx) is None
    wanted = Targets(nodes) if nodes else None
    targets = fault.plan(replace(ctx, wanted=wanted), random.Random(seed))
    fault.inject(ctx, targets)
    return fault, ctx, targets


def without_nft(world: World):
    can = {node: able - {"can:nft"} for node, able in world.ctx.facts.can.items()}
    return replace(world.ctx, facts=Facts(world.ctx.facts.addresses, can))


@pytest.mark.parametrize("firewall", ["nft", "iptables"])
def test_a_cut_node_hears_no_node_and_after_the_heal_all(world, firewall):
    ctx = world.ctx if firewall == "nft" else without_nft(world)
    before = all_rules(world)
    others = set(world.remote.names) - {"n3"}
    fault, ctx, targets = stand(world, "partition-random-node", ("n3",), ctx)
    try:
        world.assert_hearing({"n3": others, **dict.fromkeys(others, ("n3",))})
        assert fault.witness(ctx, targets)["packets_counted"] >= 8
    finally:
        healed = fault.heal(ctx, targets)
    assert healed["packets_dropped"] > 20
    world.assert_hearing({})
    assert all_rules(world) == before


@pytest.mark.parametrize("firewall", ["nft", "iptables"])
def test_a_cut_stands_under_a_delay_that_is_laid_over_it(world, firewall):
    """What is queued comes past the rest of its table when it is let go."""
    ctx = world.ctx if firewall == "nft" else without_nft(world)
    if why := find("packet-delay").precheck(ctx):
        pytest.skip(why)
    others = set(world.remote.names) - {"n3"}
    cut, ctx, targets = stand(world, "partition-random-node", ("n3",), ctx)
    try:
        delay, ctx, slow = stand(world, "packet-delay", ("n3",), ctx)
        try:
            world.assert_hearing({"n3": others, **dict.fromkeys(others, ("n3",))})
        finally:
            delay.heal(ctx, slow)
    finally:
        cut.heal(ctx, targets)
    world.assert_hearing({})


@pytest.mark.parametrize("firewall", ["nft", "iptables"])
def test_a_cut_that_the_system_does_not_notice_is_doubt_whatever_else_it_stops(world, firewall):
    """The nodes go on talking to each other, but not at the port of the system under test."""
    ctx = world.ctx if firewall == "nft" else without_nft(world)
    ctx = replace(ctx, settings=replace(ctx.settings, peer_ports=(20913,)))
    fault, ctx, targets = stand(world, "partition-random-node", ("n3",), ctx)
    try:
        world.hearing()
        with pytest.raises(FaultError, match="the system did not notice"):
            fault.witness(ctx, targets)
    finally:
        assert fault.heal(ctx, targets)["packets_dropped"] > 20


TALK = """
import os, socket, sys, time
s = socket.create_connection(("%s", 20911))
s.sendall(b"before"); assert s.recv(99) == b"before"
print("ready", flush=True)
s.settimeout(1.5)
while not os.path.exists("/run/cut"): time.sleep(0.02)
s.sendall(b"after")
try:
    print("heard", s.recv(99).decode())
except TimeoutError:
    print("silence")
except OSError as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize(("name", "answer"), [("partition-random-node", "silence"), ("reset", "ConnectionResetError")])
def test_an_established_connection_is_cut_too(world, name, answer):
    world.sh("n1", "rm -f /run/cut")
    with world.beside("n1", TALK % world.remote.address("n2")) as output:
        fault, ctx, targets = stand_between(world, name, "n1", "n2")
        try:
            world.sh("n1", "touch /run/cut")
            assert world.await_lines("n1", output, 2) == ["ready", answer]
        finally:
            fault.heal(ctx, targets)


def stand_between(world, name, one, other):
    fault = find(name)
    wanted = Targets((one, other), {one: (other,), other: (one,)})
    targets = fault.plan(replace(world.ctx, wanted=wanted), random.Random(0))
    fault.inject(world.ctx, targets)
    return fault, world.ctx, targets


def test_a_one_way_cut_lets_the_other_direction_pass(world):
    fault, ctx, targets = stand(world, "partition-one-way")
    try:
        assert not any(deaf in targets.grudge.get(mute, ()) for deaf in targets.grudge for mute in targets.grudge[deaf])
        world.assert_hearing(targets.grudge)
        fault.witness(ctx, targets)
    finally:
        fault.heal(ctx, targets)
    world.assert_hearing({})


#: Counts datagrams until one says that it was the last.
COUNT = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
s.bind(("", 7008)); s.settimeout(60.0)
print("ready", flush=True)
n = 0
while s.recv(2000) != b"last": n += 1
print(n, flush=True)
"""

#: The last one is sent so often that a lossy or slow link lets one pass.
SEND = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(int(sys.argv[2])):
    s.sendto(b"x" * int(sys.argv[3]), (sys.argv[1], 7008))
    if i % 20 == 0: time.sleep(0.005)
for _ in range(40):
    time.sleep(0.05); s.sendto(b"last", (sys.argv[1], 7008))
"""


def arrived(world: World, node: str, peer: str, sent: int, size: int = 1) -> int:
    """How many of so many datagrams from a peer arrive at a node."""
    with world.beside(node, COUNT) as output:
        world.python(peer, SEND, world.remote.address(node), str(sent), str(size))
        return int(world.await_lines(node, output, 2)[1])


def test_loss_is_within_binomial_bounds(world):
    sent, asked = 2000, 0.2
    fault, ctx, targets = stand(world, "packet-loss")
    try:
        node, peers = next(iter(targets.grudge.items()))
        sigma = math.sqrt(sent * asked * (1 - asked))
        assert abs(sent - arrived(world, node, peers[0], sent) - asked * sent) < 5 * sigma
        assert fault.witness(ctx, targets)["share_dropped"] == pytest.approx(asked, abs=0.1)
    finally:
        fault.heal(ctx, targets)


@pytest.mark.parametrize(
    "name",
    ["partition-random-halves", "bridge", "partition-majorities-ring", "partition-leader-minority",
     "partition-leader-majority", "swizzle", "reset", "isolate-until-snapshot"],
)  # fmt: skip
def test_who_hears_whom_is_just_as_the_grudge_says_and_then_as_before(world, name):
    before = all_rules(world)
    fault, ctx, targets = stand(world, name)
    try:
        world.assert_hearing(targets.grudge)
        if name != "isolate-until-snapshot":  # its witness waits for snapshots, of which the toy has none
            assert fault.witness(ctx, targets)
    finally:
        fault.heal(ctx, targets)
    fault.heal(ctx, targets)
    world.assert_hearing({})
    assert all_rules(world) == before


@pytest.mark.parametrize("firewall", ["nft", "iptables"])
def test_a_slow_link_lets_little_through(world, firewall):
    ctx = world.ctx if firewall == "nft" else without_nft(world)
    fault, ctx, targets = stand(world, "slow-link", ctx=ctx)
    node, peers = next(iter(targets.grudge.items()))
    try:
        slow = arrived(world, node, peers[0], 300, 1000)
        assert fault.witness(ctx, targets)
    finally:
        fault.heal(ctx, targets)
    assert 0 < slow < 100  # 300 kB at once, over a link of 32 kB a second with a burst of 16 or 32
    assert arrived(world, node, peers[0], 300, 1000) == 300


FOREIGN = """
nft add table inet another
nft add chain inet another harness "{ type filter hook input priority 5; policy accept; }"
nft add rule inet another harness ip saddr 192.0.2.7 counter drop
iptables -w -N other-harness
iptables -w -A other-harness -s 192.0.2.8 -j DROP
iptables -w -A INPUT -j other-harness
tc qdisc add dev eth0 root handle 7: tbf rate 900mbit burst 64kb latency 50ms
"""

NOT_FOREIGN = """
nft delete table inet another
iptables -w -D INPUT -j other-harness; iptables -w -F other-harness; iptables -w -X other-harness
tc qdisc del dev eth0 root
"""


def test_what_is_not_ours_stays_untouched(world):
    world.sh("n2", FOREIGN)
    try:
        before = rules(world, "n2")
        for ctx in (world.ctx, without_nft(world)):
            fault, ctx, targets = stand(world, "partition-random-node", ("n2",), ctx)
            fault.heal(ctx, targets)
            assert rules(world, "n2") == before
            stand(world, "partition-random-node", ("n2",), ctx)
            undone = heal_everything(world.remote).undone
            assert all(len(lines) >= 1 for lines in undone.values())
            assert rules(world, "n2") == before
        assert not heal_everything(world.remote).lines()
    finally:
        world.sh("n2", NOT_FOREIGN)
