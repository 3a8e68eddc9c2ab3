"""Measure how often real runs find a known bug of a system, and how often they blame the fixed release.  Needs root.

    python -m bench.museum [--runs 10] [--pieces ZOOKEEPER-4925] [--cluster netns] [--store DIR]

Every run is added to ``results.json`` in the store when it ends, and a later call continues from there.  Then the table
in docs/museum.md is rewritten, or only printed if some pieces were left out.  A run in which the harness failed does
not count and is repeated.  Runs with the expected result are removed; the others stay in the store.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from bench.series import MAX_FAILURES, ROOT, Row, add_run, counts, known, options, write_table

COMMAND: Final = "python -m bench.museum"
PAGE: Final = ROOT / "docs" / "museum.md"

#: The rows of a piece by version.
Rows = dict[str, list[Row]]


@dataclass(frozen=True, slots=True)
class Piece:
    """A bug of a release: how to look for it, the checks that may find it, and what the system promises instead.

    ``name`` is that of the public report at ``link``; ``good`` is the first release without the bug.
    """

    name: str
    link: str
    system: str
    bad: str
    good: str
    promise: str
    fault: str
    words: tuple[str, ...]
    found_by: tuple[str, ...] = ("linearizable",)

    def command(self, version: str, cluster: str) -> list[str]:
        """Return the command line of one run, without the program, the seed and the store."""
        return ["run", "--system", f"{self.system}@{version}", *self.words, "--no-spark", "--cluster", cluster]

    def as_it_should(self, version: str, row: Row) -> bool:
        """Return whether the bad release was caught, or the good one was not blamed."""
        return self.found(row) if version == self.bad else not row["invalid"]

    def found(self, row: Row) -> bool:
        """Return whether a check that looks for this bug found it."""
        return bool(set(self.found_by) & set(row.get("invalid", ())))


_ZOOKEEPER_4925: Final = "https://issues.apache.org/jira/browse/ZOOKEEPER-4925"
_SET: Final = ("--workload", "set")
#: ZooKeeper's own default.
_SHORT: Final = ("-o", "commit_log=500")
_ZOOKEEPER: Final = (_ZOOKEEPER_4925, "zookeeper", "3.9.3", "3.9.4", "acknowledged writes are kept")
_BY: Final = ("linearizable", "node-logs")
PIECES: Final = (
    Piece("ZOOKEEPER-4925", *_ZOOKEEPER, "`rolling-kill`", (*_SET, "--nemesis", "rolling-kill"), _BY),
    Piece(
        "ZOOKEEPER-4925 by a script", *_ZOOKEEPER,
        "script: a server misses creates, and leads when another comes back",
        (*_SET, "--schedule", "suites/scenarios/zookeeper-4925.toml", "--rate", "20", "--time-limit", "30",
         "--recovery-time", "20", *_SHORT), _BY,
    ),
    Piece(
        "ZOOKEEPER-4925 by random kills", *_ZOOKEEPER, "random kills, three of which may overlap",
        (*_SET, "--nemesis", "kill-followers@one,kill-random-processes@one,kill-leader", "--tracks", "3",
         "--interval", "4", "--rate", "20", "--time-limit", "60", "--recovery-time", "20", *_SHORT), _BY,
    ),
    Piece(
        "ZOOKEEPER-4925 by kills in turn", *_ZOOKEEPER, "`kill-random-processes`",
        (*_SET, "--nemesis", "kill-random-processes", *_SHORT), _BY,
    ),
)  # fmt: skip


def interval(hits: int, of: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval for a proportion."""
    z, share = 1.96, hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return max(0.0, middle - half), min(1.0, middle + half)


def share(hits: int, of: int) -> str:
    """Return text such as "9 of 10 (60-98 %)"."""
    if not of:
        return "not run"
    low, high = interval(hits, of)
    return f"{hits} of {of} ({100 * low:.0f}-{100 * high:.0f} %)"


def seconds(figures: Sequence[float]) -> str:
    """Return text such as "27 s (19 to 41)": the median, the least and the most."""
    if not figures:
        return ""
    return f"{statistics.median(figures):.0f} s ({min(figures):.0f} to {max(figures):.0f})"


def table(results: Mapping[str, Mapping[str, Sequence[Row]]]) -> str:
    """Return the table of docs/museum.md."""
    lines = [
        "| bug | system | promised | fault | found | wrong answer after | a whole run | twin without it: blamed |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for piece in PIECES:
        bad, good = ([row for row in results.get(piece.name, {}).get(v, ()) if counts(row)] for v in _twins(piece))
        hits = [row for row in bad if piece.found(row)]
        answered = [row["answered_s"] for row in hits if row.get("answered_s") is not None]
        lines.append(
            f"| [{piece.name}]({piece.link}) | {piece.system} {piece.bad} | {piece.promise} | {piece.fault} "
            f"| {share(len(hits), len(bad))} "
            f"| {seconds(answered)} | {seconds([row['seconds'] for row in hits])} "
            f"| {piece.good}: {share(sum(bool(row['invalid']) for row in good), len(good))} |"
        )
    return "\n".join(lines)


def _twins(piece: Piece) -> tuple[str, str]:
    return piece.bad, piece.good


def make(piece: Piece, asked: argparse.Namespace, results: dict[str, Rows]) -> None:
    """Run a bug and its twin alternately, until both have as many runs as requested or too many runs failed."""
    of_piece = results.setdefault(piece.name, {})
    failures = 0
    while failures < MAX_FAILURES:
        made = {version: sum(map(counts, of_piece.get(version, ()))) for version in _twins(piece)}
        version = min(made, key=lambda one: made[one])
        if made[version] >= asked.runs:
            return
        rows = of_piece.setdefault(version, [])
        name, words = f"{piece.name.replace(' ', '-')}-{version}", piece.command(version, asked.cluster)
        row = add_run(rows, name, words, partial(piece.as_it_should, version), asked, results)
        failures += not counts(row)
        what = "harness failure" if not counts(row) else row["invalid"] or "nothing"
        print(f"{piece.name} on {version}, seed {row['seed']}: {what}, {row['seconds']} s", flush=True)


def main() -> None:
    asked = options(__doc__, "pieces", [piece.name for piece in PIECES], runs=10, of=Path(__file__), page=PAGE)
    results: dict[str, Rows] = known(asked.results)
    for piece in PIECES:
        if piece.name in asked.chosen:
            make(piece, asked, results)
    write_table(asked.page, COMMAND, table(results), complete=len(asked.chosen) == len(PIECES))


if __name__ == "__main__":
    main()
