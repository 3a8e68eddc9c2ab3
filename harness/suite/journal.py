"""The journal of a suite: ``store/suites/<suite>/<UTC start>/``.

``suite.json`` holds the cells as they were drawn at the start, ``attempts.jsonl`` a line for each run, written and
synced when it ended.  So after the suite was killed, the cells that ended need not run again, and the others are those
that were begun, with their seeds, even if the file has changed meanwhile.  An attempt that was interrupted is not
recorded: it is repeated, unless a violation was found in it, also where the suite was killed before its end.
"""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from harness.clusters.locks import FileLock
from harness.errors import StoreError, UsageError
from harness.store import point_link, write_json
from harness.suite.cell_process import Attempt
from harness.suite.cells import Cell
from history.json_object import load_object
from history.records.layout import name_of_start
from history.schema import convert, record_of

FORMAT: Final = "harness-suite"
VERSION: Final = 2
SUITES: Final = "suites"


@dataclass(frozen=True, slots=True)
class Begun:
    """The decisions at the start of a suite; a resumed suite keeps them."""

    name: str
    file: str
    seed: int
    shard: str
    retries: int
    cluster: str
    cells: tuple[Cell, ...]

    def to_json(self) -> dict[str, Any]:
        record = {name: getattr(self, name) for name in self.__slots__}
        return {"format": FORMAT, "version": VERSION, **record, "cells": [cell.to_json() for cell in self.cells]}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Begun:
        """Read the record of a begun suite.  Raises ValueError, KeyError and UsageError when it is none."""
        if (record["format"], record["version"]) != (FORMAT, VERSION):
            raise ValueError(f"expected {FORMAT} version {VERSION}")
        found = convert(record, _Record)
        fields = {name: getattr(found, name) for name in cls.__slots__ if name != "cells"}
        return cls(**fields, cells=tuple(map(Cell.from_json, found.cells)))


class _Record(Struct):
    """What :class:`Begun` is written as."""

    name: str
    file: str
    seed: int
    shard: str
    retries: Annotated[int, Meta(ge=0)]
    cluster: str
    cells: list[dict[str, Any]]


@dataclass(slots=True)
class Journal:
    """The directory of one run of a suite.  ``attempts`` are in the order in which they ended."""

    root: Path
    begun: Begun
    attempts: list[Attempt] = field(default_factory=list)

    def add(self, attempt: Attempt) -> None:
        """Record an attempt.  Raises StoreError when that fails: the suite then ends rather than forget."""
        try:
            with (self.root / "attempts.jsonl").open("ab") as file:
                file.write(json.dumps(record_of(attempt)).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"cannot write {self.root / 'attempts.jsonl'}: {error.strerror}") from None
        self.attempts.append(attempt)

    def of(self, cell: Cell) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.cell == cell.name]

    def log_of(self, cell: Cell) -> Path:
        """The file for the next attempt's output."""
        number = 1 + [one.name for one in self.begun.cells].index(cell.name)
        return self.root / "cells" / f"{number:03}-{len(self.of(cell)) + 1}.log"

    def is_settled(self, cell: Cell) -> bool:
        """Whether no further attempt is due."""
        attempts = self.of(cell)
        if not attempts:
            return bool(cell.skip)
        return not attempts[-1].retryable or len(attempts) > self.begun.retries


def begin(store: Path, begun: Begun, started: datetime) -> Journal:
    """Make the directory of a new run of a suite.  Raises StoreError."""
    home = store / SUITES / begun.name
    shard = "" if begun.shard == "1/1" else "-" + begun.shard.replace("/", "-of-")
    root = home / f"{name_of_start(started)}{shard}"
    try:
        (root / "cells").mkdir(parents=True)
        write_json(root / "suite.json", begun.to_json())
        point_link(home / "latest", Path(root.name))
    except OSError as error:
        raise StoreError(f"cannot write to the store {store}: {error.strerror}; name another with --store") from None
    return Journal(root, begun)


def alone(root: Path) -> AbstractContextManager[None]:
    """Hold a run of a suite: a second session would take the cell under way for one that was cut.

    Entering raises ClusterBusyError that names the other session.
    """
    return FileLock(root / "lock", f"the suite's run {root}").held()


def latest(store: Path, name: str) -> Path | None:
    """The directory of the last run of a suite."""
    root = store / SUITES / name / "latest"
    return root.resolve() if (root / "suite.json").is_file() else None


def unfinished(store: Path, name: str) -> Journal | None:
    """The last run of a suite if it did not end.  Raises UsageError when it cannot be read."""
    root = latest(store, name)
    if root is None:
        return None
    journal = read_journal(root)
    return None if all(map(journal.is_settled, journal.begun.cells)) else journal


def read_journal(root: Path) -> Journal:
    """Read the journal of a suite; a torn last line is left out, so its cell runs again.  Raises UsageError."""
    try:
        begun = Begun.from_json(load_object((root / "suite.json").read_bytes(), msgspec.json.decode))
        path = root / "attempts.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        attempts = [convert(load_object(line), Attempt) for line in lines if line.endswith(b"\n")]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{root} cannot be resumed: {error}; start the suite anew, without --resume") from None
    if lines and not lines[-1].endswith(b"\n"):
        os.truncate(path, sum(map(len, lines[:-1])))
    return Journal(root, begun, attempts)
