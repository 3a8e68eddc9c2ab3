from __future__ import annotations

import pytest

from nemesis import limits
from nemesis.errors import FaultError
from nemesis.fault import Settings
from tests.nemesis.test_machines import ready
from tests.nemesis.toy import world


def starved(name, printed, **more):
    answers = {limits._ENTER: lambda *_: "", limits._WORK: lambda *_: printed, limits._LEAVE: lambda *_: "left"}
    answers['stat -c "%Hd:%Ld" "$0"'] = lambda *_: "7:3\n"
    answers['grep -l "harness-[0-9]*-$0" /proc/[0-9]*/cgroup; exit 0'] = lambda *_: more.get("left", "")
    return ready(name, answers)


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("cpu-starve", "inside\ntook_ms 700\nnr_periods 9\nnr_throttled 7\n"),
        ("memory-pressure", "inside\ntook_ms 100\nfailcnt 3\n"),
        ("memory-pressure", "inside\ntook_ms 100\nmax 3\n"),
        ("disk-slow", "inside\ntook_ms 480\n"),
    ],
)
def test_limits_are_felt_by_work_inside_the_group(name, printed):
    ctx, fault, targets = starved(name, printed)
    fault.inject(ctx, targets)
    assert fault.witness(ctx, targets)["felt"]
    assert fault.heal(ctx, targets) == {"limits_gone": list(targets.nodes)}


@pytest.mark.parametrize(
    ("name", "printed", "complaint"),
    [
        ("cpu-starve", "inside\nnr_throttled 0\n", "not felt"),
        ("cpu-starve", "nr_throttled 9\n", "not in its group"),
        ("memory-pressure", "inside\nfailcnt 0\n", "not felt"),
        ("disk-slow", "inside\ntook_ms 30\n", "not felt"),
    ],
)
def test_limits_that_are_not_felt_are_doubt(name, printed, complaint):
    ctx, fault, targets = starved(name, printed)
    with pytest.raises(FaultError, match=complaint):
        fault.witness(ctx, targets)


def test_processes_left_in_a_group_are_doubt():
    ctx, fault, targets = starved("cpu-starve", "", left="/proc/7/cgroup")
    with pytest.raises(FaultError, match="still under limits"):
        fault.heal(ctx, targets)


def test_the_command_carries_the_limits_of_both_versions():
    ctx, *_ = world()
    starve = next(one for one in limits.LIMITS if one.name == "disk-slow")
    assert starve.limits.enter(ctx, 42, "7:3").argv[3:] == (
        "blkio", "42",
        "1", "blkio.throttle.write_iops_device", "7:3 20",
        "2", "io.max", "7:3 wiops=20",
    )  # fmt: skip


def test_figures_are_options_of_the_plan():
    ctx, *_ = world()
    cpu = next(one for one in limits.LIMITS if one.name == "cpu-starve")
    from dataclasses import replace

    asked = replace(ctx, settings=Settings(options={"cpu_share": 0.2}))
    assert "20000 100000" in cpu.limits.enter(asked, 1, "").argv
