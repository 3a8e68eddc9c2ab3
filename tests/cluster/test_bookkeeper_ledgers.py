"""BookKeeper on real nodes: the defaults lose nothing to a kill of all, and what has no journal is found to be lost.

Nightly: its jars are 93 MB, and the gateway is built by Maven where that was not done yet.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.systems.bookkeeper.gateway_jar import PROJECT
from tests.support.cluster.machine import MakeCluster

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.nightly,
    pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="needs Java and Maven"),
]
#: What both versions are known to do to readers (docs/bookkeeper.md); acknowledged entries are kept all the same.
KNOWN = {"read-then-gone", "confirmed-beyond-end", "length-beyond-end"}


def ledgers(cluster: str, store: Path, *more: str) -> dict[str, Any]:
    """The check of a run's ledgers."""
    words = ("run", "--system", "bookkeeper@4.17.3", "--cluster", f"netns:{cluster}", "--no-spark", "--seed", "7")
    command = (sys.executable, "-m", "harness", *words, "--rate", "60", "--store", str(store), *more)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 2), done.stdout + done.stderr
    results = json.loads((store / "latest" / "results.json").read_text())
    found: dict[str, Any] = next(check for check in results["checks"] if check["name"] == "ledgers")
    return found


def test_a_kill_of_all_costs_nothing_acknowledged(make_cluster: MakeCluster, tmp_path: Path) -> None:
    words = ("--nemesis", "kill-all", "--interval", "4", "--time-limit", "16")
    check = ledgers(make_cluster().name, tmp_path, *words)
    assert check["findings"][0]["counts"]["acknowledged"] > 0
    assert check["verdict"] != "unknown", check["seen"]
    assert {one["kind"] for one in check["findings"]} <= KNOWN, check["seen"]


def test_without_a_journal_it_does(make_cluster: MakeCluster, tmp_path: Path) -> None:
    planted = ("--planted-bug", "unjournaled", "--unsafe-test-mode")
    words = ("--nemesis", "kill-all", "--interval", "4", "--time-limit", "10", *planted)
    check = ledgers(make_cluster().name, tmp_path, *words)
    assert check["verdict"] == "invalid", check["seen"]
    assert check["findings"][0]["kind"] in ("lost-add", "unreadable-entry"), check["seen"]


def test_the_gateways_own_tests(tmp_path: Path) -> None:
    shutil.copytree(PROJECT, tmp_path / "project", ignore=shutil.ignore_patterns("target"))
    words = ("mvn", "-q", "-B", "-f", str(tmp_path / "project" / "pom.xml"), "verify")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
