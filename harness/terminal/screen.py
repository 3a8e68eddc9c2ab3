"""An output stream: what it can show, its width, and writing that never raises."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import Final, TextIO

log = logging.getLogger("harness.terminal.screen")

_COLUMNS: Final = 80


class Screen:
    """A stream and its width and colours, written to without raising.

    ``living``: lines can be drawn over in place; ``coloured``: they can be coloured, too.  Neither holds for a file, a
    pipe or ``TERM=dumb``, and no colour where NO_COLOR is set.
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
        """The present width of the terminal; COLUMNS, else 80, where it is unknown."""
        with suppress(OSError, ValueError):
            if found := os.get_terminal_size(self._stream.fileno()).columns:
                return found
        named = os.environ.get("COLUMNS", "")
        return int(named) if named.isdecimal() and int(named) else _COLUMNS

    @property
    def room(self) -> int | None:
        """The width of a table; None for a file or a pipe, which take any width."""
        return self.columns if self.is_terminal else None

    def cut(self, line: str) -> str:
        """Cut a line one column short of the width: a full one would scroll lines that are drawn over."""
        room = self.columns - 1
        return line if len(line) <= room else line[: room - 1] + "…"

    def write(self, text: str) -> None:
        """Write and flush, never raise: the first failure is logged, and everything after it is dropped."""
        if self._gone:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except RuntimeError:  # from a signal handler while this thread was writing: only the handler's text is lost
            log.info("not written: %s", text)
        except (OSError, ValueError) as error:
            self._gone = True
            log.warning("output is dropped from now on: %s", error)
