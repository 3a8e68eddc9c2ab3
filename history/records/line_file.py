"""A file of whole lines that only grows: after a failed write it is cut back to its last whole line."""

from __future__ import annotations

import errno
import os
from pathlib import Path


class LineFile:
    """Appends whole lines to a file that it makes.

    After a failed write the file is cut back to its last whole line and every later write raises the same ``OSError``:
    half a line in the middle of a file would make all of it unreadable.
    """

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._size = 0
        #: What every write raises from now on, if anything.
        self.failure: OSError | None = None
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def require_writable(self) -> None:
        """Check that no write has failed so far.  Raises the OSError of the one that did."""
        if self.failure is not None:
            raise self.failure

    def write(self, lines: bytes) -> None:
        """Append lines, each with its newline.  Raises OSError."""
        self.require_writable()
        written = 0
        try:
            if lines:
                written = os.write(self.descriptor, lines)
            if written != len(lines):
                raise OSError(errno.ENOSPC, f"only {written} of {len(lines)} bytes were taken", self._name)
        except OSError as error:
            self.failure = error
            self._size += lines[:written].rfind(b"\n") + 1
            os.ftruncate(self.descriptor, self._size)
            raise
        self._size += len(lines)

    def sync(self) -> None:
        """Bring what was written to the disk.  Raises OSError."""
        os.fdatasync(self.descriptor)

    def close(self) -> None:
        os.close(self.descriptor)
