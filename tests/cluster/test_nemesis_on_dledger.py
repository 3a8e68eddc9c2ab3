"""Faults that only the real system can show: the JVM's own clock, its leadership, its snapshots, its full disk.

One cluster of real servers, started under libfaketime, with snapshots; what is asserted is what the servers themselves
answer or write into their own logs.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from harness.clients.wire import BlockingWire
from harness.execution.fault_view import RunClock, view_of
from harness.plan import Plan
from harness.remote.nodes import Remote
from harness.systems.deployment import Deployment, fetch, machines
from harness.systems.dledger.status import CLIENT_PORT, figures
from history import Probe
from nemesis.core.errors import FaultError, SkippedError
from nemesis.core.facts import survey
from nemesis.core.fault import Context, Settings, Targets
from nemesis.core.ports import Command
from nemesis.faults.clocks import environment, prepare
from nemesis.faults.registry import find
from nemesis.schedule.heartbeats import await_heartbeat
from tests.support.cluster.nemesis_world import real_cluster

pytestmark = pytest.mark.cluster

THRESHOLD = 200
#: Each node more is a JVM that is started.
THREE = 3


@dataclass
class Servers:
    """``leader`` asks the servers, not the nemesis."""

    ctx: Context
    system: Deployment
    remote: Remote

    def status(self, node: str) -> dict[str, Any]:
        return BlockingWire(self.remote.address(node), CLIENT_PORT).ask({"op": "status"})

    def leader(self) -> str:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            named = [node for node in self.remote.names if self.status(node)["role"] == "leader"]
            if named:
                return max(named, key=lambda node: self.status(node)["term"])
            time.sleep(0.1)
        raise AssertionError("no node leads")

    def reported(self, node: str, line: str) -> bool:
        """Whether the server wrote such a line into its own log."""
        look = Command(("grep", "-qF", "--", line, "/data/harness/log/register.log"))
        return self.remote.run({node: look})[node].code == 0

    def write(self, count: int, keys: int = 5) -> int:
        """Write this often, one after another, at the leader; returns how many were ok."""
        port = BlockingWire(self.remote.address(self.leader()), CLIENT_PORT)
        return sum(
            port.ask({"op": "write", "key": f"k{n % keys}", "value": n}, timeout=4.0)["ok"] is True
            for n in range(count)
        )


def probes(system: Deployment) -> Mapping[str, Probe]:
    from harness.execution.probes import probe_of

    found = {}
    for machine in system.setup.nodes:
        node = machine.name
        try:
            answer = BlockingWire(machine.address, CLIENT_PORT).ask({"op": "status"})
            found[node] = probe_of(figures(answer), node, time.monotonic_ns())
        except (OSError, ValueError) as error:
            found[node] = Probe(time.monotonic_ns(), node, error=str(error))
    return found


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    plan = Plan(seed=1, options={"snapshot": True, "snapshot_threshold": THRESHOLD})
    fetch(plan.under_test, plan.setup(), print)
    with real_cluster("t-nem-dl", THREE) as cluster, Remote(cluster.nodes) as remote:
        facts, file = survey(remote), Settings().clock_file
        if not environment(facts, "n1", file):
            pytest.skip("no libfaketime on this machine")
        system = Deployment(plan.under_test, plan.setup(machines(cluster.nodes)), remote, time.monotonic)
        system.install()
        remote.run(dict.fromkeys(remote.names, prepare(file)))
        system.set_environments({node: environment(facts, node, file) for node in remote.names})
        system.start(remote.names)
        system.await_leader()
        settings = Settings(peer_ports=(20911,), store="harness/register", snapshot_threshold=THRESHOLD, faketime=True)
        view = view_of(system, lambda: probes(system))
        yield Servers(Context(remote, view, RunClock(time.monotonic_ns), facts, settings), system, remote)
        system.kill(remote.names)


def test_a_power_cut_in_the_first_seconds_leaves_the_program() -> None:
    """A server that could not be started again for want of its jar would look like a system that does not come back."""
    plan = Plan(seed=1)
    with real_cluster("t-nem-cut", THREE) as cluster, Remote(cluster.nodes) as remote:
        system = Deployment(plan.under_test, plan.setup(machines(cluster.nodes)), remote, time.monotonic)
        ctx = Context(
            remote, view_of(system, lambda: probes(system)), RunClock(time.monotonic_ns), survey(remote), Settings()
        )
        fault = find("crash-all")
        if why := fault.precheck(ctx):
            pytest.skip(why)
        system.install()
        remote.run(ctx.at_data(remote.names, 'xfs_io -x -c shutdown "$0"'))
        fault.heal(ctx, Targets(remote.names, detail={"pids": {}}))
        assert all(probe.answered for probe in probes(system).values())
        system.kill(remote.names)


def test_the_jvm_itself_shows_the_wrong_time(servers: Servers) -> None:
    fault = find("clock-skew")
    assert fault.precheck(servers.ctx) is None
    follower = next(node for node in servers.remote.names if node != servers.leader())
    targets = fault.plan(replace(servers.ctx, wanted=Targets((follower,))), random.Random(1))
    (asked,) = targets.detail["offsets_s"][follower]

    def off_by(seconds: float) -> bool:
        """The answer was made between these two looks at our own clock, however long it took."""
        before = time.time()
        says = int(str(servers.status(follower)["clockMs"])) / 1000
        return before - 0.05 <= says - seconds <= time.time() + 0.05

    assert off_by(0)
    fault.inject(servers.ctx, targets)
    try:
        assert off_by(asked)
        assert fault.witness(servers.ctx, targets)
    finally:
        fault.heal(servers.ctx, targets)
    assert off_by(0)


def test_a_heartbeat_of_the_leader_is_distinguished_from_its_other_packets(servers: Servers) -> None:
    def awaiting(text: str) -> Context:
        return replace(servers.ctx, settings=replace(servers.ctx.settings, heartbeat=text))

    assert servers.system.surface.heartbeat
    refusals: list[str] = []
    while True:  # on a busy machine the leader may be another one by the time its packets are looked at
        try:
            await_heartbeat(awaiting(servers.system.surface.heartbeat))
            break
        except SkippedError as error:
            refusals.append(str(error))
            assert len(refusals) < 10, refusals
    with pytest.raises(SkippedError, match=r"no heartbeat among [1-9]\d* packets"):
        await_heartbeat(awaiting('"code":51005'))  # a request to hand over, which is not made


def test_the_leader_hands_over_on_request(servers: Servers) -> None:
    """Leadership may go on at once, on a busy machine: what stays is what the server wrote into its own log."""
    fault = find("leader-transfer")
    assert fault.precheck(servers.ctx) is None
    refusals: list[str] = []
    while True:
        try:
            targets = fault.plan(servers.ctx, random.Random(1))
            fault.inject(servers.ctx, targets)
            witness = fault.witness(servers.ctx, targets)
            break
        except (FaultError, SkippedError) as error:
            refusals.append(str(error))
            seen = {node: probe.to_json() for node, probe in servers.ctx.system.probes().items()}
            assert len(refusals) < 8, f"never handed over: {refusals}; now {seen}"
            time.sleep(2.0)
    (to,) = targets.nodes
    assert (witness["leader"], to != targets.detail["from"]) == (to, True)
    assert servers.reported(to, f"[{to}] [ChangeRoleToLeader] from term: {witness['term']}"), (
        targets,
        witness,
        refusals,
    )
    fault.heal(servers.ctx, targets)


@pytest.mark.nightly
def test_the_cut_off_follower_counts_the_snapshot_that_it_was_given(servers: Servers) -> None:
    fault = find("isolate-until-snapshot")
    assert servers.write(50) > 0
    targets = fault.plan(servers.ctx, random.Random(1))
    follower = targets.detail["follower"]
    before = int(str(servers.status(follower)["snapshotsLoaded"]))
    fault.inject(servers.ctx, targets)
    try:
        assert servers.write(4 * THRESHOLD) > 2 * THRESHOLD
        assert fault.witness(servers.ctx, targets)["lag"] > THRESHOLD
        assert int(str(servers.status(follower)["snapshotsLoaded"])) == before
    finally:
        fault.heal(servers.ctx, targets)
    deadline = time.monotonic() + 40.0
    while int(str(servers.status(follower)["snapshotsLoaded"])) == before:
        assert time.monotonic() < deadline, "no snapshot was installed"
        servers.write(20)


@pytest.mark.nightly
def test_the_server_meets_the_full_disk(servers: Servers) -> None:
    """The server's own log file cannot grow any more, and does again after the heal."""
    fault, follower = find("disk-full"), servers.remote.names[-1]
    targets = fault.plan(replace(servers.ctx, wanted=Targets((follower,))), random.Random(1))

    def log_size() -> int:
        look = Command(("stat", "-c", "%s", "/data/harness/log/register.log"))
        return int(servers.remote.run({follower: look})[follower].stdout)

    fault.inject(servers.ctx, targets)
    try:
        assert fault.witness(servers.ctx, targets)
        full = log_size()
        time.sleep(4.0)  # it reports its state every 3 s
        assert log_size() - full < 4096
    finally:
        fault.heal(servers.ctx, targets)
    time.sleep(4.0)
    assert log_size() > full
