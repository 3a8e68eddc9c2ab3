"""What the doctor makes of what it finds."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from harness.cli.main import run_command
from harness.doctor import Finding, examine, java


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
        "java",
        "mvn",
        "disk",
        "memory",
        "cores",
    } <= {finding.name for finding in findings}


@pytest.mark.parametrize(("weight", "code"), [("needed", 255), ("wanted", 0)])
def test_exit_code(weight: Any, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    finding = Finding("java", good=False, weight=weight, value="not found", mend="install it")
    monkeypatch.setattr("harness.doctor.examine", lambda: (finding,))
    assert run_command(["doctor"]) == code
    assert "not found  -> install it" in capsys.readouterr().out
