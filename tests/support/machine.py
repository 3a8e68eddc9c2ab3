"""Information about this machine, for tests that any user may run on it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

#: With the directories of the system's own programs, such as losetup, which not every user has in PATH.
SYSTEM_PATH: Final = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def is_running(pid: int) -> bool:
    """Return whether a process has not ended. A zombie, which process 1 may never reap, has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
