"""RocketMQ's own controllers on three nodes, in both modes: a killed leader, the heal, reads after a restart."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from history import read_history

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.nightly,
    pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="needs Java and Maven"),
]

HARNESS = (sys.executable, "-m", "harness")


@pytest.mark.parametrize("mode", ["dledger", "jraft"])
def test_a_killed_leader(tmp_path: Path, mode: str) -> None:
    cluster = f"netns:t-{os.getpid()}-rmq"
    words = ["run", "--system", "rocketmq-controller@5.3.3", "-o", f"mode={mode}", "-o", "snapshot_interval=5",
             "--cluster", cluster, "--nodes", "3", "--store", str(tmp_path), "--no-spark", "--seed", "7",
             "--rate", "40", "--nemesis", "kill-leader", "--interval", "13", "--time-limit", "28",
             "--restart-at-end"]  # fmt: skip
    try:
        job = subprocess.run([*HARNESS, *words], capture_output=True, text=True, timeout=400)
    finally:
        subprocess.run([*HARNESS, "cluster", "down", "--cluster", cluster], check=True, capture_output=True)
    assert job.returncode == 0, job.stdout + job.stderr
    run = (tmp_path / "latest").resolve()
    events = read_history(run / "history.jsonl").events
    assert {event.f for event in events if event.type == "ok"} >= {"read", "alter", "elect", "register"}
    checks = {check["name"]: check for check in json.loads((run / "results.json").read_text())["checks"]}
    assert checks["epochs"]["verdict"] == checks["linearizable"]["verdict"] == "valid"
    if mode == "jraft":
        assert checks["snapshots"]["findings"][0]["counts"]["saved"] > 0
        assert checks["snapshots"]["findings"][0]["counts"]["loaded"] > 0, "the killed one, and all after the restart"
