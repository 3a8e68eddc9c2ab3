"""Mounts and loop devices below a directory of the host, and how to remove them."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

from harness.errors import ClusterError


def mounted_below(directory: Path) -> list[Path]:
    """Return the mount points at or below a directory, innermost first."""
    rows = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [Path(row.split()[4].encode().decode("unicode_escape")) for row in rows]
    return [point for point in reversed(points) if point.is_relative_to(directory)]


def mount_tmpfs(point: Path, tag: str, size: str) -> None:
    """Mount a tmpfs of this size at a directory, creating the directory.  Raises ClusterError."""
    point.mkdir(parents=True, exist_ok=True)
    _run("mount", "-t", "tmpfs", "-o", f"size={size},mode=755", tag, str(point))


def unmount_below(directory: Path) -> None:
    """Unmount everything at or below a directory. A busy mount disappears when its last user ends."""
    for point in mounted_below(directory):
        if subprocess.run(["umount", str(point)], check=False, capture_output=True).returncode != 0:
            subprocess.run(["umount", "-l", str(point)], check=False, capture_output=True)


def loops_below(directory: Path, node: str = "*") -> list[str]:
    """Return the loop devices on the images of a cluster's nodes, or of one node.

    They are matched by device and inode, because the kernel shows a file's path in the mount namespace of whoever
    created the loop device.
    """
    images = [path.stat() for path in directory.glob(f"nodes/{node}/*.img")] if directory.is_dir() else []
    wanted = {(f"{os.major(image.st_dev)}:{os.minor(image.st_dev)}", image.st_ino) for image in images}
    columns = "NAME,BACK-INO,BACK-MAJ:MIN"
    done = subprocess.run(["losetup", "--json", "-O", columns], text=True, check=False, capture_output=True)
    devices = json.loads(done.stdout)["loopdevices"] if done.stdout.strip() else []
    return [
        device["name"]
        for device in devices
        if (str(device["back-maj:min"]).strip(), int(device["back-ino"] or 0)) in wanted
    ]


def release_loops(directory: Path, timeout: float, node: str = "*") -> None:
    """Wait until the kernel has released the loop devices of ended nodes, then detach the rest.

    Raises ClusterError if one remains.
    """
    if not _await_no_loops(directory, node, timeout):
        for device in loops_below(directory, node):
            subprocess.run(["losetup", "-d", device], check=False, capture_output=True)
        if not _await_no_loops(directory, node, timeout):
            left = ", ".join(loops_below(directory, node))
            raise ClusterError(
                f"{left} is still in use; to see by which process: grep -l {left.split(',')[0]} /proc/*/mountinfo"
            )


def make_filesystem(image: Path, size: int, kind: str) -> None:
    """Create a sparse file with an empty filesystem, replacing what was there.  Raises ClusterError."""
    image.unlink(missing_ok=True)
    with image.open("wb") as file:
        file.truncate(size)
    # A new sparse file is all zeros, so mkfs need not zero the inode tables and the journal.
    ext4 = ("mkfs.ext4", "-q", "-F", "-J", "size=32", "-E", "lazy_itable_init=1,lazy_journal_init=1", str(image))
    _run(*(ext4 if kind == "ext4" else ("mkfs.xfs", "-q", "-f", str(image))))


def _await_no_loops(directory: Path, node: str, timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while loops_below(directory, node):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _run(*words: str) -> None:
    done = subprocess.run(words, text=True, check=False, capture_output=True)
    if done.returncode != 0:
        complaint = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
        raise ClusterError(f"`{' '.join(words)}` failed: {complaint}")
