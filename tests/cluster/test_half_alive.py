"""Servers that come back only by half are found: one takes no more writes, of the other one node is mute."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cluster.machine import MakeCluster

pytestmark = pytest.mark.cluster
FILE = Path(__file__).resolve().parents[1] / "support" / "cluster" / "half_alive" / "half_alive.toml"
WORDS = (
    "--nodes", "3", "--nemesis", "kill-all", "--time-limit", "8", "--interval", "4", "--warm-up", "1",
    "--recovery-time", "10", "--rate", "50", "--concurrency", "6", "--no-spark", "--unsafe-test-mode",
)  # fmt: skip


@pytest.mark.parametrize(
    ("bug", "seen"),
    [
        ("reads-only", "no write succeeded after the heal"),
        ("mute-node", "by n3's own clients not served after the heal"),
    ],
)
def test_what_comes_back_by_half_has_not_recovered(
    make_cluster: MakeCluster, tmp_path: Path, bug: str, seen: str
) -> None:
    cluster = f"netns:{make_cluster().name}"
    done = subprocess.run(
        [sys.executable, "-m", "harness", "--no-defaults", "run", "--system", FILE, "--cluster", cluster,
         "--store", tmp_path, "--planted-bug", bug, *WORDS],
        text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    results = json.loads((tmp_path / "latest" / "results.json").read_text())
    (recovery,) = [check for check in results["checks"] if check["name"] == "recovery"]
    assert seen in recovery["seen"]
    assert results["sentence"].startswith(f"the planted bug {bug} was found")
