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


#: A history of more (about 250,000 operations) is worth the start of Spark, and all tasks of one that runs.
LARGE_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of one run.  Nothing here touches the disk."""

    root: Path

    @property
    def plan(self) -> Path:
        return self.root / "plan.json"

    @property
    def history(self) -> Path:
        return self.root / "history.jsonl"

    @property
    def probes(self) -> Path:
        return self.root / "probes.jsonl"

    @property
    def nodes(self) -> Path:
        """One directory a node, with its logs and state files."""
        return self.root / "nodes"

    @property
    def log(self) -> Path:
        return self.root / "harness.log"

    @property
    def state(self) -> Path:
        """``run.json``: times of the run (phases, heal, recovery) and harness failures, written as they happen."""
        return self.root / "run.json"

    @property
    def suite(self) -> Path:
        """``suite.json``: its cell, what was expected of it, and whether it ended so; only for runs of a suite."""
        return self.root / "suite.json"

    @property
    def tables(self) -> Path:
        return self.root / "tables"

    def table(self, name: str) -> Path:
        return self.tables / f"{name}.parquet"

    @property
    def results(self) -> Path:
        return self.root / "results.json"

    @property
    def summary(self) -> Path:
        return self.root / "summary.txt"

    @property
    def report(self) -> Path:
        return self.root / "report.html"

    @property
    def plots(self) -> Path:
        return self.root / "plots"

    @property
    def junit(self) -> Path:
        return self.root / "junit.xml"
