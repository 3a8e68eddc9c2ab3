"""A lock between processes: ``flock`` on a file that names its holder.

The kernel releases the lock when its holder dies, however it dies.  Releasing the lock does not remove the file:
another process may have opened it meanwhile, and would then hold a lock on a removed file.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from harness.errors import ClusterBusyError, ClusterError
from history.json_object import read_object

PASSING_S = 5.0


class FileLock:
    """A reentrant lock for one process at a time."""

    def __init__(self, path: Path, subject: str) -> None:
        self._path = path
        self._what = subject
        self._entering = threading.RLock()
        self._descriptor = -1
        self._depth = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock while the context lasts.  Raises ClusterBusyError at once if another process holds it."""
        with self._entering:
            if self._depth == 0:
                self._descriptor = self._acquire()
            self._depth += 1
        try:
            yield
        finally:
            with self._entering:
                self._depth -= 1
                if self._depth == 0:
                    os.ftruncate(self._descriptor, 0)
                    os.close(self._descriptor)
                    self._descriptor = -1

    def holder(self) -> str | None:
        """Describe the current holder, or return None.  Does not touch the lock itself."""
        pid = self._holding_pid()
        return None if pid is None else self._words(pid)

    def _holding_pid(self) -> str | None:
        """Return the pid of the process that took the lock, which may have died and left the lock to a child."""
        try:
            inode = self._path.stat().st_ino
            locks = Path("/proc/locks").read_text()
        except OSError:
            return None
        # "1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF"
        rows = [line.split() for line in locks.splitlines()]
        pids = [row[4] for row in rows if "FLOCK" in row[:3] and len(row) > 5 and row[5].split(":")[-1] == str(inode)]
        return pids[0] if pids else None

    def _acquire(self) -> int:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ClusterError(f"cannot create the lock {self._path}: {error.strerror}") from None
        if not self._lock(descriptor):
            os.close(descriptor)
            holder = self.holder() or "another process"
            raise ClusterBusyError(f"{self._what} is in use by {holder}; wait until it ends, or stop it")
        me = {"pid": os.getpid(), "command": shlex.join(sys.argv), "since": datetime.now(UTC).isoformat(" ", "seconds")}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(me).encode(), 0)
        return descriptor

    def _lock(self, descriptor: int) -> bool:
        """Try to take the lock, and return whether we have it now.

        If a holder is killed, its child still has the lock between its fork and its exec; this waits until that is
        over.
        """
        deadline = time.monotonic() + PASSING_S
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            pid = self._holding_pid()
            if (pid is not None and Path(f"/proc/{pid}").exists()) or time.monotonic() > deadline:
                return False
            time.sleep(0.01)

    def _words(self, pid: str) -> str:
        """Return the holder's own description if it wrote one, else its pid."""
        try:
            record = read_object(self._path)
            return f"pid {record['pid']} (`{record['command']}`) since {record['since']}"
        except (OSError, ValueError, KeyError, TypeError):
            return f"pid {pid}"
