"""Tables of text for terminals and files, laid out by rich."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from harness.terminal.screen import Screen

#: Wide enough that no row of a file or a pipe is ever wrapped: there a row is a line, as grep wants it.
_UNWRAPPED: Final = 1 << 20
COLOURS: Final = {"ok": "green", "up": "green", "MISSING": "red", "down": "red", "without": "yellow"}


def render(rows: Iterable[Sequence[str]], columns: int | None = None, colours: Mapping[str, str] | None = None) -> str:
    """Rows without borders, wrapped within ``columns`` (None: not at all); ``colours`` by a cell's text."""
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


def fitted(rows: Iterable[Sequence[str]]) -> str:
    """The table for standard output as it is: as wide as a terminal, and coloured where it shows colours."""
    screen = Screen(sys.stdout)
    return render(rows, screen.room, COLOURS if screen.coloured else None)
