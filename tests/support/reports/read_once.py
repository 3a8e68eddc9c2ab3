"""Keep histories that were read: hundreds of tests read the same few runs, which took half their time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from unittest import mock

from history import recording
from history.columns.file import History, read_whole
from history.recording import digest_of

#: Histories that are kept at a time: more than are recorded and made for one file of tests.
KEPT = 32


@contextmanager
def histories_read_once() -> Iterator[None]:
    """Make recordings parse a history only once for the same bytes.

    A history that cannot be read is read again each time, because the error names its path.
    """
    kept: dict[bytes, History] = {}

    def read(file: BinaryIO, path: Path) -> History:
        file.seek(0)
        digest = digest_of(file)
        if digest not in kept:
            if len(kept) == KEPT:
                kept.clear()
            kept[digest] = read_whole(file, path)
        return kept[digest]

    with mock.patch.object(recording, "read_whole", read):
        yield
