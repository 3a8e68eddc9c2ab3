"""Check whether this machine has what a cluster of namespaces needs, and choose substitutes for what it lacks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.clusters.record import DataKind, RootKind
from harness.errors import ClusterError, UsageError

#: The Debian and Ubuntu package of each program.
PROGRAMS: Final[Mapping[str, str]] = {
    "ip": "iproute2",
    "unshare": "util-linux",
    "losetup": "mount",
    "mount": "mount",
    "pivot_root": "util-linux",
    "sshd": "openssh-server",
}
SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#: A node's data filesystem is a sparse file; this much must be free for each on the host.
FREE_DISK_PER_NODE: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class Provision:
    """The parts that nodes are built from. ``notes`` name each substitute, and how to get the real thing."""

    root: RootKind
    data: DataKind
    notes: tuple[str, ...]


def require_root() -> None:
    """Check that this process runs as root.  Raises UsageError."""
    if os.geteuid() != 0:
        raise UsageError("--cluster netns needs root: run the same command with sudo, or use --cluster inventory:FILE")


def require_programs() -> None:
    """Check that the programs a cluster needs are installed.  Raises ClusterError that names the packages."""
    missing = sorted({package for program, package in PROGRAMS.items() if not which(program)})
    if missing:
        raise ClusterError(f"missing on this machine: apt-get install {' '.join(missing)}, or run scripts/bootstrap")


def require_disk(directory: Path, nodes: int) -> None:
    """Check that a directory has disk space for the nodes.  Raises ClusterError."""
    free, needed = shutil.disk_usage(directory).free, nodes * FREE_DISK_PER_NODE
    if free < needed:
        raise ClusterError(
            f"{directory} has {free >> 20} MiB free, {nodes} nodes need {needed >> 20}; free some space there"
        )


def which(program: str) -> str | None:
    """Return the path of a program, or None.  Also searches the sbin directories, which a user's PATH may lack."""
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}")


def knows_filesystem(kind: str) -> bool:
    """Return whether the kernel supports a filesystem, or has a module for it that can still be loaded."""
    listed = Path("/proc/filesystems").read_text().split()
    modules = Path("/lib/modules") / os.uname().release / "kernel/fs" / ("overlayfs" if kind == "overlay" else kind)
    return kind in listed or modules.is_dir()


def has_loop_devices() -> bool:
    return Path("/dev/loop-control").exists()


def provide() -> Provision:
    """Return the best configuration that this machine supports."""
    root: RootKind = "overlay" if knows_filesystem("overlay") else "assembled"
    data = _data_kind()
    notes = []
    if root != "overlay":
        notes.append("no overlay filesystem, so nodes get the host's programs read-only (fix: modprobe overlay)")
    if data == "tmpfs":
        notes.append(
            "no loop devices or no mkfs, so data is kept in memory without power cuts (fix: modprobe loop, apt-get "
            "install e2fsprogs)"
        )
    return Provision(root, data, tuple(notes))


def _data_kind() -> DataKind:
    kinds: tuple[DataKind, ...] = ("ext4", "xfs")
    usable = [kind for kind in kinds if which(f"mkfs.{kind}") and knows_filesystem(kind)]
    return usable[0] if usable and has_loop_devices() else "tmpfs"
