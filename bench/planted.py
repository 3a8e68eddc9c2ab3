"""Measure how often short real runs catch each bug that can be planted in a server.  Needs root.

    python -m bench.planted [--runs 20] [--bugs skip-entry,vote-twice] [--cluster netns] [--store DIR]

Every run is added to ``bench/counts`` when it ends, and a later call continues from there.  Then the table in
docs/planted-bugs.md is rewritten.  A run in which the harness failed does not count and is repeated.  Runs that caught
their bug are removed; the others stay in the store.

A series is named after its bug and, unless that is ``register``, its workload: ``apply-twice:set``.  The series
``none`` has no planted bug: it shows what 0.4.0's own defects look like in such runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.series import ROOT, Row, Series, extend, options, read_series, write_table
from harness.systems.dledger import SYSTEM

#: Each bug that the server can be made to have, and the checks that look for it.
PLANTED_BUGS: Final = {bug.name: bug.found_by for bug in SYSTEM.planted_bugs}
PAGE: Final = ROOT / "docs" / "planted-bugs.md"
COMMAND: Final = "python -m bench.planted"
#: The name of the runs without a planted bug.
NONE: Final = "none"
REGISTER: Final = "register"


@dataclass(frozen=True, slots=True)
class Trial:
    """The kind of run in which a bug must show: as short as possible, with the fault that the bug needs."""

    bug: str
    version: str = "0.3.2"
    nemesis: str = ""
    seconds: float = 10
    interval: float = 4
    workload: str = REGISTER
    more: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.bug if self.workload == REGISTER else f"{self.bug}:{self.workload}"

    def words(self, cluster: str) -> list[str]:
        """Return the command line of one run, without the program, the seed and the store."""
        planted = ("--unsafe-test-mode", "--planted-bug", self.bug) if self.bug != NONE else ()
        turns = ("--nemesis", self.nemesis) if self.nemesis else ()
        return [
            "run", *planted, "--dledger-version", self.version,
            "--workload", self.workload, *turns, "--time-limit", f"{self.seconds:g}",
            "--interval", f"{self.interval:g}", "--recovery-time", "20", "--no-spark", *self.more, "--cluster", cluster,
        ]  # fmt: skip


#: With many keys, a wrong value is still there when a client reads it: another write would put the register right.
#: The rate is so low that two nodes are often probed at the same index.
_SNAPSHOTS: Final = ("--snapshot", "--snapshot-threshold", "100", "--keys", "500", "--rate", "60")
TRIALS: Final = (
    Trial("stale-reads", seconds=6),
    Trial("ack-before-commit", nemesis="partition-leader-minority", seconds=20, interval=5),
    Trial("apply-twice"),
    Trial("skip-entry", more=("--keys", "100")),
    Trial("lose-write", seconds=30, more=("--rate", "500", "--keys", "200")),
    Trial("forget-in-snapshot", "0.4.0", "kill-followers", 30, 5, more=_SNAPSHOTS),
    Trial("snapshot-wrong-index", "0.4.0", "kill-followers", 30, 5, more=_SNAPSHOTS),
    Trial(NONE, "0.4.0", "kill-followers", 30, 5, more=_SNAPSHOTS),
    Trial("vote-twice", nemesis="partition-leader-minority", seconds=20),
    Trial("deposed-reads", nemesis="partition-leader-minority", seconds=20, interval=5),
    # Every other workload, with one bug that it has to find.  On 0.4.0 where 0.3.2 applies entries twice of its own.
    Trial("stale-reads", seconds=6, workload="cas-register"),
    Trial("stale-reads", seconds=6, workload="mixed-registers"),
    Trial("apply-twice", "0.4.0", workload="set"),
    Trial("apply-twice", "0.4.0", workload="counter"),
    Trial("apply-twice", "0.4.0", workload="bank"),
    Trial("ack-before-commit", "0.4.0", "partition-leader-minority", 20, 5, "append-log"),
    Trial("ack-before-commit", "0.4.0", "partition-leader-minority", 20, 5, "lock"),
    Trial(NONE, "0.4.0", "partition-leader-minority", 20, 5, "append-log"),
    Trial(NONE, "0.4.0", "partition-leader-minority", 20, 5, "lock"),
)


def caught(bug: str, row: Row) -> bool:
    """Return whether a check that looks for this bug found it."""
    return bool(set(PLANTED_BUGS.get(bug, ())) & set(row.get("invalid", ())))


def table(series: Mapping[str, Series]) -> str:
    """Return the table of docs/planted-bugs.md."""
    lines = [
        "| bug | version, workload | nemesis, seconds | check that must report it | caught | by which checks |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for trial in TRIALS:
        mine = series.get(trial.name, Series())
        by = mine.named_text() or "none"
        more = " ".join(trial.more)
        lines.append(
            f"| `{trial.bug}` | {trial.version}, {trial.workload}{f', `{more}`' if more else ''} "
            f"| {f'`{trial.nemesis}`' if trial.nemesis else 'none'}, {trial.seconds:g} s "
            f"| {must_name(trial.bug)} | {f'{mine.hits} of {mine.runs}' if mine.runs else 'not run'} "
            f"| {by if mine.runs else ''} |"
        )
    return "\n".join(lines)


def must_name(bug: str) -> str:
    """Return the checks, one of which must find a bug, as the table shows them."""
    return " or ".join(f"`{name}`" for name in PLANTED_BUGS.get(bug, ())) or "no check"


def main() -> None:
    asked = options(__doc__, "bugs", [trial.name for trial in TRIALS], runs=20, of=Path(__file__), page=PAGE)
    series = read_series(asked.counts)
    for trial in (one for one in TRIALS if one.name in asked.chosen):
        make(trial, asked, series)
    write_table(asked.page, COMMAND, table(series))


def make(trial: Trial, asked: argparse.Namespace, series: dict[str, Series]) -> None:
    """Run one bug until there are as many runs as requested, or too many runs failed."""
    extend(
        series,
        trial.name,
        lambda _: trial.words(asked.cluster),
        asked,
        intended=lambda row: caught(trial.bug, row),
        names=lambda row: row["invalid"],
    )


if __name__ == "__main__":
    main()
