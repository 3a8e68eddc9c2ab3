"""Puts the register server's jars into the wheel; everything else is said in pyproject.toml."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
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


setup(cmdclass={"build_py": BuildWithJars})
