"""Control groups that outlived their node.

A fault that starves a node makes groups named after the node's process namespace (``nemesis.limits``).  The kernel ends
the processes in them with the node, and leaves the empty groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

ROOT: Final = Path("/sys/fs/cgroup")
_OURS: Final = re.compile(r"harness-(\d+)-\w+")


def remove_orphans(root: Path = ROOT, proc: Path = Path("/proc")) -> list[Path]:
    """Remove the groups of process namespaces that are gone; returns them.

    A group of a living node, or one that still holds a process, is left alone.
    """
    groups = list(_ours(root))
    if not groups:
        return []
    living = _namespaces(proc)
    removed = []
    for namespace, path in groups:
        if namespace not in living:
            with suppress(OSError):
                path.rmdir()
                removed.append(path)
    return removed


def _ours(root: Path) -> Iterator[tuple[str, Path]]:
    """Version 1 has a folder for each controller, version 2 the groups right below the root."""
    for pattern in ("harness-*", "*/harness-*"):
        for path in root.glob(pattern):
            if (found := _OURS.fullmatch(path.name)) and path.is_dir():
                yield found[1], path


def _namespaces(proc: Path) -> frozenset[str]:
    found = set()
    for process in proc.glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            found.add(re.sub(r"\D", "", str((process / "ns" / "pid").readlink())))
    return frozenset(found)
