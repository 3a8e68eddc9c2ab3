"""Text tables for terminals and files.  rich lays them out if they must fit a width."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from harness.terminal.screen import Screen

#: Wide enough that rows are never wrapped in a file or a pipe: each row is one line there, for grep.
_UNWRAPPED: Final = 1 << 20
COLOURS: Final = {
    "ok": "green", "up": "green", "valid": "green",
    "MISSING": "red", "down": "red", "invalid": "red", "harness failure": "red",
    "without": "yellow", "unknown": "yellow",
}  # fmt: skip


def render(rows: Iterable[Sequence[str]], columns: int | None = None, colours: Mapping[str, str] | None = None) -> str:
    """Return rows as a table without borders, wrapped to ``columns`` unless that is None.

    ``colours`` maps the text of a cell to its colour.
    """
    rows = list(rows)
    if columns is None and not colours and all("\n" not in cell for row in rows for cell in row):
        return _aligned(rows)
    from rich.console import Console  # here, because it takes some 50 ms: only the verbs that draw tables pay for it
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*(Text(cell, (colours or {}).get(cell.strip(), ""), overflow="fold") for cell in row))
    console = Console(
        width=columns or _UNWRAPPED, color_system="standard" if colours else None, force_terminal=bool(colours)
    )
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Align rows in columns without rich, which takes seconds for ten thousand rows."""
    from rich.cells import cell_len

    widths = [0] * max(map(len, rows), default=0)
    for row in rows:
        widths[: len(row)] = [max(width, cell_len(cell)) for width, cell in zip(widths, row, strict=False)]
    padded = (
        "  ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=False))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in padded)


def fitted(rows: Iterable[Sequence[str]]) -> str:
    """Return a table that suits standard output: as wide as its terminal, and coloured if it shows colours."""
    screen = Screen(sys.stdout)
    return render(rows, screen.room, COLOURS if screen.coloured else None)


def wrapped(text: str) -> str:
    """Return a line of text for standard output, wrapped if that is a terminal."""
    room = Screen(sys.stdout).room
    return text if room is None else textwrap.fill(text, room, break_on_hyphens=False)
