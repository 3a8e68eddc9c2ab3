"""Wrong clocks of a real process, by the time that it reports itself."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from harness.cli.main import run_command
from history import Probe
from nemesis.core.fault import Targets
from nemesis.core.ports import Command
from nemesis.faults.clocks import environment, prepare
from nemesis.faults.registry import find
from tests.support.cluster.nemesis_world import PYTHON, ToySystem, real_world

pytestmark = pytest.mark.cluster

ASK = """
import socket, time
s = socket.create_connection(("127.0.0.1", 20911)); s.sendall(b"clock"); print(s.recv(99).decode(), time.monotonic_ns())
"""


class Telling(ToySystem):
    """Asks every node's process for its time, which counts from when that node answered: another may take longer."""

    def probes(self):
        asked = self.remote.run(dict.fromkeys(self.remote.names, Command((PYTHON, "-c", ASK))))
        answers = {node: done.stdout.split() for node, done in asked.items()}
        return {
            n: Probe(int(at), n, "follower", 1, clock_ms=int(1000 * float(now))) for n, (now, at) in answers.items()
        }


@pytest.fixture(scope="module")
def world():
    with real_world("t-nem-clock") as one:
        one.system.work()
        wanted = environment(one.ctx.facts, "n1", one.ctx.settings.clock_file)
        if not wanted:
            pytest.skip("no libfaketime on this machine")
        one.sh("n1", "true")
        one.remote.run(dict.fromkeys(one.remote.names, prepare(one.ctx.settings.clock_file)))
        for node, pid in one.system.pids(one.remote.names).items():
            one.sh(node, f"kill -9 {pid}; while [ -e /proc/{pid} ]; do sleep 0.01; done")
        one.system = Telling(one.remote, environment=tuple(f"{name}={value}" for name, value in wanted.items()))
        one.system.start(one.remote.names)
        one.ctx = replace(one.ctx, system=one.system, settings=replace(one.ctx.settings, faketime=True))
        yield one


def ahead_ms(world) -> float:
    """By how much n2's clock is ahead of n1's; a busy machine asks one long after the other."""
    probes = world.system.probes()
    ahead, other = probes["n2"], probes["n1"]
    return ahead.clock_ms - other.clock_ms - (ahead.time - other.time) / 1e6


@pytest.mark.parametrize("name", ["clock-skew", "clock-jump", "clock-strobe"])
def test_the_process_itself_shows_the_wrong_time_and_then_the_right_one(world, name):
    fault = find(name)
    assert fault.precheck(world.ctx) is None
    targets = fault.plan(replace(world.ctx, wanted=Targets(("n2",))), random.Random(1))
    fault.inject(world.ctx, targets)
    try:
        off = fault.witness(world.ctx, targets)["clock_off_ms"]["n2"]
        assert abs(off) > 300
        if name == "clock-skew":
            assert abs(ahead_ms(world) - off) < 1000
    finally:
        healed = fault.heal(world.ctx, targets)
    assert abs(healed["clock_off_ms_now"]["n2"]) < 300


@pytest.mark.parametrize("name", ["clock-skew", "clock-jump", "clock-strobe"])
def test_harness_heal_sets_the_clock_right(world, name, capsys):
    fault = find(name)
    targets = fault.plan(replace(world.ctx, wanted=Targets(("n2",))), random.Random(1))
    fault.inject(world.ctx, targets)
    assert run_command(["heal", "--cluster", f"netns:{world.cluster.name}"]) == 0
    assert capsys.readouterr().out == "n2: set the clock right\n"
    assert abs(ahead_ms(world)) < 1000
