"""A run that is stopped, killed or frozen, in every phase."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from history import read_history
from tests.support.cluster.machine import HARNESS
from tests.support.cluster.run_jobs import (
    CALM,
    CLUSTER,
    checks,
    kv_words,
    run_words,
    start,
    store,
)

__all__ = ["store"]

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("hangups")]

CUT = ("--nemesis", "partition-random-node", "--time-limit", "12", "--interval", "5")


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param("cluster of", marks=pytest.mark.nightly),
        pytest.param("began to serve after", marks=pytest.mark.nightly),
        pytest.param("main", marks=pytest.mark.nightly),
        "partition-random-node",
        pytest.param("final", marks=pytest.mark.nightly),
    ],
)
def test_ctrl_c_heals_collects_and_ends_with_130(store: Path, moment: str) -> None:
    job = start(*kv_words(store, *CUT, *(("--spark",) if moment == "final" else ())))
    if moment in ("main", "partition-random-node", "final"):
        job.until("began to serve after")
    if moment == "partition-random-node":
        job.until_a_fault_stands()
    else:
        job.until(f"  {moment}" if moment in ("main", "final") else moment)
    job.process.send_signal(signal.SIGINT)
    assert job.end() == 130, job.text
    if moment != "cluster of" and (job.run / "history.jsonl").exists():
        assert (job.run / "nodes" / "n1" / "server-console.log").exists()
        assert checks(job.run)["whole"] == "unknown"


def test_a_killed_run_is_judged_healed_and_cleaned(store: Path) -> None:
    # It is asked to stand for longer than a busy machine takes to see that it does.
    job = start(*kv_words(store, "--nemesis", "partition-random-halves", "--time-limit", "40", "--interval", "10"))
    job.until("  main")
    job.until_a_fault_stands()
    job.process.kill()
    job.end()
    assert read_history(job.run / "history.jsonl").events
    judged = subprocess.run([HARNESS, "check", "--no-spark", job.run], capture_output=True, text=True)
    assert judged.returncode == 2, judged.stdout
    assert checks(job.run)["linearizable"] == "valid"
    healed = subprocess.run([HARNESS, "heal", "--cluster", CLUSTER], capture_output=True, text=True, check=True)
    assert "removed nft table inet harness" in healed.stdout
    again = subprocess.run([HARNESS, "heal", "--cluster", CLUSTER], capture_output=True, text=True, check=True)
    assert again.stdout == "nothing to heal\n"


def test_a_terminal_that_goes_away_ends_the_run_in_order(store: Path) -> None:
    job = start(*kv_words(store, *CUT))
    job.until("  main")
    for _ in range(2):  # once from the kernel, once from the shell
        job.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
    assert job.end() == 130, job.text
    assert (job.run / "nodes" / "n1" / "server-console.log").exists()
    assert checks(job.run)["whole"] == "unknown"


def test_a_harness_that_is_stopped_for_a_while_blames_no_node(store: Path) -> None:
    job = start(*kv_words(store, *CUT, "--recovery-time", "5"))
    job.until("  main")
    job.process.send_signal(signal.SIGSTOP)
    time.sleep(8)
    job.process.send_signal(signal.SIGCONT)
    job.end()
    ((begin, end),) = json.loads((job.run / "run.json").read_text())["standstills"]
    assert end - begin >= 7.5e9
    found = checks(job.run)
    assert found["linearizable"] == "valid", job.text
    assert found["recovery"] != "invalid", job.text


@pytest.mark.nightly
def test_a_harness_that_is_stopped_for_longer_than_everything_is_given_says_it_and_blames_no_node(store: Path) -> None:
    """Stopped while a fault stands: connections, sessions and deadlines are all shorter than the pause."""
    job = start(*run_words(store, *CALM, "--recovery-time", "20"))
    job.until("  main")
    job.until_a_fault_stands()
    job.process.send_signal(signal.SIGSTOP)
    time.sleep(70)
    job.process.send_signal(signal.SIGCONT)
    assert job.end() == 2, job.text
    history = read_history(job.run / "history.jsonl")
    assert history.events
    assert not history.torn
    ((begin, end),) = json.loads((job.run / "run.json").read_text())["standstills"]
    assert end - begin >= 69.5e9
    found = checks(job.run)
    assert (found["linearizable"], found["kept-pace"], found["whole"]) == ("valid", "unknown", "valid"), job.text
    assert "invalid" not in found.values(), job.text
    assert "the harness was stalled for" in job.text


@pytest.mark.nightly
def test_a_second_ctrl_c_does_not_tear_healing_in_half(store: Path) -> None:
    job = start(*kv_words(store, *CUT))
    job.until("  main")
    job.until_a_fault_stands()
    for _ in range(2):
        job.process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    assert job.end() == 130, job.text
    assert (job.run / "nodes" / "n1" / "server-console.log").exists()
    assert not read_history(job.run / "history.jsonl").torn
    assert json.loads((job.run / "run.json").read_text())["unhealed"] == []
    assert checks(job.run)["whole"] == "unknown"
