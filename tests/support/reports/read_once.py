"""What was read from a history is kept: hundreds of tests read the same few runs, and half their time went there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from unittest import mock

import numpy as np

from reports.load import run as run_module
from reports.load.columns import Coded, Operations, read_jsonl

#: Histories whose columns are kept at a time: more than are recorded and made for one file of tests.
KEPT = 32


@contextmanager
def histories_read_once() -> Iterator[None]:
    """Let ``read_run`` parse a history once for the same bytes; its columns are read-only, for many tests share them.

    One that cannot be read is read anew each time: what is said of it names its path.
    """

    kept: dict[bytes, Operations] = {}

    def read(path: Path) -> Operations:
        digest = hashlib.sha256(path.read_bytes()).digest()
        if digest not in kept:
            if len(kept) == KEPT:
                kept.clear()
            kept[digest] = _read_only(read_jsonl(path))
        return kept[digest]

    with mock.patch.object(run_module, "read_jsonl", read):
        yield


def _read_only(operations: Operations) -> Operations:
    for field in fields(operations):
        value = getattr(operations, field.name)
        column = value.codes if isinstance(value, Coded) else value
        if isinstance(column, np.ndarray):
            column.flags.writeable = False
    return operations
