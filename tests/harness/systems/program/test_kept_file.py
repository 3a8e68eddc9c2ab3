"""A run keeps the file of its system: it is judged by it when the file is gone, or says something else."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.errors import CheckError, HarnessError
from harness.judge.recorded import plan_of
from harness.plan import Plan
from harness.store import create_run
from history import FormatError, RunFiles
from history.recording import Recording

TEXT = """
may_refuse = ["data"]
[[roles]]
command = "server"
port = 70
[client]
command = "client"
[options.mode]
default = "safe"
choices = ["safe", "quick"]
marks_runs = true
"""
STARTED = datetime(2026, 11, 26, tzinfo=UTC)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(TEXT)
    return path


def recorded(file: Path) -> RunFiles:
    return create_run(file.parent / "store", Plan(seed=1, system=str(file), options={"mode": "quick"}), STARTED)


def judged(run: RunFiles) -> Plan:
    return plan_of(Recording(run.root))


def test_a_run_is_judged_by_the_file_that_it_kept(file: Path) -> None:
    run = recorded(file)
    file.unlink()
    plan = judged(run)
    assert (plan.label, plan.under_test.may_refuse, plan.load.name) == (
        "mine local mode quick",
        frozenset({"data"}),
        "register",
    )


@pytest.mark.parametrize("text", [TEXT.replace('["data"]', "[]").replace("quick", "slow"), "no TOML"])
def test_what_the_file_says_later_does_not_matter(file: Path, text: str) -> None:
    run = recorded(file)
    file.write_text(text)
    assert judged(run).under_test.may_refuse == {"data"}


def test_what_ran_is_the_file_itself(file: Path) -> None:
    assert Plan.read(recorded(file).plan).system == str(file)


def test_a_name_in_the_file_stays(file: Path) -> None:
    file.write_text("name = 'other'\n" + TEXT)
    assert judged(recorded(file)).label == "other local mode quick"


def test_an_installed_system_is_kept_by_its_name(tmp_path: Path) -> None:
    run = create_run(tmp_path, Plan(seed=1), STARTED)
    assert not run.system.exists()
    assert judged(run).system == "dledger"


def test_a_run_without_a_kept_file_is_judged_by_no_other(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its plan may be a stranger's, who would choose which file of this machine is read."""
    run = recorded(file)
    text = run.system.read_text()
    run.system.unlink()
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.toml")
    for name in (str(file), "pipe.toml"):
        run.plan.write_text(json.dumps({**json.loads(run.plan.read_text()), "system": name}))
        with pytest.raises(CheckError, match=f"no copy of its system's file: put {name} there as {run.system.name}"):
            judged(run)
    run.system.write_text(text)
    assert judged(run).under_test.may_refuse == {"data"}


def test_what_a_stranger_s_run_keeps_is_no_link(file: Path) -> None:
    run = recorded(file)
    run.system.unlink()
    run.system.symlink_to(file)
    with pytest.raises((FormatError, HarnessError), match=r"system\.toml"):
        judged(run)
    run.system.unlink()
    os.mkfifo(run.system)
    with pytest.raises((FormatError, HarnessError), match=r"system\.toml"):
        judged(run)
