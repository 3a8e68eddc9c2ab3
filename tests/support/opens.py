"""Count how often files below a directory are opened and replaced."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Seen:
    """How often each file was opened, and how often another file took its name, by path below the directory."""

    opened: Counter[str] = field(default_factory=Counter)
    replaced: Counter[str] = field(default_factory=Counter)


_watched: dict[str, Seen] = {}


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watched or event not in ("open", "os.rename") or arguments[0] is None:
        return
    if event == "open":
        # A file that is opened by its name alone, below a directory that is open, is opened again by its descriptor.
        path = f"/proc/self/fd/{arguments[0]}" if isinstance(arguments[0], int) else os.fsdecode(arguments[0])
    else:
        _, name, _, folder = arguments
        path = f"/proc/self/fd/{folder}/{name}" if folder >= 0 else os.fsdecode(name)
    real = os.path.realpath(path)
    for root, seen in _watched.items():
        if real.startswith(root + os.sep):
            (seen.opened if event == "open" else seen.replaced)[os.path.relpath(real, root)] += 1


sys.addaudithook(_note)  # it can never be removed, so there is one


@contextmanager
def watched(root: Path) -> Iterator[Seen]:
    """Count what Python code inside opens and replaces below a directory."""
    real = os.path.realpath(root)
    _watched[real] = Seen()
    try:
        yield _watched[real]
    finally:
        del _watched[real]
