from __future__ import annotations

import pytest

from harness.testing import world
from nemesis.core.errors import FaultError
from nemesis.core.fault import Settings
from nemesis.faults import resources as limits
from tests.support.nemesis.machines import ready

QUIET = "samples 25\nwaiting 5\n"


def starved(name, printed, *, before=QUIET, left=""):
    """``printed`` is what is seen of the process under limits, ``before`` what was seen when it had none."""
    entered = []

    def enter(node, _):
        entered.append(node)
        return ""

    answers = {
        limits._ENTER: enter,
        limits._FELT: lambda node, _: printed if node in entered else before,
        limits._LEAVE: lambda *_: "left",
        'stat -c "%Hd:%Ld" "$0"': lambda *_: "7:3\n",
        limits._INSIDE: lambda *_: left,
    }
    return ready(name, answers)


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("cpu-starve", "inside\nnr_periods 9\nnr_throttled 7\n"),
        ("memory-pressure", "inside\nfailcnt 3\n"),
        ("memory-pressure", "inside\nhigh 3\n"),
        ("disk-slow", "inside\nwrites_served 11\nwrites_served 0\nsamples 25\nwaiting 24\n"),
    ],
)
def test_limits_are_felt_by_the_process_itself(name, printed):
    ctx, fault, targets = starved(name, printed)
    fault.inject(ctx, targets)
    assert set(fault.witness(ctx, targets)["felt"]) == set(targets.nodes)
    assert fault.heal(ctx, targets) == {"limits_gone": list(targets.nodes), "pids_now": targets.detail["pids"]}


@pytest.mark.parametrize(
    ("name", "printed", "complaint"),
    [
        ("cpu-starve", "inside\nnr_throttled 0\n", "did not reach its limits"),
        ("cpu-starve", "nr_throttled 9\n", "not in its group"),
        ("memory-pressure", "inside\nfailcnt 0\n", "did not reach its limits"),
        ("disk-slow", "inside\nwrites_served 11\nsamples 25\nwaiting 8\n", "did not reach its limits"),
        ("disk-slow", "inside\nwrites_served 0\nsamples 25\nwaiting 25\n", "did not reach its limits"),
        ("disk-slow", "inside\nsamples 25\nwaiting 25\n", "did not reach its limits"),
    ],
)
def test_limits_that_are_not_felt_are_doubt(name, printed, complaint):
    ctx, fault, targets = starved(name, printed)
    fault.inject(ctx, targets)
    with pytest.raises(FaultError, match=complaint):
        fault.witness(ctx, targets)


def test_a_disk_that_the_process_always_waited_for_is_not_felt_as_slow():
    usual = "samples 25\nwaiting 18\n"
    ctx, fault, targets = starved("disk-slow", f"inside\nwrites_served 11\n{usual}", before=usual)
    fault.inject(ctx, targets)
    with pytest.raises(FaultError, match="did not reach its limits"):
        fault.witness(ctx, targets)


def test_limits_that_are_felt_only_after_a_while_are_waited_for():
    ctx, fault, targets = starved("cpu-starve", "inside\nnr_throttled 0\n")
    fault.inject(ctx, targets)
    looks = []

    def later(node, command):
        looks.append(node)
        return f"inside\nnr_throttled {int(len(looks) > 20)}\n"

    ctx.nodes.answers[limits._FELT] = later
    assert fault.witness(ctx, targets)["felt"]


def test_processes_left_in_a_group_are_doubt():
    ctx, fault, targets = starved("cpu-starve", "", left="/proc/7/cgroup")
    with pytest.raises(FaultError, match="still under limits"):
        fault.heal(ctx, targets)


def test_the_command_carries_the_limits_of_both_versions():
    ctx, *_ = world()
    starve = next(one for one in limits.RESOURCES if one.name == "disk-slow")
    assert starve.limits.enter(ctx, "n2", "7:3").argv[3:] == (
        "blkio", "/data/harness", "server",
        "1", "blkio.throttle.write_iops_device", "7:3 20",
        "2", "io.max", "7:3 wiops=20",
    )  # fmt: skip


def test_figures_are_options_of_the_plan():
    ctx, *_ = world()
    cpu = next(one for one in limits.RESOURCES if one.name == "cpu-starve")
    from dataclasses import replace

    asked = replace(ctx, settings=Settings(options={"cpu_share": 0.2}))
    assert "20000 100000" in cpu.limits.enter(asked, "n1", "").argv


def test_a_process_that_ended_under_its_limits_is_seen_in_the_receipt():
    """It is started again, and would else seem never to have ended."""
    ctx, fault, targets = starved("cpu-starve", "inside\nnr_throttled 7\n")
    fault.inject(ctx, targets)
    node, *_ = targets.nodes
    ctx.nodes.states[node, targets.detail["pids"][node]] = ""
    seen = fault.heal(ctx, targets)
    assert seen["pids_now"][node] != targets.detail["pids"][node]
    assert seen["ended"] == [node]
    assert fault.heal(ctx, targets)["ended"] == [node], "a healing that is tried again has seen it, too"


def test_a_process_that_ended_for_want_of_memory_was_ended_by_the_fault():
    ctx, fault, targets = starved("memory-pressure", "inside\nfailcnt 3\n")
    node, *_ = targets.nodes
    ctx.nodes.states[node, targets.detail["pids"][node]] = ""
    assert "ended" not in fault.heal(ctx, targets)
