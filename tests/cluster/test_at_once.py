"""Two suites at once, in one store, each on a cluster of its own: neither takes the other's nodes, runs or rows."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.cluster.machine import HARNESS, PATIENCE_S

pytestmark = [pytest.mark.cluster, pytest.mark.nightly]

NAMES = tuple(f"t-{os.getpid()}-{letter}" for letter in "ab")
SUITE = """
description = "one short run"
[[matrix]]
name = "one"
nodes = 3
version = "0.3.2"
rate = 50
time_limit = 5
warm_up = 1
seed = {seed}
expect = ["valid", "unknown"]
"""


def test_two_suites_and_two_clusters_at_once(tmp_path: Path) -> None:
    store = tmp_path / "store"
    suites = list[subprocess.Popen[str]]()
    for seed, name in enumerate(NAMES, 11):
        file = tmp_path / f"{name}.toml"
        file.write_text(SUITE.format(seed=seed))
        words: list[str | Path] = [
            HARNESS,
            "suite",
            file,
            "--store",
            store,
            "--cluster",
            f"netns:{name}",
            "--retries",
            "0",
            "--no-site",
        ]
        suites.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    said = [suite.communicate(timeout=PATIENCE_S)[0] for suite in suites]
    assert [suite.returncode for suite in suites] == [0, 0], said
    for seed, name in enumerate(NAMES, 11):
        results = json.loads((store / "suites" / name / "latest" / "results.json").read_text())
        (cell,) = results["cells"]
        plan = json.loads((store / cell["run"] / "plan.json").read_text())
        assert (plan["seed"], plan["cluster"], cell["outcome"]) == (seed, f"netns:{name}", "passed")
        subprocess.run([HARNESS, "cluster", "down", "--cluster", f"netns:{name}"], check=True, capture_output=True)
    done = subprocess.run([HARNESS, "ls", store, "--json"], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["count"] == 2
