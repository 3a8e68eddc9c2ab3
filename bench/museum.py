"""How often a known bug of a known system is found, and how often its mended twin is blamed, in real runs.  Needs root.

    python -m bench.museum [--runs 10] [--pieces ZOOKEEPER-4925] [--cluster netns] [--store DIR] [--results FILE]

Every run is written to the results as it comes, and a later call goes on from there; at the end, or with ``--runs 0``,
the table of docs/museum.md is written anew from them.  A run in which the harness failed counts for nothing and is made
again.  The runs that say what they should are removed; the others stay in the store.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.generated import with_table
from bench.planted import MOST_FAILURES, counts, invalid_checks, save

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "museum.md"
RESULTS: Final = Path(__file__).with_suffix(".json")
BEGIN: Final = "<!-- made by python -m bench.museum -->"
END: Final = "<!-- end -->"

Row = dict[str, Any]
#: By version, the rows of a piece.
Rows = dict[str, list[Row]]


@dataclass(frozen=True, slots=True)
class Piece:
    """A bug of a release: how to look for it, the checks that may name it, and what the system promises instead.

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

    def command(self, version: str, seed: int, cluster: str, store: Path) -> list[str]:
        """The command line of one run, without the program."""
        return [
            "run", "--system", f"{self.system}@{version}", *self.words, "--no-spark",
            "--seed", str(seed), "--cluster", cluster, "--store", str(store),
        ]  # fmt: skip

    def found(self, row: Row) -> bool:
        """Whether a check that looks for this bug said so."""
        return bool(set(self.found_by) & set(row.get("invalid", ())))


_ZOOKEEPER_4925: Final = "https://issues.apache.org/jira/browse/ZOOKEEPER-4925"
_SET: Final = ("--workload", "set")
#: ZooKeeper's own default.
_SHORT: Final = ("-o", "commit_log=500")
_ZOOKEEPER: Final = (_ZOOKEEPER_4925, "zookeeper", "3.9.3", "3.9.4", "what was acknowledged is kept")
_BY: Final = ("linearizable", "node-logs")
PIECES: Final = (
    Piece("ZOOKEEPER-4925", *_ZOOKEEPER, "`rolling-kill`", (*_SET, "--nemesis", "rolling-kill"), _BY),
    Piece(
        "ZOOKEEPER-4925 by a script", *_ZOOKEEPER,
        "script: a server misses creates, and leads when another one comes back",
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


def run_once(piece: Piece, version: str, seed: int, cluster: str, store: Path) -> Row:
    """One run; what of it the table needs."""
    store = store / f"{piece.name.replace(' ', '-')}-{version}-{seed}"
    shutil.rmtree(store, ignore_errors=True)
    began = time.monotonic()
    words = [sys.executable, "-m", "harness", *piece.command(version, seed, cluster, store)]
    done = subprocess.run(words, cwd=ROOT, text=True, capture_output=True, check=False)
    row: Row = {"seed": seed, "exit": done.returncode, "seconds": round(time.monotonic() - began, 1)}
    found = next((path for path in store.glob("*/*/results.json") if not path.parent.is_symlink()), None)
    if found is None:
        return {**row, "said": (done.stdout + done.stderr)[-500:]}
    results = json.loads(found.read_text())
    row["invalid"] = invalid_checks(results)
    row["sentence"] = str(results.get("sentence", ""))[:500]
    if piece.found(row) if version == piece.bad else not row["invalid"]:
        shutil.rmtree(store, ignore_errors=True)
    return row


def interval(hits: int, of: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for a share."""
    z, share = 1.96, hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return max(0.0, middle - half), min(1.0, middle + half)


def share(hits: int, of: int) -> str:
    """Text such as "9 of 10 (60-98 %)"."""
    if not of:
        return "not run"
    low, high = interval(hits, of)
    return f"{hits} of {of} ({100 * low:.0f}-{100 * high:.0f} %)"


def table(results: Mapping[str, Mapping[str, Sequence[Row]]]) -> str:
    """The table of docs/museum.md."""
    lines = [
        "| bug | system | promised | fault | found | seconds of a run | twin without it: blamed |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for piece in PIECES:
        bad, good = ([row for row in results.get(piece.name, {}).get(v, ()) if counts(row)] for v in _twins(piece))
        seconds = [row["seconds"] for row in bad if piece.found(row)]
        lines.append(
            f"| [{piece.name}]({piece.link}) | {piece.system} {piece.bad} | {piece.promise} | {piece.fault} "
            f"| {share(sum(map(piece.found, bad)), len(bad))} "
            f"| {f'{statistics.median(seconds):.0f}' if seconds else ''} "
            f"| {piece.good}: {share(sum(bool(row['invalid']) for row in good), len(good))} |"
        )
    return "\n".join(lines)


def _twins(piece: Piece) -> tuple[str, str]:
    return piece.bad, piece.good


def write_page(page: Path, results: Mapping[str, Mapping[str, Sequence[Row]]]) -> None:
    """Write the table of today into the page."""
    page.write_text(with_table(page.read_text(), BEGIN, END, table(results)))


def make(piece: Piece, asked: argparse.Namespace, results: dict[str, Rows]) -> None:
    """Runs of one bug and its twin in turns, until there are as many of each as asked for."""
    of_piece = results.setdefault(piece.name, {})
    failures = 0
    while failures < MOST_FAILURES:
        made = {version: sum(map(counts, of_piece.get(version, ()))) for version in _twins(piece)}
        version = min(made, key=lambda one: made[one])
        if made[version] >= asked.runs:
            return
        rows = of_piece.setdefault(version, [])
        row = run_once(piece, version, asked.seed + len(rows), asked.cluster, asked.store)
        failures += not counts(row)
        rows.append(row)
        save(asked.results, results)
        what = "harness failure" if not counts(row) else row["invalid"] or "nothing"
        print(f"{piece.name} on {version}, seed {row['seed']}: {what}, {row['seconds']} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="Runs of each version; with 0 only the page is written.")
    names = [piece.name for piece in PIECES]
    parser.add_argument("--pieces", default=",".join(names), help="Which, separated by commas.")
    parser.add_argument("--cluster", default="netns")
    parser.add_argument("--store", type=Path, default=ROOT / "store" / "museum")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--seed", type=int, default=1, help="Of the first run of each version; each next one adds 1.")
    asked = parser.parse_args()
    pieces = asked.pieces.split(",")
    if unknown := sorted(set(pieces) - set(names)):
        parser.error(f"--pieces: {', '.join(unknown)} is not among {', '.join(names)}")
    results: dict[str, Rows] = json.loads(asked.results.read_text()) if asked.results.exists() else {}
    for piece in PIECES:
        if piece.name in pieces:
            make(piece, asked, results)
    write_page(asked.page, results)


if __name__ == "__main__":
    main()
