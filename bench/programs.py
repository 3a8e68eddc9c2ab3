"""Measure how often real runs catch each wrong program, and whether they leave right ones alone.  Needs root.

    python -m bench.programs [--runs 10] [--programs mute-node,dirty-reads] [--cluster netns] [--store DIR]

The programs are TOML files of ``examples``, in Python, Go and Node.  ``objects.toml`` is wrong with each of its planted
bugs: it runs ``--runs`` times for a minute with the default options and one nemesis.  The right programs have no bug:
they run twice as often, shorter, with a different nemesis each time.  Every run is added to ``bench/counts`` when it
ends, and a later call continues from there.  Then the tables in docs/planted-bugs.md are rewritten.  A wrong program is
caught by a finding of the right kind; a right one is blamed by any run that is invalid.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.series import ROOT, Row, Series, extend, options, read_series, write_table

EXAMPLES: Final = ROOT / "examples"
PAGE: Final = ROOT / "docs" / "planted-bugs.md"
COMMAND: Final = "python -m bench.programs"
MINORITY: Final = "partition-leader-minority"
#: Where the program in Go is built, as its file names it.
HOLDER: Final = ROOT / "build" / "holder" / "server"


@dataclass(frozen=True, slots=True)
class Wrong:
    """A planted bug, the workload and the nemesis of its runs, and the findings, one of which must name it.

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


def table(series: Mapping[str, Series]) -> str:
    """Return the tables of docs/planted-bugs.md."""
    lines = [
        "| bug | workload | nemesis | must be reported | caught | findings and checks |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for wrong in WRONG:
        mine = series.get(wrong.name, Series())
        must = " or ".join(f"`{name}`" for name in wrong.named_by)
        caught = f"{mine.hits} of {mine.runs}" if mine.runs else "not run"
        lines.append(
            f"| `{wrong.name}` | {wrong.workload} | `{wrong.nemesis}` | {must} | {caught} | {mine.named_text()} |"
        )
    lines += [
        "",
        "| correct program | nemeses | runs | valid | unknown | invalid |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for right in RIGHT:
        mine = series.get(right.name, Series())
        few = (
            " and ".join(f"`{name}`" for name in right.nemeses) if right.nemeses == DAMAGE else str(len(right.nemeses))
        )
        verdicts = " | ".join(str(mine.exits[code]) for code in "021")
        lines.append(f"| {right.name} | {few} | {mine.runs} | {verdicts} |")
    return "\n".join(lines)


def make(program: Wrong | Right, asked: argparse.Namespace, series: dict[str, Series]) -> None:
    """Run one program until there are as many runs as requested, or too many runs failed."""
    runs = asked.runs * (2 if isinstance(program, Right) else 1)
    extend(
        series,
        program.name,
        lambda run: [*program.words(run), "--no-spark", "--cluster", asked.cluster],
        argparse.Namespace(**{**vars(asked), "runs": runs}),
        intended=program.is_as_intended,
        names=lambda row: {*row.get("kinds", ()), *row["invalid"]},
    )


def main() -> None:
    programs: tuple[Wrong | Right, ...] = (*WRONG, *RIGHT)
    asked = options(__doc__, "programs", [one.name for one in programs], runs=10, of=Path(__file__), page=PAGE)
    series = read_series(asked.counts)
    HOLDER.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-o", HOLDER, EXAMPLES / "holder" / "server.go"], check=True)
    for program in (one for one in programs if one.name in asked.chosen):
        make(program, asked, series)
    write_table(asked.page, COMMAND, table(series))


if __name__ == "__main__":
    main()
