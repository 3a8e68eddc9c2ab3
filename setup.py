"""Puts the register server's jars, an example, suites and schemas into the wheel, always with the same bytes.

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

#: What ``harness system new`` writes.
EXAMPLE = sorted(path for path in (SERVER.parent / "examples" / "kv").iterdir() if path.is_file())
#: Found by name: suites with their scripts and defects, and the schemas that they name for editors.
FILES = sorted(
    path.relative_to(SERVER.parent)
    for pattern in ("suites/**/*.toml", "schemas/*.json")
    for path in SERVER.parent.glob(pattern)
)
#: For a wheel that is to check, shrink and report only.
WITHOUT = "HARNESS_WITHOUT_JARS"


class BuildWithJars(build_py):
    """The packages, the example, suites, and ``harness/systems/jars``, which Maven builds unless they are there."""

    def run(self) -> None:
        super().run()
        # From a source tree that is installed in place, all are taken where they are.
        if self.editable_mode:
            return
        self._copy(EXAMPLE, "program/example")
        for path in FILES:
            target = self._harness / "files" / path
            self.mkpath(str(target.parent))
            self.copy_file(str(SERVER.parent / path), str(target))
        if os.environ.get(WITHOUT):
            return
        if not all(jar.is_file() for jar in JARS):
            _build_jars()
        self._copy(JARS, "jars")

    def _copy(self, files: list[Path], place: str) -> None:
        self.mkpath(str(self._systems / place))
        for path in files:
            self.copy_file(str(path), str(self._systems / place / path.name))

    @property
    def _systems(self) -> Path:
        return self._harness / "systems"

    @property
    def _harness(self) -> Path:
        return Path(self.build_lib) / "harness"

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        copied = [self._systems / "jars" / jar.name for jar in JARS]
        copied += [self._systems / "program" / "example" / path.name for path in EXAMPLE]
        copied += [self._harness / "files" / path for path in FILES]
        return [*super().get_outputs(include_bytecode), *(str(path) for path in copied if path.is_file())]


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
