"""What a shell completes, asked through click's own classes, as the shells ask."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete, get_completion_class

from harness.cli.main import harness, run_command
from harness.systems import find_system
from nemesis.faults.registry import FAULTS
from tests.support.harness.recorded_run import record

ROOT = Path(__file__).resolve().parents[2]


def completed(*words: str) -> list[str]:
    """The completions of the last word."""
    items = BashComplete(harness, {}, "harness", "_HARNESS_COMPLETE").get_completions(list(words[:-1]), words[-1])
    return [str(item.value) for item in items if item.type == "plain"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_that_of_the_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["completion", shell]) == 0
    found = get_completion_class(shell)
    assert found is not None
    assert capsys.readouterr().out == found(click.Group(), {}, "harness", "_HARNESS_COMPLETE").source() + "\n"


def test_verbs_and_options() -> None:
    assert completed("sh") == ["shrink", "show"]
    assert completed("suite", "--bud") == ["--budget"]


def test_faults_one_by_one() -> None:
    assert set(completed("run", "--nemesis", "")) == {"all", *FAULTS}
    assert completed("run", "-n", "bri") == ["bridge"]
    assert completed("run", "--nemesis", "kill-all,bridge+crash-") == [
        "kill-all,bridge+crash-random-nodes",
        "kill-all,bridge+crash-all",
    ]
    assert completed("nightly", "-n", "disk-f") == ["disk-full"]


def test_suites_and_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "smoke" in completed("suite", "")
    assert completed("nightly", "nigh") == ["nightly"]
    assert completed("suite", "./") == [], "left to the shell, which knows files"
    assert completed("run", "--schedule", "lost") == ["lost-writes"]
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "smoky.toml").touch()
    assert completed("suite", "smo") == ["smoke", "smoky"]


def test_systems_and_workloads() -> None:
    assert completed("run", "--system", "zoo") == ["zookeeper"]
    assert completed("run", "--system", "zookeeper@3.9") == ["zookeeper@3.9.3", "zookeeper@3.9.4", "zookeeper@3.9.5"]
    assert completed("ls", "--system", "dled") == ["dledger"]
    own = [one.name for one in find_system("zookeeper").workloads]
    assert completed("run", "--system", "zookeeper@3.9.3", "--workload", "") == own
    assert completed("ls", "--system", "zookeeper", "--workload", "") == own
    assert completed("ls", "--system", "nosuch", "--workload", "") == []
    assert completed("run", "--system", "nosuch", "--fault-o") == ["--fault-options"]
    assert completed("run", "--timers", "s") == ["stock"]
    for words in (
        (
            "list",
            "systems",
        ),
        (
            "list",
            "workloads",
        ),
        ("system", "check"),
        ("suite", "--system"),
    ):
        assert completed(*words, "zoo") == ["zookeeper"]


def test_options_of_the_system_and_models() -> None:
    assert completed("run", "--system", "zookeeper", "-o", "") == [
        f"{one.name}=" for one in find_system("zookeeper").options
    ]
    assert completed("run", "-o", "snapshot=") == ["snapshot=true", "snapshot=false"]
    assert completed("run", "-o", "timers=f") == ["timers=fast"]
    assert completed("check", "--model", "fen") == ["fenced-lock"]


def test_runs_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    root = record(tmp_path / "elsewhere").root
    test = root.parent.name
    runs = [f"{test}/{root.name}", f"{test}/latest"]
    assert completed("show", "") == ["latest"]
    assert completed("show", "--store", "elsewhere", "") == ["latest", *runs]
    for verb in ("check", "report", "replay", "ack", "ingest"):
        assert completed(verb, "--store", "elsewhere", test[:5]) == runs


def test_a_shell_gets_its_answer_and_code_0() -> None:
    words = {"COMP_WORDS": "harness comp", "COMP_CWORD": "1", "_HARNESS_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-m", "harness"], env={**os.environ, "PYTHONPATH": str(ROOT), **words},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "plain,completion\n", "")
