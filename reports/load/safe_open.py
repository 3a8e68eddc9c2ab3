"""Opens files inside a store; no symbolic link on the way to them is followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO


class NotServedError(Exception):
    """There is no file at that path, or none that may be served."""


def names_of(path: str) -> list[str]:
    """Split a request's path into names.  Raises NotServedError for anything that could lead elsewhere.

    WSGI hands the path over as already unquoted bytes, read as Latin-1.
    """
    raw = path.encode("latin-1")
    if b"\0" in raw or b"\\" in raw:
        raise NotServedError(path)
    names = [name for name in os.fsdecode(raw).strip("/").split("/") if name] if raw.strip(b"/") else []
    if any(name.startswith(".") for name in names):
        raise NotServedError(path)
    return names


def open_in_store(store: Path, names: Iterable[str]) -> BinaryIO:
    """Open a regular file below a store, name by name, following no symbolic link.  Raises NotServedError, OSError."""
    descriptor = os.open(store, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        *folders, last = names
        for name in folders:
            following = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = following
        file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=descriptor)
    finally:
        os.close(descriptor)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise NotServedError(last)
    return os.fdopen(file, "rb")


def files_of(root: Path) -> list[tuple[str, int]]:
    """List (path inside the run, bytes) of every regular file that is served, in order."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder) / name
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                found.append((str(path.relative_to(root)), path.stat().st_size))
    return found
