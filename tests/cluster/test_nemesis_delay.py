"""Delay, reordering and duplication on real nodes, measured by processes of their own."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from nemesis.core.fault import Targets
from nemesis.faults.registry import find
from nemesis.sweep import heal_everything
from tests.support.cluster.nemesis_world import real_world

pytestmark = pytest.mark.cluster

#: A round-trip probe at a fixed rate: numbered datagrams out, echoed back, each trip timed.  Both ends go before other
#: programs of the machine, whose load is no property of the link.
FIRST = """
import contextlib, os
with contextlib.suppress(OSError): os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
"""

ECHO = (
    FIRST
    + """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("", 7010))
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
print("ready", flush=True)
while True:
    data, peer = s.recvfrom(99); s.sendto(data, peer)
"""
)

PING = (
    FIRST
    + """
import socket, sys, threading, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1.2)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
s.connect((sys.argv[1], 7010))
rate, count = float(sys.argv[2]), int(sys.argv[3])
sent, trips, order = {}, {}, []
def listen():
    try:
        while True:
            n = int(s.recv(99)); order.append(n); trips.setdefault(n, time.monotonic() - sent[n])
    except (TimeoutError, ConnectionError):
        pass
t = threading.Thread(target=listen); t.start()
began = time.monotonic()
for n in range(count):
    while (ahead := began + n / rate - time.monotonic()) > 0: time.sleep(min(ahead, 0.002))
    sent[n] = time.monotonic(); s.send(b"%d" % n)
t.join()
ms = sorted(1000 * x for x in trips.values())
# A sender that was kept waiting sends in bursts, out of which the overtakers come side by side: each counts.
overtook, least = 0, count
for n in reversed(order):
    overtook += n > least
    least = min(least, n)
print(len(trips), len(order), overtook, ms[len(ms) // 2])
"""
)


@pytest.fixture(scope="module")
def world():
    with real_world("t-nem-shape") as one:
        one.system.work()
        if why := find("packet-delay").precheck(one.ctx):
            pytest.skip(why)
        yield one


def ping(world, sender, receiver, rate, count):
    """(answered, answers, those that overtook another, median round trip in ms)"""
    with world.beside(receiver, ECHO):
        said = world.python(sender, PING, world.remote.address(receiver), str(rate), str(count), timeout=40)
    answered, answers, overtook, median = said.split()
    return int(answered), int(answers), int(overtook), float(median)


def shaped(world, name, **options):
    ctx = world.with_settings(options=options)
    fault = find(name)
    wanted = Targets(("n1",), {"n1": ("n2",)})
    targets = fault.plan(replace(ctx, wanted=wanted), random.Random(1))
    fault.inject(ctx, targets)
    return fault, ctx, targets


def test_fifty_milliseconds_are_fifty_and_nothing_is_lost(world):
    fault, ctx, targets = shaped(world, "packet-delay", jitter_ms=0)
    try:
        answered, _, _, median = ping(world, "n1", "n2", 2000, 6000)
        witness = fault.witness(ctx, targets)
        assert witness["round_trip_ms"]["n1<-n2"] - witness["round_trip_ms_before"]["n1<-n2"] >= 45
        assert witness["packets_of_system"]["n1<-n2"] > 0
    finally:
        fault.heal(ctx, targets)
    assert answered == 6000
    assert 45 <= median <= 60
    assert ping(world, "n1", "n2", 300, 200)[3] < 20


def test_a_share_overtakes(world):
    fault, ctx, targets = shaped(world, "packet-reorder")
    try:
        answered, _, overtook, _ = ping(world, "n1", "n2", 1000, 1000)
        assert answered == 1000
        assert 150 < overtook < 350  # a quarter
        assert fault.witness(ctx, targets)["came_late"]["n1<-n2"] > 0
    finally:
        fault.heal(ctx, targets)


def test_a_share_comes_twice(world):
    fault, ctx, targets = shaped(world, "packet-duplicate", duplicate=0.1)
    try:
        answered, answers, _, _ = ping(world, "n1", "n2", 1000, 2000)
        assert answered == 2000
        assert 120 < answers - answered < 280
        assert fault.witness(ctx, targets)["came_twice"]["n1<-n2"] > 0
    finally:
        fault.heal(ctx, targets)


def test_a_dead_helper_lets_packets_pass_and_is_swept(world):
    fault, ctx, targets = shaped(world, "packet-delay")
    world.sh("n1", "kill -9 $(cat /run/harness-queue-60.ready)")
    assert ping(world, "n1", "n2", 200, 100)[3] < 20
    heal_everything(world.remote)
    assert world.sh("n1", "ls /run | grep harness-queue- || true") == ""
    fault.heal(ctx, targets)
