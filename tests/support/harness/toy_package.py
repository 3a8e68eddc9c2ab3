"""The example of a third party's package, installed where only tests that need it find it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "toy-register"


@dataclass(frozen=True)
class Installed:
    """Run ``harness`` from this tree with the package in ``site``."""

    site: Path

    def harness(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        names = {**os.environ, "PYTHONPATH": f"{self.site}:{ROOT}", **environment}
        return subprocess.run(
            [sys.executable, "-m", "harness", *words],
            text=True, capture_output=True, check=False, env=names, cwd=self.site.parent,
        )  # fmt: skip


def install(project: Path, directory: Path) -> Installed:
    """Build the project's wheel and install it without a network, leaving the project unchanged."""
    copied = Path(shutil.copytree(project, directory / "project", ignore=shutil.ignore_patterns("__pycache__")))
    words = ["install", "-q", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(directory / "site")]
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words, str(copied)], text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Installed(directory / "site")
