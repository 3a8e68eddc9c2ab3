"""Every fault of the catalogue on real nodes: what healing, and sweeping without any memory, leave behind."""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli.main import run_command
from history import Event, Probe, receipts_of
from history.records.probes import Role
from nemesis.core.errors import FaultError, SkippedError
from nemesis.core.fault import Targets
from nemesis.deadman import DeadMansTimer
from nemesis.faults.registry import FAULTS, find
from nemesis.schedule.runner import Runner
from nemesis.schedule.steps import Step, cycle
from nemesis.sweep import LIFTED, sweep_commands
from tests.support.cluster.nemesis_world import IPTABLES_ONCE, real_world

pytestmark = pytest.mark.cluster

STATE = """nft list ruleset; for t in iptables ip6tables; do $t -w -S; $t -w -t mangle -S; done; tc qdisc show
cut -d' ' -f2-4 /proc/self/mounts | sed 's#^/run/harness-cgroup.*##' | sort
ls -A /run | grep harness | grep -v '^harness-clock$'; ls -A /data | grep '[.]harness'
[ ! -e /run/harness-clock ] || cat /run/harness-clock
grep -ls '^State:.T' /proc/[0-9]*/status; cat /proc/[0-9]*/cgroup 2>/dev/null | grep 'harness.*@.*@'
touch /data/works && rm /data/works && echo writable
exit 0"""

#: What is over when it is done: dead processes and damaged files are the next start's.
WITHOUT_LEFTOVERS = {
    "file-bitflip", "file-truncate", "kill-all", "kill-followers", "kill-leader", "kill-leader-then-successor",
    "kill-random-processes", "restart-rolling", "rolling-kill",
}  # fmt: skip

#: The witness of a power cut mounts the disk again; the toy never lags so far that a snapshot is needed; where others
#: keep the disk busy, a process feels a slow one only if it writes all the time, as in test_nemesis_machines.py.
WITHOUT_WITNESS = {"crash-all", "crash-random-nodes", "isolate-until-snapshot", "disk-slow"}

#: These need what only a real system under test has.
NEEDS_MORE = {"leader-transfer", "clock-skew", "clock-jump", "clock-strobe", "kill-one-process"}

#: Several times what a renewal takes on a busy machine.
LEASE_S = 8.0


@pytest.fixture(scope="module")
def world():
    with real_world("t-nem-heal") as one:
        one.system.work()
        one.on_all(IPTABLES_ONCE)
        one.ctx = replace(one.ctx, settings=replace(one.ctx.settings, witness_s=5.0))
        yield one


@pytest.fixture(autouse=True)
def _stores(world):
    world.on_all(
        "umount /usr/sbin/nft 2>/dev/null; mkdir -p /data/store && seq 5000 >/data/store/segment && sync -f /data"
    )
    world.system.said.clear()
    world.system.work()
    world.system.start(world.remote.names)


def state(world):
    world.system.start(world.remote.names)
    return {node: re.sub(r"packets \d+ bytes \d+", "", text) for node, text in world.on_all(STATE).items()}


@pytest.fixture(scope="module")
def fresh(world):
    """Before the first fault: what every test is to leave."""
    return state(world)


def elect(world):
    """The toy's election: as soon as the leader's process is gone, the next running node leads in a new term."""
    system, usual = world.system, type(world.system).probes

    def probes():
        said = usual(system)
        if said[system.leader].error and (up := [n for n, p in said.items() if p.answered]):
            system.leader, system.term = up[0], system.term + 1
            said = usual(system)
        return said

    system.probes = probes


@pytest.mark.parametrize("name", sorted(set(FAULTS) - NEEDS_MORE))
def test_harness_heal_undoes_what_a_killed_run_left(world, fresh, name, capsys):
    """Injected, seen to bite and abandoned, as by a harness killed with -9: healing has nothing but the nodes."""
    fault = find(name)
    if why := fault.precheck(world.ctx):
        pytest.skip(why)
    elect(world)
    world.system.work(fault)
    targets = fault.plan(world.with_settings(options={"successor_delay_s": 0.1}), random.Random(2))
    fault.inject(world.ctx, targets)
    assert name in WITHOUT_WITNESS or fault.witness(world.ctx, targets)
    assert run_command(["heal", "--cluster", f"netns:{world.cluster.name}"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == ["nothing to heal"] if name in WITHOUT_LEFTOVERS else all(": " in line for line in said), said
    assert state(world) == fresh
    if name == "swizzle":  # once: a fault that was swept is healed as if it had never stood
        fault.heal(world.ctx, targets)
        assert state(world) == fresh


def test_a_disk_that_cannot_be_mounted_anew_is_said_and_is_a_failure(world, capsys):
    fault, cluster = find("disk-error"), f"netns:{world.cluster.name}"
    if why := fault.precheck(world.ctx):
        pytest.skip(why)
    targets = fault.plan(replace(world.ctx, wanted=Targets(("n2",))), random.Random(2))
    fault.inject(world.ctx, targets)
    (holder,) = world.sh("n2", "cd /data; sleep 600 >/dev/null 2>&1 & echo $!").split()
    assert run_command(["heal", "--cluster", cluster]) == 255
    assert "n2: exit 1: error: /data stays shut down: error: umount: /data: target is busy" in capsys.readouterr().err
    world.sh("n2", f"kill {holder}; while [ -e /proc/{holder} ]; do sleep 0.01; done")
    assert run_command(["heal", "--cluster", cluster]) == 0
    assert "n2: remounted the data filesystem" in capsys.readouterr().out
    world.sh("n2", "touch /data/works && rm /data/works")


def test_a_node_that_cannot_be_reached_is_a_failure_and_the_others_are_swept(world, capsys):
    fault, cluster = find("pause-majority"), f"netns:{world.cluster.name}"
    targets = fault.plan(replace(world.ctx, wanted=Targets(("n1", "n2", "n3"))), random.Random(2))
    fault.inject(world.ctx, targets)
    os.kill(world.cluster.init_of("n2"), signal.SIGSTOP)  # its sshd
    try:
        assert run_command(["heal", "--cluster", cluster]) == 255
        said = capsys.readouterr()
        assert [line.split(": ")[0] for line in said.out.splitlines()] == ["n1", "n3"]
        assert "n2" in said.err
    finally:
        os.kill(world.cluster.init_of("n2"), signal.SIGCONT)
    assert run_command(["heal", "--cluster", cluster]) == 0


def sweeps(world):
    return sweep_commands(world.remote, {})


def test_the_nodes_lift_the_faults_themselves_when_the_lease_is_not_renewed(world, fresh, capsys):
    """What a control node leaves that loses its power: nothing heals, nothing sweeps."""
    # Renewed until every fault stands, however long that takes.
    with DeadMansTimer(world.remote, sweeps(world), lease_s=LEASE_S, renew_s=0.3) as timer:
        for name, nodes in (("pause-majority", ("n1", "n2", "n3")), ("disk-full", ("n4",))):
            fault = find(name)
            fault.inject(world.ctx, fault.plan(replace(world.ctx, wanted=Targets(nodes)), random.Random(2)))
        find("reset").inject(world.ctx, find("reset").plan(world.ctx, random.Random(2)))
        timer.leave()
    assert not timer.lost
    deadline = time.monotonic() + 120
    while set(world.on_all(f"ls {LIFTED} 2>&1 || true").values()) != {f"{LIFTED}\n"}:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert run_command(["heal", "--cluster", f"netns:{world.cluster.name}"]) == 0
    said = capsys.readouterr().out
    assert "n1: the node itself: continued pid" in said
    assert "n4: the node itself: freed the data filesystem" in said
    assert all(f"{node}: the node itself: removed nft table inet harness" in said for node in world.remote.names)
    assert state(world) == fresh


def test_a_lease_that_is_renewed_does_not_run_out_and_nothing_of_it_stays(world, fresh):
    with DeadMansTimer(world.remote, sweeps(world), lease_s=LEASE_S, renew_s=0.3) as timer:
        fault = find("hammer-time")
        targets = fault.plan(world.ctx, random.Random(2))
        fault.inject(world.ctx, targets)
        time.sleep(1.5 * LEASE_S)
        assert fault.witness(world.ctx, targets)
        fault.heal(world.ctx, targets)
        assert not timer.lost
        watchers = world.on_all("cat /run/harness-lease.pid")
        world.sh("n2", "kill $(cat /run/harness-lease.pid)")
        deadline = time.monotonic() + 120
        while not timer.lost and time.monotonic() < deadline:
            time.sleep(0.05)
        assert timer.lost == {"n2": "n2: its timer is gone"}
    for node, pid in watchers.items():
        world.sh(node, f"for i in $(seq 2000); do [ -e /proc/{pid.strip()} ] || exit 0; sleep 0.02; done; exit 1")
    assert state(world) == fresh


def test_healing_what_never_stood_changes_nothing(world, fresh):
    pids = world.system.pids(world.remote.names)
    for name in sorted(set(FAULTS) - NEEDS_MORE):
        fault = find(name)
        if fault.precheck(world.ctx) is None:
            fault.heal(world.ctx, fault.plan(world.ctx, random.Random(2)))
    assert state(world) == fresh
    assert world.system.pids(world.remote.names) == pids


def test_the_successor_is_killed_too(world):
    elect(world)
    fault = find("kill-leader-then-successor")
    targets = fault.plan(world.with_settings(options={"successor_delay_s": 0.2}), random.Random(2))
    fault.inject(world.ctx, targets)
    gone = fault.witness(world.ctx, targets)["pids_gone"]
    assert len(gone) == 2
    assert {node for node, pid in world.system.pids(world.remote.names).items() if pid is None} == set(gone)
    fault.heal(world.ctx, targets)


def test_an_injection_that_fails_on_one_node_is_healed_on_all(world, fresh):
    world.sh("n3", "mount --bind /bin/false /usr/sbin/nft")
    fault = find("partition-majorities-ring")
    targets = fault.plan(world.ctx, random.Random(2))
    with pytest.raises(FaultError, match="n3: exit 1"):
        fault.inject(world.ctx, targets)
    with pytest.raises(FaultError, match="n3: exit 1"):
        fault.heal(world.ctx, targets)
    others = {node: text for node, text in fresh.items() if node != "n3"}
    assert {
        node: world.sh(node, "nft list ruleset | grep -c harness || true").strip() for node in others
    } == dict.fromkeys(others, "0")
    world.sh("n3", "umount /usr/sbin/nft")
    fault.heal(world.ctx, targets)
    assert state(world) == fresh


def test_composed_faults_overlap_and_leave_nothing(world, fresh):
    events = list[Event]()

    def record(kind, f, value, /):
        events.append(Event(len(events), time.monotonic_ns(), kind, "nemesis", f, value))

    turns = ["bridge+kill-random-processes", "packet-loss+hammer-time@n1/!n2", "reset"]
    steps = cycle(turns, 4.0, 24.0, random.Random(5))
    Runner(world.ctx, steps, record, random.Random(5)).run(threading.Event())
    receipts = receipts_of(events)
    assert {receipt.state for receipt in receipts} == {"installed"}, receipts
    assert {receipt.fault for receipt in receipts} >= {"bridge", "kill-random-processes", "packet-loss", "reset"}
    assert all(receipt.healed for receipt in receipts)
    assert state(world) == fresh


def test_a_target_that_is_down_already_is_skipped(world):
    world.system.end(["n2"])
    wanted = Step(0, "inject", "hammer-time", 0, {"choose": "n2"})
    events: list[Event] = []

    def record(kind, f, value, /):
        events.append(Event(len(events), 0, kind, "nemesis", f, value))

    Runner(world.ctx, [wanted], record, random.Random(0)).run(threading.Event())
    (receipt,) = receipts_of(events)
    assert (receipt.state, receipt.reason) == ("skipped", "n2 is down already")
    with pytest.raises(SkippedError):
        find("kill-all").plan(world.ctx, random.Random(0))


def test_a_snapshot_probe_ends_an_isolation(world):
    """The toy's probes tell what a real follower's status would."""
    elect(world)
    fault = find("isolate-until-snapshot")
    targets = fault.plan(world.ctx, random.Random(2))
    follower = targets.detail["follower"]
    fault.inject(world.ctx, targets)
    try:
        for node in world.remote.names:
            applied = 0 if node == follower else 5000
            role: Role = "leader" if node == world.system.leader else "follower"
            world.system.said[node] = Probe(0, node, role, world.system.term, applied=applied, snapshots_saved=2)
        assert fault.witness(world.ctx, targets)["lag"] == 5000
    finally:
        world.system.said[follower] = replace(world.system.said[follower], snapshots_loaded=1)
        healed = fault.heal(world.ctx, targets)
        world.system.said.clear()
    assert healed["snapshots_loaded"] == 1


def test_groups_that_a_killed_run_left_go_with_the_cluster():
    with real_world("t-nem-group") as one:
        fault = find("cpu-starve")
        if why := fault.precheck(one.ctx):
            pytest.skip(why)
        namespace = Path(f"/proc/{one.cluster.init_of('n2')}/ns/pid").readlink().name.strip("pid:[]")
        fault.inject(one.ctx, fault.plan(replace(one.ctx, wanted=Targets(("n2",))), random.Random(1)))
        groups = [path for path in Path("/sys/fs/cgroup").glob("**/harness-*") if namespace in path.name]
    assert {path.name.split("@", 1)[1] for path in groups} == {"server", "server@cpu"}
    assert not any(path.exists() for path in groups)
