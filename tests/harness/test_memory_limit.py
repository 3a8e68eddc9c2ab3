"""A process that may not have enough memory ends with 255 and says why: its 1 would mean a violation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.harness.recorded_run import record

HARNESS = Path(sys.executable).parent / "harness"


def check(history: Path, limit: str) -> subprocess.CompletedProcess[str]:
    words: list[str | Path] = ["sh", "-c", f'ulimit -v {limit}; exec "$0" check "$1"', HARNESS, history]
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}  # each takes memory, and there are as many as processors
    return subprocess.run(words, text=True, capture_output=True, check=False, env=env)


@pytest.mark.slow
def test_without_memory_a_check_fails_in_words_and_is_no_verdict(tmp_path: Path) -> None:
    """With 60 MB the loader of a library lacks memory; with 100 MB a library ends the process itself."""
    history = record(tmp_path).history
    for limit in ("60000", "100000"):
        ended = check(history, limit)
        assert ended.returncode == 255, limit
        assert "memory" in ended.stderr.lower()
        assert "Traceback" not in ended.stderr
        assert "bug of the harness" not in ended.stderr
    assert check(history, "unlimited").returncode == 0
