"""An output stream: what it can show, its width, lines that are drawn over, and writing that never raises."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import Final, TextIO

from harness.terminal.streams import Printable

log = logging.getLogger("harness.terminal.screen")

_COLUMNS: Final = 80


class Screen:
    """A stream and its width and colours, written to without raising.

    ``living``: lines can be drawn over in place; ``coloured``: they can be coloured, too.  Neither holds for a file, a
    pipe or ``TERM=dumb``, and no colour where NO_COLOR is set.
    """

    # rich measures, cuts and draws over; its Live does not hold here: it hides the cursor, which a run that is killed
    # could not show again, ends the process when its reader goes away (SystemExit), and a signal handler that prints
    # while it draws raises through it.

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._gone = False
        self._drawn = 0
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
        from rich.text import Text  # here, because it takes 30 ms: a verb that draws nothing does not pay for it

        shown = Text(line)
        shown.truncate(self.columns - 1, overflow="ellipsis")
        return shown.plain

    def draw(self, *lines: str) -> None:
        """Draw lines in place of those drawn before; only where the screen is ``living``."""
        self._erase()
        self._drawn = len(lines)
        self.write("\n".join(map(self.cut, lines)))

    def clear(self) -> None:
        """Remove the lines that were drawn."""
        self._erase()

    def say(self, text: str) -> None:
        """Write a line that stays, in place of those that were drawn."""
        self._erase()
        self.write(f"{text}\n")

    def _erase(self) -> None:
        if not self._drawn:
            return
        from rich.control import Control
        from rich.segment import ControlCode, ControlType

        erase, above = (ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1)
        codes: list[ControlType | ControlCode] = [ControlType.CARRIAGE_RETURN, erase]
        codes += [above, erase] * (self._drawn - 1)
        self._drawn = 0
        self.write(str(Control(*codes)), codes=True)

    def write(self, text: str, *, codes: bool = False) -> None:
        """Write and flush, never raise: the first failure is logged, and everything after it is dropped."""
        if self._gone:
            return
        try:
            if codes and isinstance(self._stream, Printable):
                self._stream.write_codes(text)
            else:
                self._stream.write(text)
            self._stream.flush()
        except RuntimeError:  # from a signal handler while this thread was writing: only the handler's text is lost
            log.info("not written: %s", text)
        except (OSError, ValueError) as error:
            self._gone = True
            log.warning("output is dropped from now on: %s", error)
