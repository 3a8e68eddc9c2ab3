"""The journal of a suite: ``store/suites/<suite>/<UTC start>/``.

``suite.json`` holds the cells as drawn at the start.  ``attempts.jsonl`` holds a line for each run, written and synced
when the run ended.  If a suite is killed, the finished cells need not run again, and the remaining ones keep their
plans and seeds even if the suite file has changed.  An interrupted attempt is not recorded but repeated, unless it
found a violation. That is also true if the suite was killed before the attempt ended.
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
    """The decisions made at the start of a suite, which a resumed suite keeps."""

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
        """Read the start of a suite from its record.

        Raises ValueError, KeyError or UsageError if the record is invalid.
        """
        if (record["format"], record["version"]) != (FORMAT, VERSION):
            raise ValueError(f"expected {FORMAT} version {VERSION}")
        begun = convert(record, _Record)
        fields = {name: getattr(begun, name) for name in cls.__slots__ if name != "cells"}
        return cls(**fields, cells=tuple(map(Cell.from_json, begun.cells)))


class _Record(Struct):
    """The JSON form of :class:`Begun`."""

    name: str
    file: str
    seed: int
    shard: str
    retries: Annotated[int, Meta(ge=0)]
    cluster: str
    cells: list[dict[str, Any]]


@dataclass(slots=True)
class Journal:
    """The directory of one run of a suite; ``attempts`` are in the order in which they ended."""

    root: Path
    begun: Begun
    attempts: list[Attempt] = field(default_factory=list)

    def add(self, attempt: Attempt) -> None:
        """Record an attempt. Raises StoreError if that fails: the suite then ends rather than lose the attempt."""
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
        """Return the file for the output of the cell's next attempt."""
        number = 1 + [other.name for other in self.begun.cells].index(cell.name)
        return self.root / "cells" / f"{number:03}-{len(self.of(cell)) + 1}.log"

    def is_settled(self, cell: Cell) -> bool:
        """Return whether the cell needs no further attempt."""
        attempts = self.of(cell)
        if not attempts:
            return bool(cell.skip)
        return not attempts[-1].retryable or len(attempts) > self.begun.retries


def begin(store: Path, begun: Begun, started: datetime) -> Journal:
    """Create the directory for a new run of a suite.  Raises StoreError."""
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
    """Lock one run of a suite against a second session, which would mistake the running cell for an interrupted one.

    Entering raises ClusterBusyError that names the other session.
    """
    return FileLock(root / "lock", f"the suite's run {root}").held()


def latest(store: Path, name: str) -> Path | None:
    """Return the directory of the suite's last run, or None if there is none."""
    root = store / SUITES / name / "latest"
    return root.resolve() if (root / "suite.json").is_file() else None


def unfinished(store: Path, name: str) -> Journal | None:
    """Return the last run of a suite if it is incomplete, else None.  Raises UsageError if it cannot be read."""
    root = latest(store, name)
    if root is None:
        return None
    journal = read_journal(root)
    return None if all(map(journal.is_settled, journal.begun.cells)) else journal


def read_journal(root: Path) -> Journal:
    """Read the journal of a suite.  Raises UsageError.

    A torn last line is removed from the file, so its cell runs again.
    """
    try:
        begun = Begun.from_json(load_object((root / "suite.json").read_bytes(), msgspec.json.decode))
        path = root / "attempts.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        attempts = [convert(load_object(line), Attempt) for line in lines if line.endswith(b"\n")]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{root} cannot be resumed: {error}; start the suite again, without --resume") from None
    if lines and not lines[-1].endswith(b"\n"):
        os.truncate(path, sum(map(len, lines[:-1])))
    return Journal(root, begun, attempts)
