from __future__ import annotations

import random
import struct
import subprocess
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from harness.testing import world
from nemesis.core.errors import FaultError, NotYetError
from nemesis.core.facts import Facts
from nemesis.core.fault import Settings
from nemesis.core.ports import Command, Completed
from nemesis.faults import clocks
from nemesis.faults.clocks import Tune, environment
from nemesis.faults.registry import find
from tests.support.nemesis.clocks import LIBRARY, clocked


@pytest.mark.parametrize("name", ["clock-skew", "clock-jump", "clock-strobe"])
def test_a_wrong_clock_is_seen_in_the_probes_and_healed(name):
    ctx, fault = clocked(), find(name)
    assert fault.precheck(ctx) is None
    targets = fault.plan(ctx, random.Random(1))
    fault.inject(ctx, targets)
    seen = fault.witness(ctx, targets)["clock_off_ms"]
    for node, shift in seen.items():
        assert shift == pytest.approx(1000 * targets.detail["offsets_s"][node][-1], abs=20)
    reported = fault.heal(ctx, targets)["clock_off_ms_now"]
    assert all(abs(shift) < 20 for shift in reported.values())


def test_a_clock_that_does_not_follow_is_doubt():
    ctx, fault = clocked(deaf_rules=True), find("clock-skew")
    targets = fault.plan(ctx, random.Random(1))
    fault.inject(ctx, targets)
    with pytest.raises(FaultError, match="did not report a wrong time"):
        fault.witness(ctx, targets)


def test_a_node_that_reports_no_time_is_waited_for():
    ctx, *_ = world()
    with pytest.raises(NotYetError):
        find("clock-skew").plan(ctx, random.Random(0))


def test_one_offset_is_set_and_several_are_played():
    assert Tune((1.5,)).play("/run/c").argv[3:] == ("/run/c", "+1.500")
    assert Tune((0.0, -2.25), 0.1).play("/run/c").argv[3:] == ("/run/c", "0.1", "+0.000", "-2.250")


def test_the_environment_is_that_under_which_timed_waits_stay_true():
    able = Facts({"n1": ("10.0.0.1",)}, {"n1": frozenset({f"faketime:{LIBRARY}"})})
    wanted = environment(able, "n1", "/run/c")
    assert wanted["LD_PRELOAD"] == LIBRARY
    assert wanted["FAKETIME_FORCE_MONOTONIC_FIX"] == "0"
    assert environment(able, "n2", "/run/c") == {}


def test_it_is_refused_without_the_library_or_when_the_system_runs_without_it():
    ctx, *_ = world()
    assert "libfaketime is missing on n1" in (find("clock-jump").precheck(ctx) or "")
    assert "does not run under" in (find("clock-jump").precheck(replace(clocked(), settings=Settings())) or "")


def test_commands_are_values():
    assert isinstance(Tune((1.0,)).play("/run/c"), Command)


def elf(*segments: int) -> bytes:
    """The head of a program of 64 bits with segments of these types."""
    head = bytearray(64 + 56 * len(segments))
    head[:5] = b"\x7fELF\x02"
    struct.pack_into("Q", head, 32, 64)
    struct.pack_into("HH", head, 54, 56, len(segments))
    for number, kind in enumerate(segments):
        struct.pack_into("I", head, 64 + 56 * number, kind)
    return bytes(head)


@pytest.mark.parametrize(
    ("content", "static"),
    [
        (elf(6, 3, 1), False),
        (elf(1, 1), True),  # as Go's
        (b"#!/usr/bin/env python3\nprint()\n", False),
        (b"no program at all", False),
    ],
)
def test_a_static_program_is_told_from_others(tmp_path: Path, content: bytes, static: bool) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "server").write_bytes(content)
    words = ["python3", "-c", clocks._STATIC, str(tmp_path), "bin/server"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ([f"{tmp_path}/bin/server"] if static else [])


def test_a_script_that_a_static_program_runs_is_static(tmp_path: Path) -> None:
    (tmp_path / "server").write_text(f"#!{tmp_path}/loader\n")
    (tmp_path / "loader").write_bytes(elf(1))
    words = ["python3", "-c", clocks._STATIC, str(tmp_path), f"{tmp_path}/server"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.split() == [f"{tmp_path}/loader"]


def test_a_static_program_is_refused_before_the_run() -> None:
    ctx = clocked()
    ctx = replace(ctx, settings=replace(ctx.settings, programs={"n2": "/opt/etcd"}))

    def run(commands):
        return {node: Completed(node, 0, f"{one.argv[-1]}\n", "", 0.0) for node, one in commands.items()}

    with mock.patch.object(ctx.nodes, "run", run):
        for fault in clocks.CLOCKS:
            assert fault.precheck(ctx) == "libfaketime cannot reach a static program: /opt/etcd on n2"
