"""RocketMQ's own brokers on three nodes: a pause that loses nothing, and a release that cuts its queues."""

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


@pytest.mark.parametrize(
    ("version", "nemesis", "verdict"), [("5.1.4", "pause-leader", "valid"), ("5.3.3", "kill-all", "invalid")]
)
def test_queues(tmp_path: Path, version: str, nemesis: str, verdict: str) -> None:
    cluster = f"netns:t-{os.getpid()}-brk"
    words = ["run", "--system", f"rocketmq-dledger@{version}", "--cluster", cluster, "--nodes", "3", "--no-spark",
             "--store", str(tmp_path), "--seed", "7", "--nemesis", nemesis, "--interval", "12",
             "--time-limit", "30"]  # fmt: skip
    try:
        job = subprocess.run([*HARNESS, *words], capture_output=True, text=True, timeout=400)
    finally:
        subprocess.run([*HARNESS, "cluster", "down", "--cluster", cluster], check=True, capture_output=True)
    run = (tmp_path / "latest").resolve()
    checks = {check["name"]: check for check in json.loads((run / "results.json").read_text())["checks"]}
    assert checks["queues"]["verdict"] == verdict, job.stdout + job.stderr
    events = [event for event in read_history(run / "history.jsonl").events if event.type == "ok"]
    assert {event.f for event in events} >= {"send", "pull", "read"}
    assert {event.node for event in events if event.f == "read"} == {"n1", "n2", "n3"}
    if verdict == "invalid":
        kinds = {finding["kind"] for finding in checks["queues"]["findings"]}
        assert kinds & {"log-overwrite", "missing-on-replica", "lost-message"}
