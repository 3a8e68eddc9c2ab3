"""The dead man's timer, by its own scripts on this machine."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from nemesis.core.errors import FaultError
from nemesis.core.ports import Command, Completed
from nemesis.deadman import DeadMansTimer
from tests.support.machine import is_running


class Here:
    """One node: this machine."""

    names = ("n1",)

    def __init__(self) -> None:
        self.reachable = True

    def address(self, node: str) -> str:
        raise NotImplementedError

    def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        if not self.reachable:
            raise OSError("no route")
        (command,) = commands.values()
        done = subprocess.run(command.argv, input=command.stdin, text=True, capture_output=True, check=False)
        return {"n1": Completed("n1", done.returncode, done.stdout, done.stderr, 0.0)}


def timer(nodes: Here, directory: Path, *, lease_s: float, renew_s: float) -> DeadMansTimer:
    sweep = Command(("sh", "-c", 'echo "lifted $1" && touch "$1"', "sweep", str(directory / "swept")))
    lease = str(directory / "lease")
    return DeadMansTimer(nodes, {"n1": sweep}, lease_s=lease_s, renew_s=renew_s, lease=lease)


def seen(path: Path, within_s: float = 60.0) -> bool:
    deadline = time.monotonic() + within_s
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return path.exists()


def test_a_lease_that_is_not_renewed_runs_out_and_the_node_sweeps_itself(tmp_path: Path) -> None:
    with timer(Here(), tmp_path, lease_s=1.0, renew_s=600.0) as armed:
        armed.leave()
    assert seen(tmp_path / "swept")
    assert seen(tmp_path / "lease.lifted")
    assert not (tmp_path / "lease").exists()


def test_a_timer_that_went_off_after_it_was_last_renewed_is_lost_as_well(tmp_path: Path) -> None:
    """A control node that was suspended at the end of its run."""
    with timer(Here(), tmp_path, lease_s=1.0, renew_s=600.0) as armed:
        assert seen(tmp_path / "swept")
        assert not armed.lost
    assert armed.lost == {"n1": "n1: its timer is gone"}


def test_a_node_that_cannot_be_reached_is_not_lost_yet_and_lifts_its_faults(tmp_path: Path) -> None:
    nodes = Here()
    with timer(nodes, tmp_path, lease_s=1.0, renew_s=0.1) as armed:
        nodes.reachable = False
        assert seen(tmp_path / "swept")
        assert not armed.lost
        nodes.reachable = True
        deadline = time.monotonic() + 60.0
        while not armed.lost and time.monotonic() < deadline:
            time.sleep(0.05)
        assert armed.lost == {"n1": "n1: its timer is gone"}


@pytest.mark.slow
def test_a_lease_that_is_renewed_stands_and_is_taken_away_at_the_end(tmp_path: Path) -> None:
    with timer(Here(), tmp_path, lease_s=60.0, renew_s=0.05) as armed:
        first = (tmp_path / "lease").read_text()
        pid = int((tmp_path / "lease.pid").read_text())
        deadline = time.monotonic() + 60.0
        while (tmp_path / "lease").read_text() == first:
            assert time.monotonic() < deadline, "it is not renewed"
            time.sleep(0.05)
        assert not armed.lost
    deadline = time.monotonic() + 60.0
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(pid)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_begun_without_a_timer_on_every_node(tmp_path: Path) -> None:
    nodes = Here()
    nodes.reachable = False
    with (
        pytest.raises(FaultError, match="cannot be armed: no route"),
        timer(nodes, tmp_path, lease_s=60.0, renew_s=1.0),
    ):
        pass
