"""The log file of a run."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.errors import StoreError


class _LogFile(logging.FileHandler):
    """A log file that ignores a full disk, because the history reports that once, in one line."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (logging's own name)
        """Drop the record."""


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Write all log records to ``path`` while the block runs.  Raises StoreError if it cannot be opened."""
    try:
        handler = _LogFile(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    root = logging.getLogger()
    previous = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.getLogger("paramiko").setLevel(logging.WARNING)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(previous)
        with suppress(OSError):
            handler.close()
