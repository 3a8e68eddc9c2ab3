"""Run `harness` commands on one cluster in the background, for tests that interrupt them."""

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

from tests.support.cluster.machine import HARNESS, PATIENCE_S, await_nothing_left

NAME = f"t-{os.getpid()}-run"
CLUSTER = f"netns:{NAME}"
#: A system that costs no JVM, for what is the harness's own: readers, signals, locks, disks.
KV = Path(__file__).resolve().parents[3] / "examples" / "kv" / "kv.toml"


@dataclass
class Job:
    """A running `harness` command; ``lines`` grow while it runs."""

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

    def until_a_fault_stands(self) -> None:
        """Wait until the history says so. Progress is shown only every few seconds, and a fault may be over by then."""
        deadline = time.monotonic() + PATIENCE_S
        while not _says_that_a_fault_stands(self.run / "history.jsonl"):
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline, self.text
            time.sleep(0.05)

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


def _says_that_a_fault_stands(history: Path) -> bool:
    """Return whether a fault's injection is recorded as ok; the last line may be half written."""
    lines = history.read_text().splitlines() if history.exists() else []
    return any('"process":"nemesis"' in line and '"type":"ok"' in line for line in lines)


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
    """Return a store for this test; afterwards, nothing of the cluster may be left."""
    yield tmp_path / "store"
    while JOBS:  # a test that failed leaves its run behind, and the next one would find the cluster in use
        job = JOBS.pop()
        job.process.kill()
        job.end()
    subprocess.run([HARNESS, "cluster", "down", "--cluster", CLUSTER], check=True, capture_output=True)
    await_nothing_left(NAME)


def run_words(store: Path, *more: str) -> tuple[str, ...]:
    """Return words for a run without Spark, which would start too slowly, and at a rate that slows no other test."""
    return ("run", "--cluster", CLUSTER, "--store", str(store), "--seed", "7", "--no-spark", "--rate", "50", *more)


def kv_words(store: Path, *more: str) -> tuple[str, ...]:
    """Like ``run_words``, for :data:`KV`."""
    words = ("--system", str(KV), *THREE, "--concurrency", "3", "--warm-up", "1")
    return run_words(store, *words, *more)


def checks(run: Path) -> dict[str, str]:
    results = json.loads((run / "results.json").read_text())
    return {check["name"]: check["verdict"] for check in results["checks"]}


#: As many nodes as a run needs that is about the harness: each one costs the tests beside it a JVM's start.
THREE = ("--nodes", "3")
#: 0.3.2 with a fault that it survives, so that whatever is not valid is ours.
CALM = ("--dledger-version", "0.3.2", *THREE, "--nemesis", "hammer-time", "--time-limit", "8", "--interval", "4")
