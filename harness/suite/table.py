"""Progress of a suite: a row for each finished cell and, on a terminal, a status below.

Rows stay and scroll.  The status (the running cell, the last line of its output, and the totals) is redrawn in place.
Without a terminal there are only rows, so a CI log has one line for each cell of the suite.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TextIO

from harness.suite.cell_process import Attempt
from harness.suite.cells import Cell
from harness.terminal.screen import Screen
from reports.style.format import one_line, printable

_DRAW_EVERY_S: Final = 0.5
_TAIL_BYTES: Final = 4096
_COLOUR: Final = {
    "passed": "32",
    "violation": "31",
    "missing-violation": "31",
    "harness-failure": "35",
    "unknown": "33",
    "not-run": "33",
    "skipped": "2",
}


class ProgressTable:
    """The progress of a suite, as a table on ``stream`` (None: standard output).

    Rows are numbered by the position of their cell in ``cells``.
    """

    def __init__(
        self, cells: Sequence[Cell], stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._screen = Screen(stream if stream is not None else sys.stdout)
        self._clock = clock
        self._place = {cell.name: number for number, cell in enumerate(cells, 1)}
        self._width = min(max((len(cell.name) for cell in cells), default=0), 64)
        self._sums: Counter[str] = Counter()
        self._next = 0.0
        self._current: tuple[Cell, int, Path, float] | None = None
        self._began = clock()

    @property
    def columns(self) -> int | None:
        """The width of the summary; None for a file or a pipe."""
        return self._screen.room

    def say(self, text: str) -> None:
        self._screen.say(printable(text))

    def begins(self, cell: Cell, attempt: int, log: Path) -> None:
        self._current = (cell, attempt, log, self._clock())
        self._next = 0.0
        self.tick()

    def ended(self, cell: Cell, attempt: Attempt, *, again: bool) -> None:
        self._current = None
        if not again:
            self._sums[attempt.outcome] += 1
        more = "" if attempt.outcome == "passed" and attempt.verdict == "valid" else attempt.sentence
        outcome = "again" if again else attempt.outcome
        self._row(cell, outcome, f"{attempt.seconds:.0f} s", "; ".join(part for part in (attempt.found, more) if part))
        for note in attempt.notes:
            self.say(f"{'':9}{note}")

    def skipped(self, cell: Cell, why: str, outcome: str = "skipped") -> None:
        self._sums[outcome] += 1
        self._row(cell, outcome, "", why)

    def tick(self) -> None:
        """Redraw the status, if enough time has passed."""
        if not self._screen.living or self._current is None or self._clock() < self._next:
            return
        self._next = self._clock() + _DRAW_EVERY_S
        self._screen.draw(*self._living_part(*self._current))

    def _living_part(self, cell: Cell, attempt: int, log: Path, since: float) -> list[str]:
        name = cell.name + (f"  attempt {attempt}" if attempt > 1 else "")
        sums = "  ".join(f"{name} {count}" for name, count in sorted(self._sums.items()))
        minutes, seconds = divmod(int(self._clock() - self._began), 60)
        return [
            f"[{self._place[cell.name]:3}/{len(self._place)}]  {'running':<18}{self._clock() - since:5.0f} s  {name}",
            f"           {last_line(log)}",
            f"           {minutes}:{seconds:02}  {sums}",
        ]

    def _row(self, cell: Cell, outcome: str, seconds: str, more: str) -> None:
        """Print a row.  On a terminal it is cut to the width, because the summary at the end shows everything."""
        place, shown = f"[{self._place[cell.name]:3}/{len(self._place)}]", f"{outcome:<18}"
        line = f"{place}  {shown}{seconds:>7}  {cell.name:<{self._width}}  {one_line(more, 400)}".rstrip()
        if self._screen.is_terminal:
            line = self._screen.cut(line)
        if self._screen.coloured:
            line = line.replace(shown, f"\x1b[{_COLOUR.get(outcome, '33')}m{shown}\x1b[0m", 1)
        self._screen.say(line)


def last_line(log: Path) -> str:
    """Return the last line of a growing file that is not blank, or an empty string if there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(log.stat().st_size - _TAIL_BYTES, 0))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    return next((one_line(line) for line in reversed(lines) if line.strip()), "")
