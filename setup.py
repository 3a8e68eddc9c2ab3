"""Puts the register server's jars into the wheel, and gives the same bytes for the same commit.

Everything else is said in pyproject.toml.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

SERVER = Path(__file__).resolve().parent / "dledger_register"
JARS = [SERVER / "dist" / f"dledger-register-{version}.jar" for version in ("0.4.0", "0.3.2")]

#: For a wheel that is to check, shrink and report only.
WITHOUT = "HARNESS_WITHOUT_JARS"


class BuildWithJars(build_py):
    """The Python packages, and ``harness/systems/jars``; the jars are built by Maven unless they are there."""

    def run(self) -> None:
        super().run()
        # From a source tree that is installed in place, the jars are taken where scripts/bootstrap builds them.
        if self.editable_mode or os.environ.get(WITHOUT):
            return
        if not all(jar.is_file() for jar in JARS):
            _build_jars()
        target = Path(self.build_lib) / "harness" / "systems" / "jars"
        self.mkpath(str(target))
        for jar in JARS:
            self.copy_file(str(jar), str(target / jar.name))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        jars = [Path(self.build_lib) / "harness" / "systems" / "jars" / jar.name for jar in JARS]
        return [*super().get_outputs(include_bytecode), *(str(jar) for jar in jars if jar.is_file())]


class SameBytes(bdist_wheel):
    """A wheel in which the umask of a checkout is not to be seen, nor that of the build."""

    def write_wheelfile(self, wheelfile_base: str, **options: Any) -> None:
        super().write_wheelfile(wheelfile_base, **options)
        # The last that is written before all of it is packed.
        for path in Path(self.bdist_dir).rglob("*"):
            if path.is_file():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


def _build_jars() -> None:
    if shutil.which("mvn") is None:
        sys.exit(
            "the register server's jars are not built, and mvn is not here: apt-get install maven "
            f"openjdk-17-jdk-headless, or set {WITHOUT}=1 for a harness that checks and reports but runs nothing"
        )
    print("building the register server's jars with Maven", flush=True)  # noqa: T201 (a build's own output)
    done = subprocess.run(["mvn", "-q", "-B", "-f", str(SERVER), "package", "-DskipTests"], check=False)
    if done.returncode != 0:
        sys.exit(f"mvn package failed in {SERVER.name}; see above (it needs a JDK of 17 or later)")


def _pin_time() -> None:
    """Let all files of the wheel bear the time of the last commit; without a clone they bear their own."""
    commit_time = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=SERVER.parent, capture_output=True, text=True, check=False
    ) if shutil.which("git") else None  # fmt: skip
    if commit_time is not None and commit_time.returncode == 0:
        os.environ.setdefault("SOURCE_DATE_EPOCH", commit_time.stdout.strip())


_pin_time()
setup(cmdclass={"build_py": BuildWithJars, "bdist_wheel": SameBytes})
