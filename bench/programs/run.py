"""How often each wrong program is caught, and whether right ones are left alone, in real runs.  Needs root.

    python -m bench.programs.run [--runs 10] [--programs mute-node,dirty-reads] [--cluster netns] [--store DIR]

The programs are the TOML files beside this one: ``kv/objects.toml`` with each of its planted bugs, a minute with the
default options and one nemesis; and programs without a bug, a short run of each nemesis.  Every run is added to
``results.json`` in the store as it ends, and a later call continues from there.  The tables of docs/planted-bugs.md are
then written anew, or printed where only some programs were asked for.  A wrong program is caught by a run with a
finding of the right kind; a right one is blamed by any run that is invalid.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.series import MAX_FAILURES, ROOT, Row, counts, known, options, run_once, save, write_table
from nemesis import FAULTS

HERE: Final = Path(__file__).resolve().parent
PAGE: Final = ROOT / "docs" / "planted-bugs.md"
COMMAND: Final = "python -m bench.programs.run"
OBJECTS: Final = HERE / "kv" / "objects.toml"
MINORITY: Final = "partition-leader-minority"


@dataclass(frozen=True, slots=True)
class Wrong:
    """A planted bug, the workload and the nemesis of its runs, and the kinds of findings of which one must name it."""

    name: str
    kinds: tuple[str, ...]
    workload: str = "register"
    nemesis: str = MINORITY

    def words(self, _: int) -> list[str]:
        planted = ("--planted-bug", self.name, "--unsafe-test-mode", "--nemesis", self.nemesis)
        return ["run", "--system", str(OBJECTS), "--workload", self.workload, *planted]

    def is_caught(self, row: Row) -> bool:
        return bool(set(self.kinds) & set(row.get("kinds", ())))


@dataclass(frozen=True, slots=True)
class Right:
    """A program without a bug; its runs take one nemesis after the other."""

    name: str
    file: str
    nemeses: tuple[str, ...]
    workload: str = "register"

    def words(self, run: int) -> list[str]:
        short = ("--time-limit", "24", "--interval", "6", "--nemesis", self.nemeses[run % len(self.nemeses)])
        return ["run", "--system", str(HERE / self.file), "--workload", self.workload, *short]


STALE: Final = ("stale-read", "read-inversion")
WRONG: Final = (
    Wrong("refused-writes", ("no-recovery",), nemesis="kill-all"),
    Wrong("unanswered-writes", ("no-recovery",), nemesis="kill-all"),
    Wrong("mute-node", ("no-recovery",), nemesis="kill-all"),
    Wrong("paused-lease", STALE, nemesis="pause-leader"),
    Wrong("deposed-reads", STALE),
    Wrong("reordered-log", ("lost-append",), "append-log"),
    Wrong("expired-lock", ("double-grant",), "lock"),
    Wrong("retried-add", ("wrong-sum",), "counter", "partition-one-way"),
    Wrong("dirty-reads", ("failed-write",)),
    Wrong("loses-everything", ("lost-write",), nemesis="kill-leader"),
    Wrong("old-snapshot", STALE),
    Wrong("duplicated-element", ("duplicated",), "set"),
)
