"""Control groups that outlived their node.

The roles of a node, and the limits that faults put on them, have groups named after the node's PID namespace
(``nemesis.core.roles``).  When a node dies, the kernel ends the processes in these groups but leaves the empty groups.
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
    """Return the number of a process's PID namespace, or None if the process has ended."""
    try:
        return re.sub(r"\D", "", str((proc / str(pid) / "ns" / "pid").readlink()))
    except OSError:
        return None


def remove_orphans(
    dying: Collection[str | None] = (), root: Path = ROOT, proc: Path = Path("/proc"), patience_s: float = 1.0
) -> list[Path]:
    """Remove and return the groups of PID namespaces that are gone or ``dying``.

    Groups of live nodes, and groups that still hold a process, are left alone.  The kernel takes a moment to release a
    namespace's last process, so this retries for ``patience_s`` seconds.  Our own namespace is never considered dying.
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
    """Yield each of the harness's groups with its namespace.

    Version 1 of control groups has a folder per controller; in version 2 the groups are right below the root.
    """
    for pattern in ("harness-*", "*/harness-*"):
        for path in root.glob(pattern):
            if (match := _OURS.fullmatch(path.name)) and path.is_dir():
                yield match[1], path
