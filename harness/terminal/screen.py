"""A stream that a person reads: what it can show, how wide it is, and writing that never costs the run anything."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import Final, TextIO

log = logging.getLogger("harness.terminal.screen")

_COLUMNS: Final = 80


class Screen:
    """What one stream can show, and writing to it that never raises.

    ``living``: lines can be drawn over in place; ``coloured``: and be coloured.  Neither holds for a file, a pipe or
    ``TERM=dumb``, and no colour where NO_COLOR is set.
    """

    # Lines that are drawn over are ours, not rich's Live: that ends the process when its reader goes away (SystemExit),
    # hides the cursor, which a run that is killed could not show again, and would need all of this class beneath it.

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._gone = False
        with suppress(ValueError):  # closed
            self._gone = stream.closed
        self.is_terminal = not self._gone and stream.isatty()
        self.living = self.is_terminal and os.environ.get("TERM") != "dumb"
        self.coloured = self.living and not os.environ.get("NO_COLOR")

    @property
    def columns(self) -> int:
        """Of the terminal as it is now; COLUMNS, else 80, where it does not say."""
        with suppress(OSError, ValueError):
            if found := os.get_terminal_size(self._stream.fileno()).columns:
                return found
        told = os.environ.get("COLUMNS", "")
        return int(told) if told.isdecimal() and int(told) else _COLUMNS

    @property
    def room(self) -> int | None:
        """How wide a table may be; None for a file or a pipe, which take any width."""
        return self.columns if self.is_terminal else None

    def cut(self, line: str) -> str:
        """What of a line fits: one that fills the last column would scroll a living part away."""
        room = self.columns - 1
        return line if len(line) <= room else line[: room - 1] + "…"

    def write(self, text: str) -> None:
        """Never raises: once nobody can be told any more, the log says so, and nothing else happens."""
        if self._gone:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except RuntimeError:  # a signal came while this thread was writing: its handler's words are lost, no more
            log.info("not said: %s", text)
        except (OSError, ValueError) as error:
            self._gone = True
            log.warning("nobody is told anything any more: %s", error)
