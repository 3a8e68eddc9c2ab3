"""The tutorial's page on a system of one's own, command by command, with its server on real nodes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster.machine import MakeCluster

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorial" / "5-your-own-system.md").read_text()


@dataclass
class Step:
    """A command of the page, and the lines that it shows of its output."""

    command: str
    shown: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        return next((line for line in self.shown if line in ("VALID", "INVALID", "INVALID, AS INTENDED")), "")


def steps() -> list[Step]:
    found: list[Step] = []
    for line in re.findall(r"^    (\S.*|  +\S.*)$", PAGE, re.M):
        if line.startswith(("harness ", "echo ")):
            found.append(Step(line))
        else:
            found[-1].shown.append(line)
    return found


def program(directory: Path) -> Path:
    """``harness`` of this tree."""
    path = directory / "harness"
    path.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m harness "$@"\n')
    path.chmod(0o755)
    return path


def test_the_page_does_what_it_says(make_cluster: MakeCluster, tmp_path: Path) -> None:
    """The right server is found valid with either client, and both broken ones are found out."""
    (tmp_path / "bin").mkdir()
    found = program(tmp_path / "bin")
    path, cluster = f"{found.parent}:{os.environ['PATH']}", f"netns:{make_cluster().name}"
    # The few clients of a node that is cut off wait a second for each write: on a slow machine none may read meanwhile.
    more = {"HARNESS_RUN_CLUSTER": cluster, "HARNESS_RUN_KEEP_CLUSTER": "1", "HARNESS_RUN_CONCURRENCY": "20"}
    environment = {**os.environ, "PATH": path, **more}
    verdicts = []
    for step in steps():
        done = subprocess.run(
            ["sh", "-c", step.command], cwd=tmp_path, env=environment, text=True, capture_output=True, check=False
        )
        said = done.stdout + done.stderr
        assert done.returncode == step.verdict.startswith("INVALID"), f"{step.command}\n{said}"
        if step.verdict:
            verdicts.append(step.verdict)
            assert f"{step.verdict}\n" in done.stdout, f"{step.command}\n{said}"
            assert ("✕ linearizable: " in done.stdout) == step.verdict.startswith("INVALID"), said
        elif "…" not in step.shown and " ls" not in step.command:
            assert done.stdout.splitlines() == step.shown or not step.shown, step.command
    assert verdicts == ["VALID", "INVALID", "VALID", "INVALID, AS INTENDED"]


def test_a_file_with_every_key_runs_and_is_not_needed_afterwards(make_cluster: MakeCluster, tmp_path: Path) -> None:
    """Its clocks are set wrong, as its probe shows; a configuration is kept; the run is judged without the file."""
    system = tmp_path / "system"
    shutil.copytree(ROOT / "examples" / "kv", system)
    shutil.copy(ROOT / "tests" / "support" / "harness" / "whole.toml", system)

    def harness(*words: str) -> dict[str, Any]:
        command = (sys.executable, "-m", "harness", *words, "--store", str(tmp_path / "store"))
        done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, Any] = json.loads((tmp_path / "store" / "latest" / "results.json").read_text())
        return found

    first = harness(
        "run", "--system", str(system / "whole.toml"), "--cluster", f"netns:{make_cluster().name}", "--nodes", "3",
        "--no-spark", "--nemesis", "clock-skew", "--interval", "3", "--time-limit", "6",
        "-o", "window=4", "-o", "share=0.25",
    )  # fmt: skip
    assert [receipt["state"] for receipt in first["receipts"]] == ["installed"]
    kept = tmp_path / "store" / "latest" / "nodes" / "n3" / "proxy.conf"
    assert "window 4" in kept.read_text()
    shutil.rmtree(system)
    again = harness("check", "latest")
    assert (again["verdict"], again["checks"]) == (first["verdict"], first["checks"])
