"""Files that systems run from: fetched when they are first needed, and kept by the identity of their content.

They are kept in ``$XDG_CACHE_HOME/harness`` (``~/.cache/harness``), each in a folder of its own that appears when it is
complete; the same folder's name is used on the nodes, so that another version never meets another's files.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ArtifactError, UsageError
from harness.systems.api import Artifact, Machine, Say

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>harness</groupId><artifactId>artifacts</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>{}</dependencies></project>
"""
_DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version><scope>runtime</scope>"
    "</dependency>"
)


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """Files that are on this machine already; ``mend`` says how to get one that is not."""

    name: str
    paths: tuple[Path, ...]
    mend: str

    @property
    def key(self) -> str:
        """Raises UsageError when a file is missing."""
        content = hashlib.sha256()
        for path in self.paths:
            if not path.is_file():
                raise UsageError(f"{path.name} is not there: {self.mend}")
            content.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
        return content.hexdigest()

    def fetch(self, into: Path, say: Say) -> None:  # noqa: ARG002 (there is nothing to wait for)
        for path in self.paths:
            shutil.copy2(path, into / path.name)


@dataclass(frozen=True, slots=True)
class MavenJars:
    """Jars of these coordinates (``group:artifact:version``), and those that they need to run."""

    name: str
    coordinates: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"maven:{','.join(self.coordinates)}"

    def fetch(self, into: Path, say: Say) -> None:
        say(f"fetching {', '.join(self.coordinates)} and what it needs with Maven")
        with tempfile.TemporaryDirectory() as scratch:
            pom = Path(scratch) / "pom.xml"
            pom.write_text(_POM.format("".join(_DEPENDENCY.format(*one.split(":")) for one in self.coordinates)))
            words = ("mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={into}")
            try:
                done = subprocess.run(words, capture_output=True, text=True, check=False)
            except FileNotFoundError:
                raise UsageError(f"{self.name} comes by Maven: install mvn, or run scripts/bootstrap") from None
        if done.returncode != 0:
            last = ([line for line in done.stdout.splitlines() if "ERROR" in line] or ["no message"])[0]
            raise ArtifactError(f"{self.key} could not be fetched: {last[:300]}")


def cached(artifact: Artifact, say: Say) -> Path:
    """The folder on this machine with the artifact's files; they are fetched if they are not there yet."""
    place = _root() / folder(artifact)
    if not place.is_dir():
        _root().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_root()) as scratch:
            arriving = Path(scratch) / "files"
            arriving.mkdir()
            artifact.fetch(arriving, say)
            try:
                arriving.rename(place)
            except OSError:
                if not place.is_dir():  # another run was quicker
                    raise
    return place


def folder(artifact: Artifact) -> str:
    """The name of the artifact's folder, in the cache and on the nodes."""
    return f"{artifact.name}-{hashlib.sha256(artifact.key.encode()).hexdigest()[:16]}"


def on_node(machine: Machine, artifact: Artifact) -> str:
    """The directory of the artifact's files on a node."""
    return f"{machine.home}/programs/{folder(artifact)}"


def _root() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "harness"
