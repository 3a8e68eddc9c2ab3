"""An append-only file of whole lines."""

from __future__ import annotations

import errno
import os
from pathlib import Path


class LineFile:
    """A new file that whole lines are appended to.

    After a failed write, the file is truncated to its last whole line and every later write raises the same
    ``OSError``, because half a line in the middle would make the whole file unreadable.
    """

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._size = 0
        #: The error that every write raises from now on, if any.
        self.failure: OSError | None = None
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def require_writable(self) -> None:
        """Raise the OSError of an earlier write that failed, if any."""
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
                raise OSError(errno.ENOSPC, f"only {written} of {len(lines)} bytes were written", self._name)
        except OSError as error:
            self.failure = error
            self._size += lines[:written].rfind(b"\n") + 1
            os.ftruncate(self.descriptor, self._size)
            raise
        self._size += len(lines)

    def sync(self) -> None:
        """Flush written lines to the disk.  Raises OSError."""
        os.fdatasync(self.descriptor)

    def close(self) -> None:
        os.close(self.descriptor)
