"""Control groups that outlived their node.

The roles of a node, and the limits that faults put on them, have groups named after the node's process namespace
(``nemesis.core.roles``).  The kernel ends the processes in them with the node, and leaves the empty groups.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

ROOT: Final = Path("/sys/fs/cgroup")
_OURS: Final = re.compile(r"harness-(\d+)\D.*")


def namespace_of(pid: int, proc: Path = Path("/proc")) -> str | None:
    """The number of a process's process namespace, None when it has ended."""
    try:
        return re.sub(r"\D", "", str((proc / str(pid) / "ns" / "pid").readlink()))
    except OSError:
        return None


def remove_orphans(
    dying: Collection[str | None] = (), root: Path = ROOT, proc: Path = Path("/proc"), patience_s: float = 1.0
) -> list[Path]:
    """Remove the groups of process namespaces that are gone, or ``dying``; returns them.

    A group of a living node, or one that still holds a process, is left alone.  The kernel takes a moment to let go of
    a namespace's last process, hence the patience.  Our own namespace never counts as dying.
    """
    dying = set(dying) - {namespace_of(os.getpid())}
    removed, deadline = list[Path](), time.monotonic() + patience_s
    while orphans := _orphans(root, proc, dying):
        for path in orphans:
            with suppress(OSError):
                path.rmdir()
                removed.append(path)
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    return removed


def _orphans(root: Path, proc: Path, dying: Collection[str | None]) -> list[Path]:
    groups = list(_ours(root))
    if not groups:
        return []
    living = {namespace_of(int(process.name), proc) for process in proc.glob("[0-9]*")} - set(dying)
    return [path for namespace, path in groups if namespace not in living]


def _ours(root: Path) -> Iterator[tuple[str, Path]]:
    """Version 1 has a folder for each controller, version 2 the groups right below the root."""
    for pattern in ("harness-*", "*/harness-*"):
        for path in root.glob(pattern):
            if (found := _OURS.fullmatch(path.name)) and path.is_dir():
                yield found[1], path
