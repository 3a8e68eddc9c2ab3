"""The files of a run.  A run directory is ``store/<test name>/<UTC start>-<seed>/``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

#: The directory in a store that holds the tables of all runs.
WAREHOUSE: Final = "warehouse"
_STARTED: Final = re.compile(r"(\d{8}T\d{6})(\.\d{1,6})?")


def start_of(name: str) -> datetime | None:
    """The start of a run, by its directory's name; None if that does not begin with a time."""
    found = _STARTED.match(name)
    if found is None:
        return None
    try:
        return datetime.strptime(f"{found[1]}{found[2] or '.0'}", "%Y%m%dT%H%M%S.%f").replace(tzinfo=UTC)
    except ValueError:
        return None


def name_of_start(started: datetime) -> str:
    """The beginning of the name of a directory, by which :func:`start_of` finds the start again."""
    return f"{started:%Y%m%dT%H%M%S.%f}"[:-3] + "Z"


#: A history of more (about 250,000 operations) is worth the start of Spark, and all tasks of one that runs.
LARGE_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file or directory of this name in the run's directory."""

    name: str

    def __get__(self, run: RunFiles, owner: type) -> Path:
        return run.root / self.name


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of one run.  Nothing here touches the disk."""

    root: Path

    plan = NamedFile("plan.json")
    #: The file of the system under test as it was when the run began, if the system is a file.
    system = NamedFile("system.toml")
    history = NamedFile("history.jsonl")
    probes = NamedFile("probes.jsonl")
    #: One directory a node, with its logs and state files.
    nodes = NamedFile("nodes")
    log = NamedFile("harness.log")
    #: Times of the run (phases, heal, recovery) and harness failures, written as they happen.
    state = NamedFile("run.json")
    #: Its cell, what was expected of it, and whether it ended so; only for runs of a suite.
    suite = NamedFile("suite.json")
    tables = NamedFile("tables")
    results = NamedFile("results.json")
    summary = NamedFile("summary.txt")
    report = NamedFile("report.html")
    plots = NamedFile("plots")
    junit = NamedFile("junit.xml")

    def table(self, name: str) -> Path:
        return self.tables / f"{name}.parquet"
