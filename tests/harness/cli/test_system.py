"""``harness system``: one that can be run as it stands, and what a system lacks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cli.main import run_command
from harness.plan import Plan
from harness.systems.conformance import FAULTS, Trial
from harness.systems.program.file_type import read_system_file
from history import Operation, Probe


def test_it_writes_a_system_that_can_be_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "a" / "mine"
    assert run_command(["system", "new", str(directory)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        str(directory / name) for name in ("client.py", "client.sh", "kv.toml", "server.py")
    ]
    found = read_system_file(directory / "kv.toml")
    assert found.options["replication"].default == "sync"
    assert "#:schema" not in (directory / "kv.toml").read_text()
    assert os.access(directory / "client.sh", os.X_OK)


def test_what_is_there_is_never_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kv.toml").write_text("mine")
    assert run_command(["system", "new", str(tmp_path)]) == 254
    assert capsys.readouterr().err == f"harness: {tmp_path} is not empty: name a new directory\n"
    assert (tmp_path / "kv.toml").read_text() == "mine"


def test_a_place_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert run_command(["system", "new", str(tmp_path / "file" / "below")]) == 254
    assert "Not a directory" in capsys.readouterr().err


# -- check -------------------------------------------------------------------------------------------------------------


class Nodes:
    """A cluster that is not there."""

    def __init__(self) -> None:
        self.downs = 0

    def status(self) -> SimpleNamespace:
        return SimpleNamespace(is_up=False)

    def down(self) -> None:
        self.downs += 1


def checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, judged: Callable[[Plan], Trial | None], code: int = 0
) -> tuple[int, list[Plan], Nodes]:
    """The exit code of a check whose runs are made up, their plans, and the cluster."""
    plans, nodes = [], Nodes()

    def trial(plan: Plan, *_: object) -> tuple[int, Trial | None]:
        plans.append(plan)
        return code, judged(plan)

    monkeypatch.setattr("harness.cli.system.run_and_read", trial)
    monkeypatch.setattr("harness.clusters.open_cluster", lambda *_, **__: nodes)
    return run_command(["system", "check", "dledger", "--store", str(tmp_path)]), plans, nodes


def made(tmp_path: Path, verdict: str = "valid", **results: Any) -> Trial:
    (tmp_path / "n1").mkdir(exist_ok=True)
    (tmp_path / "n1" / "server.log").write_text("started")
    windows = [{"id": 0, "fault": fault, "ok": 9, "least": 1, "exempt": ""} for fault in FAULTS]
    checks = [
        {"name": "linearizable", "verdict": verdict, "seen": "so"},
        {"name": "recovery", "verdict": "valid", "seen": ""},
        {"name": "under-fault", "verdict": "valid", "findings": [{"type": "UnderFault", "faults": windows}]},
    ]  # fmt: skip
    whole = {"checks": checks, "receipts": [{"fault": fault, "state": "installed"} for fault in FAULTS], **results}
    operations = [Operation(0, "write", "k0", 1, 1, "ok", 1, 2, 0, 1)]
    return Trial(whole, {"main": 1}, operations, [Probe(1, "n1", term=1)], ("n1",), tmp_path)


def test_a_system_is_run_three_times_and_what_it_lacks_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, plans, nodes = checked(
        monkeypatch, tmp_path, lambda plan: made(tmp_path, "invalid" if plan.planted_bug else "valid")
    )
    assert (code, nodes.downs) == (0, 1)
    assert [(plan.nemesis, plan.planted_bug) for plan in plans] == [(FAULTS, ""), ((), ""), (FAULTS, "stale-reads")]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["start,", "ready", "yes", "1", "nodes", "served"]
    assert lines[-1] == f"runs: {tmp_path}"


def test_a_planted_bug_that_is_not_found_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, _ = checked(monkeypatch, tmp_path, lambda plan: made(tmp_path))
    assert code == 1
    assert "WRONG    stale-reads was not found" in capsys.readouterr().out


def test_a_failure_of_the_harness_ends_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, plans, nodes = checked(monkeypatch, tmp_path, lambda plan: made(tmp_path, harness_failure="ssh"), code=255)
    assert (code, len(plans), nodes.downs) == (255, 1, 1)
    assert checked(monkeypatch, tmp_path, lambda plan: None, code=130)[0] == 130


def test_an_interruption_ends_the_check_and_not_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, plans, nodes = checked(monkeypatch, tmp_path, lambda plan: made(tmp_path, "unknown"), code=130)
    assert (code, len(plans), nodes.downs) == (130, 1, 1)


def test_a_system_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["system", "check", "nosuch"]) == 254
    assert "there is no system 'nosuch'" in capsys.readouterr().err
