"""The main job, as a person types it: real nodes, real DLedger, and what can go wrong with it by itself."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from history import read_history
from tests.support.cluster.machine import HARNESS
from tests.support.cluster.run_jobs import CALM, CLUSTER, THREE, checks, kv_words, run_words, start, store

__all__ = ["store"]

pytestmark = pytest.mark.cluster


def test_a_server_that_dies_at_start_shows_its_last_words(store: Path) -> None:
    subprocess.run([HARNESS, "cluster", "up", "--cluster", CLUSTER, *THREE], check=True, capture_output=True)
    from harness.clusters import open_cluster
    from harness.remote.nodes import Remote
    from nemesis.core.ports import Command

    occupy = "import socket,time\ns=socket.socket();s.bind(('0.0.0.0',20911));s.listen();time.sleep(900)"
    script = f'setsid -f python3 -c "{occupy}" </dev/null >/dev/null 2>&1'
    with Remote(open_cluster(CLUSTER).nodes) as remote:
        assert remote.run({"n3": Command(("sh", "-c", script))})["n3"].code == 0
    job = start(*run_words(store, *THREE, "--ready-timeout", "20"))
    assert job.end() == 255, job.text
    assert "n3" in job.text
    assert "20911" in job.text


def test_a_full_disk_while_recording_ends_in_order(store: Path) -> None:
    store.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "full", store], check=True)
    try:
        job = start(*kv_words(store, "--time-limit", "300", "--rate", "400"))
        assert job.end() == 255, job.text
        (failure,) = (line for line in job.lines if line.startswith("harness failure"))
        assert failure.startswith(f"harness failure: No space left on device: make room in {store}")
        # What was recorded is judged all the same, though that cannot be written either.
        assert any(line.startswith("not written: ") and "No space left" in line for line in job.lines), job.text
        assert any("checks passed" in line for line in job.lines), job.text
        assert "Traceback" not in job.text
        history = read_history(job.run / "history.jsonl")
        assert history.events
        assert not history.torn
    finally:
        subprocess.run(["umount", store], check=True)


def test_a_cluster_is_not_shared(store: Path) -> None:
    job = start(*kv_words(store, "--time-limit", "300"))
    job.until("cluster of")
    second = subprocess.run([HARNESS, *kv_words(store)], capture_output=True, text=True)
    assert second.returncode == 255, second.stderr
    assert str(job.process.pid) in second.stdout + second.stderr
    job.process.send_signal(signal.SIGINT)
    assert job.end() == 130


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
