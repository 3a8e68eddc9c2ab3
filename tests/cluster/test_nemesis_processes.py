"""Kills and pauses on real nodes, seen from the host's side of the nodes."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from history import Event, receipts_of
from nemesis.core.fault import Targets
from nemesis.faults.registry import find
from nemesis.schedule.runner import Runner
from nemesis.schedule.steps import Step
from nemesis.sweep import heal_everything
from tests.support.cluster.machine import PATIENCE_S
from tests.support.cluster.nemesis_world import PROGRAM, World, real_world

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def world():
    with real_world("t-nem-proc") as one:
        one.system.work()
        yield one


def host_states(world: World) -> dict[str, str]:
    """State letters of the toy system's processes as the host's /proc has them, by node."""
    return {node: state for node, (_, state) in on_host(world).items()}


def host_pids(world: World) -> dict[str, int]:
    return {node: pid for node, (pid, _) in on_host(world).items()}


def on_host(world: World) -> dict[str, tuple[int, str]]:
    found = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            cmdline = (status.parent / "cmdline").read_bytes()
            lines = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
            space = (status.parent / "ns/net").readlink()
        except OSError:
            continue
        if PROGRAM.encode() in cmdline and len(lines["NSpid"].split()) > 1:
            for node in world.remote.names:
                if space == Path(f"/proc/{world.cluster.init_of(node)}/ns/net").readlink():
                    found[node] = int(status.parent.name), lines["State"][0]
    return found


@pytest.mark.parametrize(
    "name",
    [
        "kill-random-processes",
        "kill-leader",
        "kill-followers",
        "kill-all",
        "hammer-time",
        "pause-leader",
        "pause-majority",
    ],
)
def test_the_host_sees_what_was_done(world, name):
    fault = find(name)
    targets = fault.plan(world.ctx, random.Random(3))
    fault.inject(world.ctx, targets)
    try:
        assert fault.witness(world.ctx, targets)
        seen = host_states(world)
        if fault.name.startswith("kill"):
            assert set(seen) == set(world.remote.names) - set(targets.nodes)
        else:
            assert {node for node, state in seen.items() if state == "T"} == set(targets.nodes)
    finally:
        fault.heal(world.ctx, targets)
    assert set(host_states(world)) == set(world.remote.names)
    assert "T" not in host_states(world).values()


def test_a_sweep_continues_what_a_killed_run_left_stopped(world):
    fault = find("pause-majority")
    targets = fault.plan(world.ctx, random.Random(3))
    fault.inject(world.ctx, targets)
    undone = heal_everything(world.remote).undone
    assert {node for node, lines in undone.items() if lines} == set(targets.nodes)
    assert "T" not in host_states(world).values()


def test_rolling_restart_gives_every_node_a_new_process(world):
    fault = find("restart-rolling")
    before = host_pids(world)
    targets = fault.plan(world.ctx, random.Random(3))
    fault.inject(world.ctx, targets)
    assert fault.witness(world.ctx, targets)
    fault.heal(world.ctx, targets)
    after = host_pids(world)
    assert set(before) == set(after) == set(world.remote.names)
    assert not set(before.values()) & set(after.values())


def test_rolling_kill_leaves_one_node_down_and_the_others_with_a_new_process(world):
    fault = find("rolling-kill")
    before = host_pids(world)
    # A node that is always up leads: the toys hold no elections.
    targets = fault.plan(replace(world.ctx, wanted=Targets(("n2", "n3", "n4"))), random.Random(3))
    fault.inject(world.ctx, targets)
    assert fault.witness(world.ctx, targets)
    last, *others = targets.detail["order"]
    during = host_pids(world)
    assert set(world.remote.names) - set(during) == {last}
    assert {node for node in during if during[node] != before[node]} == set(others)
    fault.heal(world.ctx, targets)
    assert set(host_pids(world)) == set(world.remote.names)


def test_stop_in_the_middle_of_a_fault_heals_at_once(world):
    events: list[Event] = []

    def record(kind, f, value, /):
        events.append(Event(len(events), time.monotonic_ns(), kind, "nemesis", f, value))

    steps = [
        Step(0, "inject", "partition-majorities-ring", 0),
        Step(PATIENCE_S, "heal", "partition-majorities-ring", 0),
    ]
    runner, stop = Runner(world.ctx, steps, record, random.Random(0)), threading.Event()
    thread = threading.Thread(target=runner.run, args=(stop,))
    thread.start()
    deadline = time.monotonic() + PATIENCE_S
    while len(events) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    stop.set()
    thread.join(PATIENCE_S)
    (receipt,) = receipts_of(events)
    assert receipt.state == "installed"
    assert receipt.healed is not None
    assert not runner.active
    assert all("harness" not in world.sh(node, "nft list tables") for node in world.remote.names)
