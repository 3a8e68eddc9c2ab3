"""The lock that marks a run as being under way.

A run holds a lock on its directory, which the kernel releases when the process ends for whatever reason.  On a file
system that cannot lock directories, no run appears to be under way.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@contextmanager
def under_way(root: Path) -> Iterator[None]:
    """Hold the lock on a run's directory until the block ends.  Raises OSError if there is no such directory."""
    folder = os.open(root, _FOLDER)
    try:
        with suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def is_under_way(root: Path) -> bool:
    """Return whether some process is working on the run in ``root``."""
    try:
        folder = os.open(root, _FOLDER)
    except OSError:
        return False
    try:
        fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(folder)
    return False
