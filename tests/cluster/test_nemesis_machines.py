"""Faults of whole machines on real nodes, looked at from outside the nemesis.

Nodes share the machine's kernel: a test that says ``sync`` without a filesystem takes from the power cuts of those that
run beside it what was not synced.
"""

from __future__ import annotations

import random
import time
from dataclasses import replace

import pytest

from nemesis.core.errors import FaultError
from nemesis.core.fault import Targets
from nemesis.faults.registry import find
from nemesis.sweep import heal_everything
from tests.support.cluster.nemesis_world import PYTHON, real_world

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def world():
    with real_world("t-nem-mach") as one:
        yield one


@pytest.fixture(autouse=True)
def _whole(world):
    yield
    heal_everything(world.remote)
    world.system.start(world.remote.names)


def planned(world, name, nodes=("n2",)):
    fault = find(name)
    if why := fault.precheck(world.ctx):
        pytest.skip(why)
    return fault, fault.plan(replace(world.ctx, wanted=Targets(nodes)), random.Random(1))


WRITE = """
import os
os.makedirs("/data/store", exist_ok=True)
with open("/data/store/synced", "wb") as f:
    f.write(b"x" * 100000); f.flush(); os.fsync(f.fileno())
    f.write(b"y" * 50000); f.flush()
with open("/data/store/unsynced", "wb") as f:
    f.write(b"z" * 1000); f.flush()
"""


@pytest.mark.parametrize("swept", [False, True])
def test_a_power_cut_keeps_what_was_synced_and_nothing_else(world, swept):
    fault, targets = planned(world, "crash-random-nodes")
    world.sh("n2", "rm -rf /data/store; sync -f /data")
    world.python("n2", WRITE)
    fault.inject(world.ctx, targets)
    if swept:
        assert heal_everything(world.remote).undone["n2"] == ("remounted the data filesystem",)
    else:
        witness = fault.witness(world.ctx, targets)
        assert witness["writes_refused"] == ["n2"]
        # All of what was never synced, and of the other file all behind its synced part.
        lost = witness["lost"]["n2"]
        assert set(lost) == {"synced", "unsynced"}
        assert (lost["synced"]["sectors_of_512"], lost["synced"]["first_byte"]) == (98, 100000 // 512 * 512)
        assert (lost["unsynced"]["sectors_of_512"], lost["unsynced"]["first_byte"]) == (2, 0)
        assert world.system.pids(["n2"]) == {"n2": None}
        assert world.system.pids(["n1"])["n1"]
        fault.heal(world.ctx, targets)
        assert world.system.pids(["n2"])["n2"]
    # Names and lengths may have come to the disk with what another process synced; not what was written.
    assert world.sh("n2", "cat /data/store/* | tr -cd x | wc -c").strip() == "100000"
    assert world.sh("n2", "cat /data/store/* | tr -cd yz | wc -c").strip() == "0"
    assert fault.heal(world.ctx, targets)
    assert world.sh("n2", "grep -c ' /data ' /proc/self/mounts").strip() == "1"


def test_a_power_cut_of_a_system_that_had_synced_everything_is_one_that_lost_no_byte(world):
    fault, targets = planned(world, "crash-random-nodes")
    world.sh("n2", "rm -rf /data/store; mkdir /data/store; seq 1000 >/data/store/synced; sync -f /data")
    fault.inject(world.ctx, targets)
    witness = fault.witness(world.ctx, targets)
    assert witness["lost_bytes"] == {"n2": 0}
    assert "note" in witness
    fault.heal(world.ctx, targets)
    assert world.system.pids(["n2"])["n2"]
    assert world.sh("n2", "wc -l </data/store/synced").strip() == "1000"


def test_a_power_cut_comes_at_a_moment_when_something_is_not_synced(world):
    """A process that syncs all but a few milliseconds after it wrote is cut just then.

    On a machine that is busy the cut comes late now and then.
    """
    for _ in range(12):
        witness = cut_beside_late_syncs(world)
        if witness["unsynced_pages"]["n2"] is None:
            pytest.skip("this kernel does not tell what is not synced")
        if witness["lost"]["n2"]:
            break
    assert set(witness["lost"]["n2"]) == {"log"}
    assert witness["lost_bytes"]["n2"] > 0


def cut_beside_late_syncs(world):
    """The witness of a power cut."""
    fault, targets = planned(world, "crash-random-nodes")
    world.sh("n2", "rm -rf /data/store; mkdir /data/store; echo 1 >/data/store/log; sync -f /data")
    world.system.end(["n2"])
    world.system.launch({"n2": (PYTHON, "-c", LATE_SYNC)})
    world.sh(
        "n2", "for i in $(seq 1500); do [ $(stat -c %s /data/store/log) -gt 2 ] && exit 0; sleep 0.02; done; exit 1"
    )
    fault.inject(world.ctx, targets)
    try:
        return fault.witness(world.ctx, targets)
    finally:
        fault.heal(world.ctx, targets)


LATE_SYNC = """
import os, time
file = open("/data/store/log", "ab", buffering=0)
while True:
    file.write(b"x" * 100); time.sleep(0.01); os.fsync(file.fileno()); time.sleep(0.1)
"""


def test_a_failing_disk_refuses_other_writers_until_it_is_healed(world):
    fault, targets = planned(world, "disk-error")
    pid = world.system.pids(["n2"])["n2"]
    fault.inject(world.ctx, targets)
    assert fault.witness(world.ctx, targets)["process"] == {"n2": "S"}
    said = world.sh("n2", "touch /data/other 2>&1 || true")
    assert "Input/output error" in said
    assert fault.heal(world.ctx, targets)["pids_now"]["n2"] != pid
    world.sh("n2", "touch /data/other && rm /data/other")


def test_a_full_disk_is_met_by_other_writers_and_free_again(world):
    fault, targets = planned(world, "disk-full")
    free = world.sh("n2", "stat -f -c %f /data")
    fault.inject(world.ctx, targets)
    try:
        assert fault.witness(world.ctx, targets)
        said = world.sh(
            "n2", "head -c 8192 /dev/zero 2>&1 >/data/other; cat /data/other 2>/dev/null | wc -c; rm -f /data/other"
        )
        assert int(said.split()[-1]) < 8192
        world.sh("n1", "head -c 8192 /dev/zero >/data/other; rm /data/other")
    finally:
        fault.heal(world.ctx, targets)
    assert int(world.sh("n2", "stat -f -c %f /data")) >= int(free) - 16


@pytest.mark.parametrize("name", ["file-truncate", "file-bitflip"])
def test_damage_is_done_while_the_process_is_down(world, name):
    world.sh("n2", "rm -rf /data/store; mkdir -p /data/store; seq 20000 >/data/store/segment; sync -f /data")
    world.sh("n2", "for i in $(seq 20); do echo 1 >/data/store/copy$i.bak; done")
    before = world.sh("n2", "sha256sum /data/store/segment").split()[0]
    ctx = world.with_settings(store_files={"data": ("seg*",)})
    fault = find(name)
    targets = fault.plan(replace(ctx, wanted=Targets(("n2",))), random.Random(1))
    fault.inject(ctx, targets)
    assert world.system.pids(["n2"]) == {"n2": None}
    damage = fault.witness(ctx, targets)["damaged"]["n2"]
    assert (damage["class"], damage["file"], damage["before"]) == ("data", "/data/store/segment", before)
    fault.heal(ctx, targets)
    assert world.system.pids(["n2"])["n2"]
    assert world.sh("n2", "sha256sum /data/store/segment").split()[0] == damage["after"] != before


def cpu_seconds(world, node, pid):
    words = world.sh(node, f"cat /proc/{pid}/stat").rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / 100


SPIN_IN_SYSTEM = """
import socket, sys, time
end = time.monotonic() + 2.0
s = socket.create_connection(("127.0.0.1", 20911))
while time.monotonic() < end:
    s.sendall(b"x" * 60000); s.settimeout(3); s.recv(65536)
"""


def test_a_starved_process_gets_little_of_the_processor(world):
    fault, targets = planned(world, "cpu-starve")
    pid = world.system.pids(["n2"])["n2"]
    fault.inject(world.ctx, targets)
    try:
        assert fault.witness(world.ctx, targets)
        before, began = cpu_seconds(world, "n2", pid), time.monotonic()
        world.python("n2", SPIN_IN_SYSTEM)
        assert (cpu_seconds(world, "n2", pid) - before) / (time.monotonic() - began) < 0.2
    finally:
        fault.heal(world.ctx, targets)
    assert "@cpu" not in world.sh("n2", f"cat /proc/{pid}/cgroup")


#: Has the process write all the time, that it feels its limit where other tests keep the disk and the processors busy.
KEEP_WRITING = """
import os, socket
while os.path.exists("/run/keep-writing"):
    with socket.create_connection(("127.0.0.1", 20911)) as link:
        link.sendall(b"writes")
        link.recv(99)
"""


def test_the_process_writes_slowly_to_a_slow_disk(world):
    fault, targets = planned(world, "disk-slow")
    fault.inject(world.ctx, targets)
    try:
        slow = float(world.ask("n2", "writes"))
        world.sh("n2", f"touch /run/keep-writing; setsid {PYTHON} -c '{KEEP_WRITING}' >/dev/null 2>&1 &")
        felt = fault.witness(world.ctx, targets)["felt"]["n2"]
    finally:
        world.sh("n2", "rm -f /run/keep-writing")
        fault.heal(world.ctx, targets)
    assert felt["writes_served"] > 0
    assert slow > 0.25  # ten at 20 a second, less what may be saved up
    # Other tests keep the disk busy, too: one of several attempts is not hampered by them.
    assert any(float(world.ask("n2", "writes")) < slow / 2 for _ in range(20))
    assert fault.heal(world.ctx, targets)


TOUCH = """
import socket, sys, time
s = socket.create_connection(("127.0.0.1", 20911)); s.settimeout(float(sys.argv[1])); s.sendall(b"memory")
try: print(s.recv(99).decode())
except OSError: print("silence")
"""


@pytest.mark.nightly
def test_the_process_waits_for_memory_until_it_is_given_some(world):
    """64 MB touched anew are too much: the process stands still, its neighbour has no trouble, and it goes on again."""
    assert world.ask("n2", "memory") == "64 MB"
    fault, targets = planned(world, "memory-pressure")
    pid = world.system.pids(["n2"])["n2"]
    fault.inject(world.ctx, targets)
    try:
        assert fault.witness(world.ctx, targets)["felt"]["n2"]["memory.limit_in_bytes"] < 16 << 20
        assert world.python("n2", TOUCH, "1.0").strip() in ("silence", "")
        assert world.ask("n1", "memory") == "64 MB"
    finally:
        fault.heal(world.ctx, targets)
    assert world.system.pids(["n2"])["n2"] == pid
    assert world.ask("n2", "memory") == "64 MB"
    assert fault.heal(world.ctx, targets)


@pytest.mark.parametrize(
    "name",
    [
        "cpu-starve",
        pytest.param("memory-pressure", marks=pytest.mark.nightly),
        pytest.param("disk-slow", marks=pytest.mark.nightly),
    ],
)
def test_limits_that_the_process_does_not_feel_are_doubt(world, name):
    """It sleeps, as an idle system would; nothing works in its group in its stead."""
    world.system.end(["n2"])
    world.system.launch({"n2": ("sleep", "60")})
    fault, targets = planned(world, name)
    fault.inject(world.ctx, targets)
    try:
        with pytest.raises(FaultError, match="did not reach its limits on n2"):
            fault.witness(world.ctx, targets)
    finally:
        fault.heal(world.ctx, targets)
        world.system.end(["n2"])


def test_a_sweep_removes_limits(world):
    fault, targets = planned(world, "cpu-starve")
    fault.inject(world.ctx, targets)
    assert heal_everything(world.remote).undone["n2"] == ("removed limits (cpu)",)
