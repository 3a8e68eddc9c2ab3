"""A suite as a person types it: one warm cluster, a good and a bad cell, cut by Ctrl-C and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import HARNESS, Machine

pytestmark = pytest.mark.cluster

NAME = f"t-{os.getpid()}-suite"
CLUSTER = f"netns:{NAME}"
SUITE = """\
budget = "20m"
[defaults]
version = "0.3.2"
rate = 100
time_limit = 8
interval = 4
[[matrix]]
nemesis = "partition-majorities-ring"
[[matrix]]
canary = "stale-reads"
unsafe_test_mode = true
time_limit = 4
spark = false
expect = "invalid"
kinds = ["stale-read", "lost-write", "split-brain", "read-inversion"]
"""
LEFT_BY_A_RUN = (
    "plan.json", "history.jsonl", "probes.jsonl", "run.json", "results.json", "summary.txt", "report.html", "junit.xml",
    "harness.log", "tables/operations.parquet", "nodes/n5/register.log", "suite.json",
)  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """Afterwards nothing of the cluster may be left."""
    (tmp_path / "toy.toml").write_text(SUITE)
    before = Machine.look(NAME)
    yield tmp_path
    deadline = time.monotonic() + 10
    while (left := Machine.look(NAME).found - before.found) and time.monotonic() < deadline:
        time.sleep(0.1)
    subprocess.run([HARNESS, "cluster", "down", "--cluster", CLUSTER], check=True, capture_output=True)
    assert not left


def begin(place: Path, *more: str) -> subprocess.Popen[str]:
    words = ["suite", place / "toy.toml", "--store", place / "store", "--cluster", CLUSTER, *more]
    return subprocess.Popen([HARNESS, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_suite_is_cut_and_resumed_on_one_cluster_and_both_twins_end_as_expected(place: Path) -> None:
    folder = place / "store" / "suites" / "toy" / "latest"
    first = begin(place)
    deadline = time.monotonic() + 180
    while "main" not in (log.read_text() if (log := folder / "cells" / "002-1.log").exists() else ""):
        assert first.poll() is None, first.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    first.send_signal(signal.SIGINT)
    said = first.communicate(timeout=120)[0]
    assert first.returncode == 130, said
    assert len((folder / "attempts.jsonl").read_text().splitlines()) == 1

    second = begin(place, "--resume")
    said = second.communicate(timeout=240)[0]
    assert second.returncode == 0, said
    results = json.loads((folder / "results.json").read_text())
    good, bad = results["cells"]
    assert (good["verdict"], bad["verdict"]) == ("valid", "invalid")
    assert [attempt["notes"] for cell in results["cells"] for attempt in cell["attempts"]] == [[], []]
    assert results["renewed"] == 0
    assert_run(place / "store" / good["run"], ["valid"])
    assert_run(place / "store" / bad["run"], ["invalid", "valid"])
    cases = ET.parse(folder / "junit.xml").getroot().iter("testcase")
    assert ["├─" in "".join(case.itertext()) for case in cases] == [False, True]
    assert (place / "store" / "site" / "index.html").exists()


def assert_run(run: Path, verdicts: list[str]) -> None:
    assert [name for name in LEFT_BY_A_RUN if not (run / name).exists()] == []
    results = json.loads((run / "results.json").read_text())
    assert sorted({check["verdict"] for check in results["checks"]}) == verdicts
    for receipt in results["receipts"]:
        assert receipt["state"] == "installed"
        assert receipt["witness"]["packets_dropped"] > 0
    examples = [example for key in results["keys"] for example in key["counterexamples"]]
    assert bool(examples) is ("invalid" in verdicts)
    assert all(len(example["operations"]) <= 6 for example in examples)
