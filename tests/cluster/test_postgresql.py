"""PostgreSQL as it is run from the command line: a release that keeps its level, and the one that is known not to."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="needs the extra postgresql")

from tests.support.cluster.machine import HARNESS, MakeCluster

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(not shutil.which("mvn"), reason="needs Maven")]


def run(make_cluster: MakeCluster, store: Path, version: str, *words: str) -> tuple[int, dict[str, Any], str]:
    cluster = make_cluster(nodes=1).name
    command = (HARNESS, "run", "--system", f"postgresql@{version}", "--nodes", "1", "--cluster", f"netns:{cluster}")
    more = ("--no-spark", "--store", str(store), "--seed", "5", "--workload", "list-append", *words)
    done = subprocess.run([*command, *more], capture_output=True, text=True)
    return done.returncode, json.loads((store / "latest" / "results.json").read_text()), done.stdout + done.stderr


def test_a_healthy_release_keeps_its_level(make_cluster: MakeCluster, tmp_path: Path) -> None:
    words = ("--rate", "300", "--warm-up", "0", "--time-limit", "4")
    code, results, said = run(make_cluster, tmp_path, "12.10", *words)
    assert code == 0, said
    (check,) = (one for one in results["checks"] if one["name"] == "isolation")
    assert (check["verdict"], results["keys"][0]["engine"]) == ("valid", "dependency graph")
    assert results["environment"]["postgres"] == "postgres (PostgreSQL) 12.10"
    assert results["counts"]["ok"] > results["counts"]["phases"]["final"]["txn"]["ok"] > 0


@pytest.mark.nightly
def test_the_known_defect_of_12_3_is_found(make_cluster: MakeCluster, tmp_path: Path) -> None:
    code, results, said = run(make_cluster, tmp_path, "12.3", "--rate", "2000", "--time-limit", "30")
    assert code == 1, said
    assert {kind["kind"] for kind in results["keys"][0]["kinds"]} == {"G2-item"}
    assert all(example["dependencies"] for example in results["keys"][0]["counterexamples"])
