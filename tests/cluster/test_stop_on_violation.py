"""A server with a planted bug, watched while it runs: the first violation ends the run, and the check confirms it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from checker import check
from history import read_history
from tests.support.cluster.machine import HARNESS, PATIENCE_S

pytestmark = pytest.mark.cluster

CLUSTER = f"netns:t-{os.getpid()}-stop"


def test_a_planted_bug_ends_the_run_where_it_first_shows(tmp_path: Path) -> None:
    words = ["run", "--cluster", CLUSTER, "--nodes", "3", "--store", str(tmp_path), "--seed", "7", "--no-spark"]
    planted = ["--planted-bug", "stale-reads", "--unsafe-test-mode", "--stop-on-violation", "--time-limit", "60"]
    try:
        job = subprocess.run([HARNESS, *words, *planted], capture_output=True, text=True, timeout=PATIENCE_S)
    finally:
        subprocess.run([HARNESS, "cluster", "down", "--cluster", CLUSTER], check=True, capture_output=True)
    assert job.returncode == 1, job.stdout + job.stderr
    assert "event " in job.stderr
    run = (tmp_path / "latest").resolve()
    stopped = json.loads((run / "run.json").read_text())["stopped"]
    index = int(stopped.split(",")[0].removeprefix("event "))
    events = read_history(run / "history.jsonl").events
    assert events[-1].time < 40e9
    assert check(events[:index]).verdict == "valid"
    assert check(events[: index + 1]).verdict == "invalid"
    results = json.loads((run / "results.json").read_text())
    checks = {record["name"]: record for record in results["checks"]}
    assert checks["linearizable"]["verdict"] == "invalid"
    assert checks["whole"]["seen"] == "stopped at the first violation, as requested"
    assert checks["recovery"]["verdict"] == "unknown"
    assert (run / "nodes" / "n1" / "register.log").exists()
