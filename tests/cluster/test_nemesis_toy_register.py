"""A correct register stays linearizable under every fault, and each broken twin is caught by the fault made for it."""

from __future__ import annotations

import os
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

from checker import check_operations
from history import Event, Probe, receipts_of
from nemesis.core.fault import Targets
from nemesis.core.ports import Command, StartError
from nemesis.faults.clocks import environment, prepare
from nemesis.faults.registry import FAULTS
from nemesis.schedule.runner import Runner
from nemesis.schedule.steps import Step
from nemesis.sweep import heal_everything
from tests.support.cluster.nemesis_world import PORT, PYTHON, ToySystem, real_world
from tests.support.cluster.toy_register import Clients

pytestmark = pytest.mark.cluster

SERVER = Path(__file__).resolve().parents[2] / "examples" / "toy-register" / "toy_register" / "server.py"
LOG = "/data/store/log"
#: Its server, which also does what every server does all the time: a fault that it does not feel is none.
PROGRAM = f"""
import toy_life
from pathlib import Path
toy_life.begin(Path({LOG!r}).with_name("life"))
{SERVER.read_text()}"""

#: Elections, transfers and snapshots it has none; damage destroys data by design.
NOT_FOR_IT = {
    "kill-leader-then-successor", "rolling-kill", "leader-transfer", "isolate-until-snapshot", "file-truncate",
    "file-bitflip", "kill-one-process",
}  # fmt: skip

ASK_TIME = """
import json, socket
s = socket.create_connection(("127.0.0.1", 20911), 2.0); s.settimeout(2.0); s.sendall(b'{"op": "clock"}\\n')
print(json.loads(s.makefile().readline())["value"])
"""


class Register(ToySystem):
    """The toy register in the toy system's place: the first node holds the data."""

    bug = "none"

    def begin(self, bug: str) -> None:
        """Everything anew: no data, no process of before."""
        self.bug = bug
        self.end(self.remote.names)
        self.remote.run(dict.fromkeys(self.remote.names, Command(("tee", "/run/toy-system.py"), stdin=PROGRAM)))
        self.remote.run(dict.fromkeys(self.remote.names, Command(("sh", "-c", "rm -rf /data/store; sync -f /data"))))
        self.start(self.remote.names)

    def probes(self):
        """With the time that each process reports, where it will be set wrong."""
        if not self.environment:
            return super().probes()
        asked = self.remote.run(dict.fromkeys(self.remote.names, Command((PYTHON, "-c", ASK_TIME))))
        now = time.monotonic_ns()
        return {
            node: Probe(now, node, "leader" if node == "n1" else "follower", 1, clock_ms=int(1000 * float(one.stdout)))
            if one.code == 0
            else Probe(now, node, error="no answer")
            for node, one in asked.items()
        }

    def start(self, nodes):
        down = [node for node, pid in self.pids(nodes).items() if pid is None]
        holder = self.remote.address("n1")
        program = (PYTHON, "/run/toy-system.py")
        self.launch({node: (*program, "self" if node == "n1" else holder, self.bug, LOG) for node in down})
        look = Command(("bash", "--norc", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{PORT}"))
        deadline = time.monotonic() + 120
        while any(answer.code for answer in self.remote.run(dict.fromkeys(down, look)).values()):
            if time.monotonic() > deadline:
                raise StartError(dict.fromkeys(down, "does not answer"))


@pytest.fixture(scope="module")
def world():
    with real_world(f"t-{os.getpid()}-toy") as one:
        one.system.__class__ = Register
        yield one


def untimed(world):
    world.system.environment = ()
    return world.ctx


def timed(world):
    """The register is started under libfaketime from now on."""
    file = world.ctx.settings.clock_file
    found = environment(world.ctx.facts, "n1", file)
    world.remote.run(dict.fromkeys(world.remote.names, prepare(file)))
    world.system.environment = tuple(f"{name}={value}" for name, value in found.items())
    return world.with_settings(faketime=True)


def judged(world, bug, steps, seed=0, reads_from_fault=False):
    """Load, faults and a verdict: (verdicts by key, receipts, operations).

    ``reads_from_fault``: nothing is written once the fault stands, so that what it destroyed is read and not written
    over.  Until then there are writes: a power cut waits for one that is not synced, and others on this machine sync.
    """
    ctx = timed(world) if any(step.fault.startswith("clock") for step in steps) else untimed(world)
    world.system.work(*(FAULTS[step.fault] for step in steps))
    world.system.begin(bug)
    events: list[Event] = []

    def record(kind, f, value, /):
        if reads_from_fault and events:  # the second event: the fault stands
            clients.only_reads.set()
        events.append(Event(len(events), time.monotonic_ns(), kind, "nemesis", f, value))

    # With that much loss a request is sent again while the kernel still tries to bring its first copy over.
    options = {"loss": 0.4} if bug == "retried" else {}
    ctx = replace(ctx, settings=replace(ctx.settings, beyond_quorum=True, options=options))
    # What was applied twice is seen by reads between: on one key, by nearly all.
    clients = Clients([world.remote.address(node) for node in world.remote.names], keys=1 if bug == "retried" else 3)
    with clients:
        clients.await_ok("write")
        Runner(ctx, steps, record, random.Random(seed)).run(clients.stop)
        clients.await_ok("read")
        clients.stop.wait(1.0)
    heal_everything(world.remote)
    keys = {operation.key for operation in clients.operations}
    verdicts = {
        key: check_operations([op for op in clients.operations if op.key == key], "register", deadline_s=60.0).verdict
        for key in keys
    }
    return verdicts, receipts_of(events), clients.operations


def once(fault, *, start=1.0, end=3.5, choose=None):
    wish = {"choose": choose} if choose else None
    return [Step(start, "inject", fault, 0, wish), Step(end, "heal", fault, 0)]


def assert_sound(world, name, seed):
    verdicts, (receipt,), operations = judged(world, "none", once(name), seed=seed)
    assert receipt.state == "installed", receipt
    # Only the first node writes to its disk: where power fails elsewhere nothing is lost, and the receipt says so.
    if name.startswith("crash") and receipt.nodes != ("n1",):
        assert "note" in receipt.witness
    assert receipt.healed is not None
    assert set(verdicts.values()) == {"valid"}
    moments = [operation.returned for operation in operations if operation.outcome == "ok"]
    assert sum(moment < receipt.started for moment in moments) > 10
    assert sum(moment > receipt.healed for moment in moments) > 10


@pytest.mark.parametrize(
    "name", ["partition-leader-minority", "kill-leader", "pause-leader", "crash-all", "packet-loss", "clock-strobe"]
)
def test_a_correct_register_stays_linearizable(world, name):
    assert_sound(world, name, seed=1)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", sorted(set(FAULTS) - NOT_FOR_IT))
def test_a_correct_register_stays_linearizable_under_every_fault(world, name, seed):
    if why := FAULTS[name].precheck(world.with_settings(faketime=True)):
        pytest.skip(why)
    assert_sound(world, name, seed)


def test_a_full_disk_is_met_by_the_server_itself(world):
    """The register's own write is refused, and works again after the heal."""
    world.system.begin("none")
    clients = Clients([world.remote.address("n1")])
    fault = FAULTS["disk-full"]

    def write() -> dict[str, object]:
        link, answer = clients._ask(None, clients.addresses[0], {"op": "write", "key": "k0", "value": 3000 * "x"})
        if link:
            link.close()
        return answer

    assert write()["ok"]
    targets = fault.plan(replace(world.ctx, wanted=Targets(("n1",))), random.Random(0))
    fault.inject(world.ctx, targets)
    try:
        # The log's last block has room for less than 4 kB more.
        answers = [write()["ok"] for _ in range(5)]
        assert not answers[-1]
    finally:
        fault.heal(world.ctx, targets)
    assert write()["ok"]


@pytest.mark.parametrize(("bug", "fault"), [("unlogged", "kill-all"), ("unsynced", "crash-all")])
def test_a_twin_that_forgets_is_caught_by_the_first_fault(world, bug, fault):
    """Every key was written before it and is read after it, before anybody writes again: no chance, however busy."""
    verdicts, (receipt,), _ = judged(world, bug, once(fault), reads_from_fault=True)
    assert receipt.state == "installed", receipt
    assert "invalid" in verdicts.values()


TWINS = [
    ("stale", "partition-random-node", "n1"),
    ("retried", "packet-loss", None),
]


@pytest.mark.parametrize(("bug", "fault", "choose"), TWINS)
def test_a_broken_twin_is_caught_by_the_fault_made_for_it(world, bug, fault, choose):
    """What shows by chance gets more time with every attempt: a slow machine does less in a second."""
    found = []
    for attempt in range(4):
        steps = once(fault, end=1.0 + 2.5 * 2**attempt, choose=choose)
        verdicts, (receipt,), _ = judged(world, bug, steps, seed=attempt)
        assert receipt.state == "installed", receipt
        found.append(set(verdicts.values()))
        if "invalid" in found[-1]:
            return
    pytest.fail(f"{bug} was not caught by {fault}: {found}")
