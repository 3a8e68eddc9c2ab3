"""Files that systems run from, fetched when first needed and kept by their content.

They are kept in ``$XDG_CACHE_HOME/harness`` (``~/.cache/harness``), each artifact in its own folder, which appears when
it is complete.  Nodes use the same folder name, so that files of different versions never mix.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
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
    """Files that are already on this machine.

    ``missing`` completes the error message for a missing file, after its name, and gives the remedy.
    """

    name: str
    paths: tuple[Path, ...]
    missing: str

    @property
    def key(self) -> str:
        """The digest of the files.  Raises UsageError if one is missing."""
        for path in self.paths:
            if not path.is_file():
                raise UsageError(f"{path.name} {self.missing}")
        return digest_of(self.paths)

    def fetch(self, into: Path, say: Say) -> None:  # noqa: ARG002 (there is nothing to wait for)
        for path in self.paths:
            shutil.copy2(path, into / path.name)


@dataclass(frozen=True, slots=True)
class MavenJars:
    """Jars with these coordinates (``group:artifact:version``), and all jars that they need to run.

    ``sha256`` is the digest of them all (:func:`digest_of`).  Other content from a repository is refused.
    """

    name: str
    coordinates: tuple[str, ...]
    sha256: str

    @property
    def key(self) -> str:
        return f"maven:{','.join(self.coordinates)}"

    def fetch(self, into: Path, say: Say) -> None:
        say(f"fetching {', '.join(self.coordinates)} and its dependencies with Maven")
        with tempfile.TemporaryDirectory() as scratch:
            pom = Path(scratch) / "pom.xml"
            pom.write_text(_POM.format("".join(_DEPENDENCY.format(*jar.split(":")) for jar in self.coordinates)))
            words = ("dependency:copy-dependencies", f"-DoutputDirectory={into}")
            maven(pom, *words, missing=f"{self.name} is fetched with Maven", failed=f"{self.key} cannot be fetched")
        if (digest := digest_of(sorted(into.iterdir()))) != self.sha256:
            raise ArtifactError(
                f"{self.key}: the jars have the digest {digest}, not {self.sha256}: these are not the jars that this "
                f"release was tested with; check the repository and Maven's settings"
            )


def maven(pom: Path, *words: str, missing: str, failed: str) -> None:
    """Run Maven on a project.

    Raises UsageError starting with ``missing`` if Maven is not installed, or ArtifactError with ``failed`` and Maven's
    first error if it fails.
    """
    try:
        done = subprocess.run(("mvn", "-q", "-B", "-f", str(pom), *words), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UsageError(f"{missing}: install mvn, or run scripts/bootstrap") from None
    if done.returncode != 0:
        first = ([line for line in done.stdout.splitlines() if "ERROR" in line] or ["no message"])[0]
        raise ArtifactError(f"{failed}: {first[:300]}")


def digest_of(paths: Iterable[Path]) -> str:
    """Return a hash of the files' names and contents."""
    content = hashlib.sha256()
    for path in paths:
        content.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return content.hexdigest()


def cached(artifact: Artifact, say: Say) -> Path:
    """Return the folder on this machine with the artifact's files, fetching them if necessary.  Raises HarnessError."""
    place = _root() / folder(artifact)
    try:
        if not place.is_dir():
            _root().mkdir(parents=True, exist_ok=True)
            _fetch(artifact, place, say)
    except OSError as error:
        mend = "make room, or set XDG_CACHE_HOME to another directory"
        raise ArtifactError(f"cannot write {place} ({error.strerror}): {mend}") from None
    return place


def _fetch(artifact: Artifact, place: Path, say: Say) -> None:
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        arriving = Path(scratch) / "files"
        arriving.mkdir()
        artifact.fetch(arriving, say)
        try:
            arriving.rename(place)
        except OSError:
            if not place.is_dir():  # else another run was faster
                raise


def folder(artifact: Artifact) -> str:
    """Return the name of the artifact's folder, in the cache and on the nodes."""
    return f"{artifact.name}-{hashlib.sha256(artifact.key.encode()).hexdigest()[:16]}"


def on_node(machine: Machine, artifact: Artifact) -> str:
    """Return the directory of the artifact's files on a node."""
    return f"{machine.home}/programs/{folder(artifact)}"


def _root() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "harness"
