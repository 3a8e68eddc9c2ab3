"""The main job, as a person types it: real nodes, real DLedger, good and bad twins, bad luck in every phase."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from history import read_history
from tests.cluster.conftest import Machine

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).resolve().parents[2]
HARNESS = Path(sys.executable).with_name("harness")
NAME = f"t-{os.getpid()}-run"
CLUSTER = f"netns:{NAME}"


@dataclass
class Job:
    """A `harness` command under way; ``lines`` grow while it runs."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    reader: threading.Thread | None = None

    def until(self, text: str, within: float = 240.0) -> None:
        """Wait until a line holds ``text``."""
        deadline = time.monotonic() + within
        while not any(text in line for line in self.lines):
            assert self.process.poll() is None, "".join(self.lines)
            assert time.monotonic() < deadline, "".join(self.lines)
            time.sleep(0.02)

    def end(self, within: float = 180.0) -> int:
        code = self.process.wait(within)
        if self.reader is not None:
            self.reader.join(10)
        return code

    @property
    def run(self) -> Path:
        return Path(self.lines[0].split()[-1])

    @property
    def text(self) -> str:
        return "".join(self.lines)


JOBS: list[Job] = []


def start(*words: str) -> Job:
    process = subprocess.Popen(
        [HARNESS, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True
    )
    job = Job(process)
    JOBS.append(job)

    def read() -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                job.lines.append(line)

    job.reader = threading.Thread(target=read, daemon=True)
    job.reader.start()
    return job


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    """A store of the test's own; afterwards nothing of the cluster may be left."""
    before = Machine.look(NAME)
    yield tmp_path / "store"
    while JOBS:  # a test that failed leaves its run behind, and the next one would find the cluster in use
        job = JOBS.pop()
        job.process.kill()
        job.end()
    subprocess.run([HARNESS, "cluster", "down", "--cluster", CLUSTER], check=True, capture_output=True)
    deadline = time.monotonic() + 10
    while (left := Machine.look(NAME).found - before.found) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


def run_words(store: Path, *more: str) -> tuple[str, ...]:
    """Without Spark, whose start takes longer than such a run."""
    return ("run", "--cluster", CLUSTER, "--store", str(store), "--seed", "7", "--no-spark", *more)


def checks(run: Path) -> dict[str, str]:
    results = json.loads((run / "results.json").read_text())
    return {check["name"]: check["verdict"] for check in results["checks"]}


@pytest.mark.parametrize("moment", ["cluster of", "leads after", "main", "partition-random-node", "final"])
def test_ctrl_c_heals_collects_and_ends_with_130(store: Path, moment: str) -> None:
    faults = ("--nemesis", "partition-random-node", "--time-limit", "9", "--interval", "4")
    job = start(*run_words(store, *faults, *(("--spark",) if moment == "final" else ())))
    if moment in ("main", "partition-random-node", "final"):
        job.until("leads after")
    job.until(f"  {moment}" if moment in ("main", "final") else moment)
    if moment == "partition-random-node":
        while not any(moment in line and "/s  ok" in line for line in job.lines):
            time.sleep(0.05)
    job.process.send_signal(signal.SIGINT)
    assert job.end(90) == 130, job.text
    if moment != "cluster of" and (job.run / "history.jsonl").exists():
        assert (job.run / "nodes" / "n1" / "register.log").exists()
        assert checks(job.run)["whole"] == "unknown"


def test_a_killed_run_is_judged_healed_and_cleaned(store: Path) -> None:
    # 0.4.0 drops what was committed if the cut takes its leader away: such a run is invalid, not unknown.
    faults = ("--nemesis", "partition-random-halves", "--time-limit", "30", "--interval", "6")
    job = start(*run_words(store, "--dledger-version", "0.3.2", *faults))
    job.until("leads after")
    while not any("partition-random-halves" in line and "/s  ok" in line for line in job.lines):
        time.sleep(0.05)
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


def test_a_server_that_dies_at_start_shows_its_last_words(store: Path) -> None:
    subprocess.run([HARNESS, "cluster", "up", "--cluster", CLUSTER], check=True, capture_output=True)
    from harness.clusters import open_cluster
    from harness.remote import Remote
    from nemesis.view import Command

    occupy = "import socket,time\ns=socket.socket();s.bind(('0.0.0.0',20911));s.listen();time.sleep(60)"
    script = f'setsid -f python3 -c "{occupy}" </dev/null >/dev/null 2>&1'
    with Remote(open_cluster(CLUSTER).nodes) as remote:
        assert remote.run({"n3": Command(("sh", "-c", script))})["n3"].code == 0
    job = start(*run_words(store, "--ready-timeout", "20"))
    assert job.end() == 255, job.text
    assert "n3" in job.text
    assert "20911" in job.text


def test_a_full_disk_while_recording_ends_in_order(store: Path) -> None:
    store.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "full", store], check=True)
    try:
        job = start(*run_words(store, "--nemesis", "partition-random-node", "--time-limit", "60", "--interval", "2"))
        assert job.end() == 255, job.text
        (told,) = (line for line in job.lines if "No space left" in line)
        assert told.startswith(f"harness failure: No space left on device: make room where {store} lies")
        assert "Traceback" not in job.text
        history = read_history(job.run / "history.jsonl")
        assert history.events
        assert not history.torn
    finally:
        subprocess.run(["umount", store], check=True)


def test_nobody_shares_a_cluster(store: Path) -> None:
    job = start(*run_words(store, "--time-limit", "8"))
    job.until("cluster of")
    second = subprocess.run([HARNESS, *run_words(store)], capture_output=True, text=True)
    assert second.returncode == 255, second.stderr
    assert str(job.process.pid) in second.stdout + second.stderr
    job.process.send_signal(signal.SIGINT)
    assert job.end(60) == 130


# 0.3.2 with a fault that it survives, so that whatever is not valid is ours.
CALM = ("--dledger-version", "0.3.2", "--nemesis", "hammer-time", "--time-limit", "8", "--interval", "4")


def test_all_servers_are_killed_at_the_end_and_everything_is_read_again(store: Path) -> None:
    job = start(*run_words(store, *CALM, "--restart-at-end"))
    code = job.end()
    state = json.loads((job.run / "run.json").read_text())
    assert (state["failures"], state["restart_failed"]) == ([], None), job.text
    moments = state["moments"]
    assert moments["final-reads"] < moments["restarting"] < moments["restarted"] < moments["restarted-quiet"]
    again = {
        event.key
        for event in read_history(job.run / "history.jsonl").events
        if event.time >= moments["restarted"] and event.type == "ok"
    }
    assert again == {"k0", "k1", "k2", "k3", "k4"}, job.text
    assert checks(job.run)["linearizable"] == "valid", job.text
    assert code != 255, job.text


def test_a_reader_that_goes_away_costs_nothing(store: Path) -> None:
    words = run_words(store, *CALM)
    process = subprocess.Popen([HARNESS, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    run = Path(process.stdout.readline().split()[-1])
    process.stdout.close()
    code = process.wait(180)
    results = json.loads((run / "results.json").read_text())
    assert results["harness_failure"] is None
    assert code == {"valid": 0, "invalid": 1, "unknown": 2}[results["verdict"]]
    assert (run / "report.html").exists()


def test_a_terminal_that_goes_away_ends_the_run_in_order(store: Path) -> None:
    job = start(*run_words(store, *CALM))
    job.until("  main")
    for _ in range(2):  # once from the kernel, once from the shell
        job.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
    assert job.end(90) == 130, job.text
    assert (job.run / "nodes" / "n1" / "register.log").exists()
    assert checks(job.run)["whole"] == "unknown"


def test_a_harness_that_is_stopped_for_a_while_blames_nobody(store: Path) -> None:
    job = start(*run_words(store, *CALM, "--recovery-time", "5"))
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
