"""As a user who is not root: refused with the mend, and nothing is left behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.harness.recorded_run import record

ROOT = Path(__file__).resolve().parents[3]
UNPRIVILEGED = 65534


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory of the plain user's; pytest's own are closed to others."""
    path = Path(tempfile.mkdtemp())
    if os.geteuid() == 0:
        os.chown(path, UNPRIVILEGED, UNPRIVILEGED)
    yield path
    shutil.rmtree(path)


def plainly(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    whose: dict[str, Any] = (
        {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []} if os.geteuid() == 0 else {}
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done: subprocess.CompletedProcess[str] = subprocess.run(
        words, capture_output=True, text=True, cwd=home, env=environment, **whose
    )
    return done


@pytest.fixture(autouse=True, scope="module")
def _reachable() -> None:
    try:
        code = plainly(Path("/"), sys.executable, "-c", "import harness").returncode
    except PermissionError:
        code = 1
    if code != 0:
        pytest.skip("a plain user cannot reach this project")


@pytest.mark.parametrize(
    "more",
    [
        (),
        *(pytest.param(more, marks=pytest.mark.slow) for more in (("--test-count", "3"), ("--store", "/proc/1/store"))),
    ],
    ids=["one", "three", "store"],
)
def test_a_run_is_254_with_the_mend_and_leaves_nothing(home: Path, more: tuple[str, ...]) -> None:
    done = plainly(home, sys.executable, "-m", "harness", "run", *more)
    assert (done.returncode, done.stdout) == (254, ""), done.stderr
    assert done.stderr == (
        "harness: --cluster netns needs root: run the same command with sudo, or use --cluster inventory:FILE\n"
    )
    assert list(home.iterdir()) == []


@pytest.mark.slow
def test_every_other_verb_that_needs_nodes_says_the_same(home: Path) -> None:
    for words in (("cluster", "up"), ("cluster", "down"), ("cluster", "status"), ("heal",)):
        done = plainly(home, sys.executable, "-m", "harness", *words)
        assert (done.returncode, done.stderr.count("\n")) == (254, 1), (words, done.stderr)
        assert "needs root: run the same command with sudo" in done.stderr
    suite = plainly(home, sys.executable, "-m", "harness", "suite", str(ROOT / "suites" / "smoke.toml"))
    assert suite.returncode == 254, suite.stderr
    assert "needs root" in suite.stderr
    assert list(home.iterdir()) == []


def test_a_run_that_one_may_only_read_has_a_verdict(home: Path) -> None:
    run = record(home / "store", last_read=1)
    if os.geteuid() != 0:
        run.root.chmod(0o555)
    done = plainly(home, sys.executable, "-m", "harness", "check", str(run.root), "--no-spark", "--json")
    run.root.chmod(0o755)
    assert done.returncode == 1, done.stderr
    output = json.loads(done.stdout)
    assert (output["verdict"], output["results"]) == ("invalid", None)
    assert "Permission denied" in output["harness_failure"]
