"""Power cuts, full disks and damage, on nodes that answer what they are told to answer."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from nemesis import disks, power
from nemesis.catalogue import find
from nemesis.errors import FaultError
from nemesis.fault import Context, Settings
from nemesis.view import Command
from tests.nemesis.toy import ToyNodes, ToySystem, facts, world

TOOLS = ("xfs_io", "mount", "umount", "dd", "fallocate", "stat", "python3")


@dataclass
class Answering(ToyNodes):
    """Answers by script, the toy's way where no answer is given for it."""

    answers: dict[str, Callable[[str, Command], str]] = field(default_factory=dict)

    def _one(self, node, command):
        for script, answer in self.answers.items():
            if script in command.argv:
                return 0, answer(node, command), ""
        return super()._one(node, command)


def ready(name, answers):
    ctx, _, _, clock = world()
    nodes = Answering(ctx.nodes.names, clock=clock, answers=answers)
    ctx = Context(nodes, ToySystem(nodes), clock, facts(nodes.names, nodes, *TOOLS))
    return ctx, find(name), find(name).plan(ctx, random.Random(1))


def cut_kills(node_states):
    def cut(node, command):
        node_states[node, int(command.argv[4])] = ""
        return ""

    return cut


def cut_world(writes="refused", canary="canary lost", mount="7:3 ext4 /dev/loop3 rw,noatime"):
    ctx, fault, targets = ready(
        "crash-random-nodes",
        {power._WRITE: lambda *_: writes, power._REMOUNT: lambda *_: canary, power._LOOK: lambda *_: mount},
    )
    ctx.nodes.answers[power._CUT] = cut_kills(ctx.nodes.states)
    return ctx, fault, targets


def test_a_power_cut_is_witnessed_by_refused_writes_and_the_lost_canary():
    ctx, fault, targets = cut_world()
    fault.inject(ctx, targets)
    (node, cut) = ctx.nodes.sent[-1]
    assert cut.argv[3:] == ("/data", str(targets.detail["pids"][node]), ".harness-unsynced")
    witness = fault.witness(ctx, targets)
    assert witness["writes_refused"] == list(targets.nodes)
    healed = fault.heal(ctx, targets)
    assert all(healed["unsynced_lost"].values())
    assert all(pid for pid in healed["pids_now"].values())


def test_a_failing_disk_leaves_the_process_and_is_healed_by_a_new_one():
    ctx, fault, targets = ready(
        "disk-error",
        {power._WRITE: lambda *_: "refused", power._REMOUNT: lambda *_: "canary lost", "shutdown -f": lambda *_: ""},
    )
    fault.inject(ctx, targets)
    assert set(fault.witness(ctx, targets)["process"].values()) == {"S"}
    healed = fault.heal(ctx, targets)["pids_now"]
    assert all(healed[node] != pid for node, pid in targets.detail["pids"].items())


def test_a_process_whose_pid_cannot_be_read_from_the_failed_disk_is_ended_all_the_same():
    ctx, fault, targets = ready("disk-error", {power._WRITE: lambda *_: "refused", "shutdown -f": lambda *_: ""})
    system, told = ctx.system, ctx.system.pids
    system.pids = lambda nodes: dict.fromkeys(nodes)

    def remount(node, command):
        assert not ctx.nodes.states[node, targets.detail["pids"][node]], "umount: target is busy"
        system.pids = told
        return "canary lost"

    ctx.nodes.answers[power._REMOUNT] = remount
    fault.inject(ctx, targets)
    healed = fault.heal(ctx, targets)["pids_now"]
    assert all(healed[node] != pid for node, pid in targets.detail["pids"].items())


def test_a_disk_that_still_takes_writes_was_not_cut():
    ctx, fault, targets = cut_world(writes="writable")
    fault.inject(ctx, targets)
    with pytest.raises(FaultError, match="can still be written to"):
        fault.witness(ctx, targets)


def test_the_process_is_frozen_before_and_killed_after_the_cut():
    steps = [line.split('"')[0].split()[:3] for line in power._CUT.splitlines() if line]
    assert [words[-1] for words in (steps[0], steps[3])] == ["STOP", "KILL"]
    assert "shutdown" in power._CUT.splitlines()[2]
    assert "shutdown -f" not in power._CUT


@pytest.mark.parametrize(
    ("mount", "why"),
    [("", "no XFS or ext4"), ("0:5 tmpfs data rw", "no XFS or ext4"), ("8:1 ext4 /dev/sda1 rw", "cut_real_disks")],
)
def test_what_cannot_or_must_not_be_cut_is_refused(mount, why):
    ctx, fault, _ = cut_world(mount=mount)
    assert why in fault.precheck(ctx)


def test_a_loop_mounted_filesystem_may_be_cut_and_a_real_one_when_allowed():
    ctx, fault, _ = cut_world()
    assert fault.precheck(ctx) is None
    ctx, fault, _ = cut_world(mount="8:1 xfs /dev/sda1 rw")
    assert fault.precheck(replace(ctx, settings=Settings(options={"cut_real_disks": 1}))) is None


@pytest.mark.parametrize("answer", ["written", "Input/output error"])
def test_a_disk_is_full_only_when_a_write_is_answered_so(answer):
    ctx, fault, targets = ready("disk-full", {disks._FILL: lambda *_: "", disks._TRY: lambda *_: answer})
    fault.inject(ctx, targets)
    with pytest.raises(FaultError, match="64 KiB"):
        fault.witness(ctx, targets)


def test_a_full_disk_is_witnessed_and_must_take_writes_again_when_healed():
    answers = {disks._FILL: lambda *_: "", disks._FREE: lambda *_: "", disks._TRY: lambda *_: "No space left"}
    ctx, fault, targets = ready("disk-full", answers)
    fault.inject(ctx, targets)
    assert set(fault.witness(ctx, targets)["writes_answered"].values()) == {"No space left"}
    with pytest.raises(FaultError, match="still"):
        fault.heal(ctx, targets)
    answers[disks._TRY] = lambda *_: "written"
    assert fault.heal(ctx, targets)["pids_now"]


@pytest.mark.parametrize(("now", "stands"), [("b", True), ("a", False)])
def test_damage_is_witnessed_by_the_files_digest(now, stands):
    done = json.dumps({"file": "/x", "before": "a", "after": "b", "now": now})
    ctx, fault, targets = ready("file-bitflip", {disks._DAMAGE: lambda *_: "", disks._INSPECT: lambda *_: done})
    fault.inject(ctx, targets)
    if stands:
        assert fault.witness(ctx, targets)["damaged"][targets.nodes[0]]["file"] == "/x"
    else:
        with pytest.raises(FaultError, match="as it was"):
            fault.witness(ctx, targets)


@pytest.mark.parametrize("kind", ["truncate", "bitflip"])
def test_the_damage_program_hits_content_and_repeats_under_its_seed(kind, tmp_path):
    reports = []
    for attempt in range(2):
        store = tmp_path / str(attempt) / "store"
        store.mkdir(parents=True)
        (store / "empty").touch()
        (store / "zeros").write_bytes(bytes(5000))
        (store / "segment").write_bytes(bytes(range(1, 201)) + bytes(5000))
        report = tmp_path / f"report-{attempt}"
        subprocess.run(["python3", "-c", disks._DAMAGE, str(store), kind, "5", "7", str(report)], check=True)
        done = json.loads(report.read_text())
        assert done["file"].endswith("segment")
        assert done["used"] == 200
        assert done["before"] != done["after"]
        reports.append({**done, "file": ""})
        now = (store / "segment").read_bytes()
        if kind == "truncate":
            assert len(now) == 195
        else:
            assert len(now) == 5200
            assert sum((a ^ b).bit_count() for a, b in zip(now, bytes(range(1, 201)) + bytes(5000), strict=True)) == 5
    assert reports[0] == reports[1]


def test_damage_hits_one_node_of_a_majority_that_stays():
    for seed in range(20):
        ctx, *_ = world()
        ctx = replace(ctx, busy=frozenset({"n1", "n2"}))
        with pytest.raises(Exception, match="no node is left"):
            find("file-truncate").plan(ctx, random.Random(seed))
