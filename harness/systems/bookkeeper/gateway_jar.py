"""The gateway's jar: built from its Maven project when first needed, and kept by the content of its sources."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Final

from harness.errors import UsageError
from harness.systems.api import Say
from harness.systems.artifacts import digest_of, maven

JAR: Final = "bookkeeper-gateway.jar"
PROJECT: Final = Path(__file__).resolve().parents[3] / "bookkeeper_gateway"


class GatewayJar:
    """The gateway as an artifact (``harness.systems.api.Artifact``).

    It contains no jars of BookKeeper, so it works with all versions.
    """

    name: Final = "bookkeeper-gateway"

    def __init__(self, project: Path = PROJECT) -> None:
        self._project = project

    @property
    def key(self) -> str:
        """The digest of the sources.  Raises UsageError if there are none."""
        sources = [self._project / "pom.xml", *sorted((self._project / "src" / "main").rglob("*.java"))]
        if not sources[0].is_file():
            raise UsageError(
                f"{self._project} is missing: BookKeeper's gateway can only be built in a source tree of the harness"
            )
        return digest_of(sources)

    def fetch(self, into: Path, say: Say) -> None:
        """Build the jar in a copy of the project.

        Files that root builds in the source tree could not be removed by its owner.
        """
        say("building BookKeeper's gateway with Maven (the first time it downloads what it needs)")
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch) / "project"
            copy.mkdir()
            shutil.copy2(self._project / "pom.xml", copy)
            shutil.copytree(self._project / "src" / "main", copy / "src" / "main")
            missing, failed = f"{self.name} is built with Maven", f"{self.name} could not be built"
            maven(copy / "pom.xml", "package", missing=missing, failed=failed)
            shutil.copy2(copy / "target" / JAR, into / JAR)
