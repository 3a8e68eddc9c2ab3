"""As root, refuse files that nobody named and that another user can write: they may name programs.

The user behind ``sudo`` and that user's group are trusted.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from harness.errors import UsageError


def require_own(path: Path, remedy: str) -> None:
    """When running as root, check that only root and the user behind ``sudo`` can write a file and its directory.

    Raises UsageError with the ``remedy``.
    """
    if os.geteuid() == 0 and (why := writer_of(path)) is not None:
        raise UsageError(f"{path.absolute()}: {why} can change it, and its programs would run as root: {remedy}")


def writer_of(path: Path) -> str | None:
    """Return who else can write a file, a link that leads to it, or one of their directories, or None."""
    target = path.resolve()
    for place in (path.absolute().parent, path, target.parent, target):
        try:
            status = place.lstat()
        except OSError:
            continue
        if status.st_uid not in _trusted("SUDO_UID"):
            return f"user {status.st_uid}"
        if stat.S_ISLNK(status.st_mode):
            continue
        if status.st_mode & stat.S_IWOTH:
            return "every user"
        if status.st_mode & stat.S_IWGRP and status.st_gid not in _trusted("SUDO_GID"):
            return f"group {status.st_gid}"
    return None


def _trusted(variable: str) -> set[int]:
    text = os.environ.get(variable, "")
    return {0, os.getuid()} | ({int(text)} if text.isdecimal() else set())
