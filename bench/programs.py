"""Measure how often real runs catch each wrong program, and whether they leave right ones alone.  Needs root.

    python -m bench.programs [--runs 10] [--programs mute-node,dirty-reads] [--cluster netns] [--store DIR]

The programs are TOML files of ``examples``, in Python, Go and Node.  ``objects.toml`` is wrong with each of its planted
bugs: it runs ``--runs`` times for a minute with the default options and one nemesis.  The right programs have no bug:
they run twice as often, shorter, with a different nemesis each time.  Every run is added to ``results.json`` in the
store when it ends, and a later call continues from there.  Then the tables in docs/planted-bugs.md are rewritten, or
only printed if some programs were left out.  A wrong program is caught by a finding of the right kind; a right one is
blamed by any run that is invalid.
"""

from __future__ import annotations

import argparse
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.series import MAX_FAILURES, ROOT, Row, add_run, counts, known, options, write_table

EXAMPLES: Final = ROOT / "examples"
PAGE: Final = ROOT / "docs" / "planted-bugs.md"
COMMAND: Final = "python -m bench.programs"
MINORITY: Final = "partition-leader-minority"
#: Where the program in Go is built, as its file names it.
HOLDER: Final = ROOT / "build" / "holder" / "server"


@dataclass(frozen=True, slots=True)
class Wrong:
    """A planted bug, the workload and the nemesis of its runs, and the findings of which one must name it.

    ``named_by`` are kinds of findings, or ``recovery``, which is a check.
    """

    name: str
    named_by: tuple[str, ...]
    workload: str = "register"
    nemesis: str = MINORITY

    def words(self, _: int) -> list[str]:
        planted = ("--planted-bug", self.name, "--unsafe-test-mode", "--nemesis", self.nemesis)
        return ["run", "--system", str(EXAMPLES / "objects" / "objects.toml"), "--workload", self.workload, *planted]

    def is_as_intended(self, row: Row) -> bool:
        return bool({*self.named_by} & {*row.get("kinds", ()), *row.get("invalid", ())})


@dataclass(frozen=True, slots=True)
class Right:
    """A program without a bug, whose runs use one nemesis after the other."""

    name: str
    file: str
    nemeses: tuple[str, ...]

    def words(self, run: int) -> list[str]:
        short = ("--time-limit", "24", "--interval", "6", "--nemesis", self.nemeses[run % len(self.nemeses)])
        return ["run", "--system", str(EXAMPLES / self.file), *short]

    def is_as_intended(self, row: Row) -> bool:
        return not row.get("invalid")


#: Twenty of the catalogue, of every family that these programs can take.
CATALOGUE: Final = (
    "bridge", "partition-leader-majority", MINORITY, "partition-majorities-ring", "partition-one-way",
    "partition-random-halves", "partition-random-node", "swizzle", "kill-all", "kill-leader", "kill-random-processes",
    "restart-rolling", "hammer-time", "pause-leader", "pause-majority", "crash-all", "packet-delay", "packet-loss",
    "cpu-starve", "disk-slow",
)  # fmt: skip
DAMAGE: Final = ("file-bitflip", "file-truncate")
STALE: Final = ("stale-read", "read-inversion")
WRONG: Final = (
    Wrong("refused-writes", ("recovery",), nemesis="kill-all"),
    Wrong("unanswered-writes", ("recovery",), nemesis="kill-all"),
    Wrong("mute-node", ("recovery",), nemesis="kill-all"),
    Wrong("paused-lease", STALE, nemesis="pause-leader"),
    Wrong("deposed-reads", STALE),
    Wrong("reordered-log", ("log-overwrite", "log-order"), "append-log"),
    Wrong("expired-lock", ("granted-twice",), "lock"),
    Wrong("retried-add", ("overcount",), "counter", "partition-one-way"),
    Wrong("dirty-reads", ("failed-write-read",)),
    Wrong("loses-everything", ("lost-element",), "set", "kill-leader"),
    Wrong("old-snapshot", STALE),
    Wrong("duplicated-element", ("duplicate",), "set"),
)
RIGHT: Final = (
    Right("objects", "objects/objects.toml", CATALOGUE),
    Right("objects-damaged", "objects/objects.toml", DAMAGE),
    Right("objects-arbiter", "objects/arbiter.toml", CATALOGUE),
    Right("holder-go", "holder/go.toml", CATALOGUE),
    Right("holder-node", "holder/node.toml", CATALOGUE),
)


def table(results: Mapping[str, Sequence[Row]]) -> str:
    """Return the tables of docs/planted-bugs.md."""
    lines = [
        "| bug | workload | nemesis | must be reported | caught | findings and checks |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for wrong in WRONG:
        rows = [row for row in results.get(wrong.name, ()) if counts(row)]
        hits = sum(map(wrong.is_as_intended, rows))
        named = Counter(name for row in rows for name in {*row.get("kinds", ()), *row["invalid"]})
        by = ", ".join(f"`{name}` {count}" for name, count in named.most_common())
        must = " or ".join(f"`{name}`" for name in wrong.named_by)
        caught = f"{hits} of {len(rows)}" if rows else "not run"
        lines.append(f"| `{wrong.name}` | {wrong.workload} | `{wrong.nemesis}` | {must} | {caught} | {by} |")
    lines += [
        "",
        "| correct program | nemeses | runs | valid | unknown | invalid |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for right in RIGHT:
        rows = [row for row in results.get(right.name, ()) if counts(row)]
        verdicts = Counter(row["exit"] for row in rows)
        few = (
            " and ".join(f"`{name}`" for name in right.nemeses) if right.nemeses == DAMAGE else str(len(right.nemeses))
        )
        lines.append(f"| {right.name} | {few} | {len(rows)} | {verdicts[0]} | {verdicts[2]} | {verdicts[1]} |")
    return "\n".join(lines)


def make(program: Wrong | Right, runs: int, asked: argparse.Namespace, results: dict[str, list[Row]]) -> None:
    """Run one program until there are as many runs as requested, or too many runs failed."""
    rows = results.setdefault(program.name, [])
    failures = 0
    while (done := sum(map(counts, rows))) < runs and failures < MAX_FAILURES:
        words = [*program.words(done), "--no-spark", "--cluster", asked.cluster]
        row = add_run(rows, program.name, words, program.is_as_intended, asked, results)
        failures += not counts(row)
        intended = "as intended" if counts(row) and program.is_as_intended(row) else "NOT AS INTENDED"
        said = f"exit {row['exit']}, {intended}, {row.get('kinds')}, {row['seconds']} s"
        print(f"{program.name} seed {row['seed']}: {said}", flush=True)


def main() -> None:
    programs: tuple[Wrong | Right, ...] = (*WRONG, *RIGHT)
    asked = options(__doc__, "programs", [one.name for one in programs], runs=10, of=Path(__file__), page=PAGE)
    results: dict[str, list[Row]] = known(asked.results)
    HOLDER.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-o", HOLDER, EXAMPLES / "holder" / "server.go"], check=True)
    for program in programs:
        if program.name in asked.chosen:
            make(program, asked.runs * (2 if isinstance(program, Right) else 1), asked, results)
    write_table(asked.page, COMMAND, table(results), complete=len(asked.chosen) == len(programs))


if __name__ == "__main__":
    main()
