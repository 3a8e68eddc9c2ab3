"""`harness` commands under way on one cluster, for tests that interrupt them."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.judge.known_defects import read_defects, unexplained
from history import RunFiles
from history.records.violations import violations_of
from tests.support.cluster.machine import HARNESS, PATIENCE_S, await_nothing_left

NAME = f"t-{os.getpid()}-run"
CLUSTER = f"netns:{NAME}"
DEFECTS = Path(__file__).resolve().parents[3] / "suites" / "defects" / "dledger.toml"


@dataclass
class Job:
    """A `harness` command under way; ``lines`` grow while it runs."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    reader: threading.Thread | None = None

    def until(self, text: str, within: float = PATIENCE_S) -> None:
        """Wait until a line holds ``text``."""
        deadline = time.monotonic() + within
        while not any(text in line for line in self.lines):
            assert self.process.poll() is None, "".join(self.lines)
            assert time.monotonic() < deadline, "".join(self.lines)
            time.sleep(0.02)

    def end(self, within: float = PATIENCE_S) -> int:
        code = self.process.wait(within)
        if self.reader is not None:
            self.reader.join(10)
        return code

    @property
    def run(self) -> Path:
        return Path(self.lines[0].split()[-1])

    @property
    def text(self) -> str:
        return "".join(self.lines)


JOBS: list[Job] = []


def start(*words: str) -> Job:
    process = subprocess.Popen(
        [HARNESS, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True
    )
    job = Job(process)
    JOBS.append(job)

    def read() -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                job.lines.append(line)

    job.reader = threading.Thread(target=read, daemon=True)
    job.reader.start()
    return job


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    """A store of the test's own; afterwards nothing of the cluster may be left."""
    yield tmp_path / "store"
    while JOBS:  # a test that failed leaves its run behind, and the next one would find the cluster in use
        job = JOBS.pop()
        job.process.kill()
        job.end()
    subprocess.run([HARNESS, "cluster", "down", "--cluster", CLUSTER], check=True, capture_output=True)
    await_nothing_left(NAME)


def run_words(store: Path, *more: str) -> tuple[str, ...]:
    """Without Spark, whose start takes longer than such a run, and at a rate that leaves time for other tests."""
    return ("run", "--cluster", CLUSTER, "--store", str(store), "--seed", "7", "--no-spark", "--rate", "200", *more)


def checks(run: Path) -> dict[str, str]:
    results = json.loads((run / "results.json").read_text())
    return {check["name"]: check["verdict"] for check in results["checks"]}


def skip_if_the_release_is_to_blame(run: Path) -> None:
    """A busy machine makes a cluster elect new leaders, and both releases then delete entries now and then.

    Such a run shows a known defect, by its marks, and nothing of the harness.
    """
    results = json.loads((run / "results.json").read_text())
    if violations := violations_of(results):
        known = read_defects(DEFECTS).values()
        kinds = {one.kind for one in violations}
        if not unexplained(violations, [*known], RunFiles(run), results["receipts"], kinds):
            pytest.skip(f"known defects of DLedger alone: {', '.join(sorted(kinds))}")


#: As many nodes as a run needs that is about the harness: each one costs the tests beside it a JVM's start.
THREE = ("--nodes", "3")
#: 0.3.2 with a fault that it survives, so that whatever is not valid is ours.
CALM = ("--dledger-version", "0.3.2", *THREE, "--nemesis", "hammer-time", "--time-limit", "8", "--interval", "4")
