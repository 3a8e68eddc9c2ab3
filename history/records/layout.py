"""The files of a run.  A run directory is ``store/<test name>/<UTC start>-<seed>/``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

#: Name of the directory in a store that holds the tables of all runs.
WAREHOUSE: Final = "warehouse"
_STARTED: Final = re.compile(r"(\d{8}T\d{6})(\.\d{1,6})?")


def start_of(name: str) -> datetime | None:
    """Return the start time in the name of a run's directory; None if the name does not begin with a time."""
    match = _STARTED.match(name)
    if match is None:
        return None
    try:
        return datetime.strptime(f"{match[1]}{match[2] or '.0'}", "%Y%m%dT%H%M%S.%f").replace(tzinfo=UTC)
    except ValueError:
        return None


def name_of_start(started: datetime) -> str:
    """Return the start time as the beginning of a directory name; :func:`start_of` reads it back."""
    return f"{started:%Y%m%dT%H%M%S.%f}"[:-3] + "Z"


#: Starting Spark, or using all its tasks, pays off only for histories larger than this (about 250,000 operations).
LARGE_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class NamedFile:
    """Descriptor for the path of a file or directory with this name in the run's directory."""

    name: str

    def __get__(self, run: RunFiles, owner: type) -> Path:
        return run.root / self.name


@dataclass(frozen=True, slots=True)
class RunFiles:
    """Paths of the files of one run.  Does not access the disk."""

    root: Path

    plan = NamedFile("plan.json")
    #: Copy of the file that defines the system under test, made when the run began, if a file defines it.
    system = NamedFile("system.toml")
    history = NamedFile("history.jsonl")
    probes = NamedFile("probes.jsonl")
    #: One directory for each node, with its logs and state files.
    nodes = NamedFile("nodes")
    log = NamedFile("harness.log")
    #: Times of the run (phases, heal, recovery) and harness failures, written as they happen.
    state = NamedFile("run.json")
    #: The run's cell in a suite, its expected verdicts, and whether it met them.  Only for runs of a suite.
    suite = NamedFile("suite.json")
    tables = NamedFile("tables")
    results = NamedFile("results.json")
    summary = NamedFile("summary.txt")
    report = NamedFile("report.html")
    plots = NamedFile("plots")
    junit = NamedFile("junit.xml")

    def table(self, name: str) -> Path:
        return self.tables / f"{name}.parquet"
