"""What the doctor makes of what it finds."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from harness.cli.main import run_command
from harness.doctor import Examined, FaultFinding, FaultTable, ask_faults, examine, examine_faults, faketime, java
from harness.plan import Plan
from harness.testing import FakeNodes
from nemesis.faults.registry import FAULTS


@pytest.mark.parametrize(
    ("said", "good"),
    [
        ('openjdk version "17.0.15" 2025-04-15', True),
        ('openjdk version "21" 2023-09-19', True),
        ('java version "1.8.0_401"', False),
        ('openjdk version "11.0.2" 2019', False),
        ("nonsense", False),
    ],
)
def test_java(said: str, good: bool) -> None:
    def run(words: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 0, "", said)

    found = java(run)
    assert found.good is good
    assert bool(found.mend) is not good


def test_no_java() -> None:
    def run(*_: Any, **__: Any) -> subprocess.CompletedProcess[str]:
        raise FileNotFoundError

    assert java(run).value == "not found"


def test_everything_bad_has_a_mend() -> None:
    findings = examine()
    assert all(bool(finding.mend) is not finding.good for finding in findings)
    assert {
        "root",
        "overlay",
        "loop",
        "nft",
        "iptables",
        "netem",
        "xfs_io",
        "faketime",
        "java",
        "mvn",
        "disk",
        "memory",
        "cores",
    } <= {finding.name for finding in findings}


@pytest.mark.parametrize(("weight", "code"), [("needed", 255), ("wanted", 0)])
def test_exit_code(weight: Any, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    finding = Examined("java", good=False, weight=weight, value="not found", mend="install it")
    monkeypatch.setattr("harness.doctor.examine", lambda: (finding,))
    assert run_command(["doctor", "--no-faults"]) == code
    assert "not found  -> install it" in capsys.readouterr().out


def test_faketime(tmp_path: Path) -> None:
    assert "apt-get install libfaketime" in faketime(tmp_path).mend
    (tmp_path / "arch" / "faketime").mkdir(parents=True)
    (tmp_path / "arch" / "faketime" / "libfaketimeMT.so.1").touch()
    assert faketime(tmp_path).good


# -- faults ------------------------------------------------------------------------------------------------------------

SYSTEM: Any = SimpleNamespace(surface=Plan(seed=0).under_test.surface(Plan(seed=0).setup()), members=(), hit={})


class Machines(FakeNodes):
    data_dirs: ClassVar[dict[str, str]] = {}


def test_every_fault_is_asked_and_what_cannot_work_says_why() -> None:
    """The toy's nodes have a shell and nothing else."""
    found = {fault.name: fault for fault in ask_faults(Machines(), SYSTEM)}
    assert set(found) == set(FAULTS)
    assert found["kill-leader"].available
    assert found["leader-transfer"].available
    assert found["bridge"].reason == (
        "neither nftables nor iptables works on every node (nftables missing on n1, n2, n3, n4, n5)"
    )
    assert found["clock-skew"].reason is not None
    assert "apt-get install libfaketime" in found["clock-skew"].reason
    assert not any(found[name].available for name in ("packet-delay", "crash-all", "cpu-starve", "disk-full"))


TABLE = FaultTable(
    "netns:doctor",
    (
        FaultFinding("disk-slow", "machine", "slow disks", "no control groups"),
        FaultFinding("bridge", "network", "two halves", None),
    ),
)


@pytest.fixture
def _table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.doctor.examine", lambda: (Examined("root", True, "needed", "uid 0"),))  # noqa: FBT003
    monkeypatch.setattr("harness.doctor.examine_faults", lambda spec: replace(TABLE, cluster=spec))


@pytest.mark.usefixtures("_table")
def test_the_table_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["doctor", "--cluster", "netns:x"]) == 0
    said = capsys.readouterr().out
    assert "Faults on netns:x: 1 of 2 can be used" in said
    assert "  without  disk-slow  -> no control groups\nnetwork:\n  ok       bridge     two halves" in said


@pytest.mark.usefixtures("_table")
def test_the_table_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["doctor", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["machine"][0]["name"] == "root"
    assert record["faults"]["cluster"] == "netns:doctor"
    assert [(one["name"], one["available"], one["reason"]) for one in record["faults"]["faults"]] == [
        ("disk-slow", False, "no control groups"), ("bridge", True, None),
    ]  # fmt: skip


def test_a_cluster_that_cannot_be_had_is_said(tmp_path: Path) -> None:
    table = examine_faults(f"inventory:{tmp_path}/none.toml")
    assert not table.faults
    assert table.untried is not None
    assert "none.toml" in table.untried
