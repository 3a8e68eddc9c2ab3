"""An output stream with its width and abilities, lines that can be redrawn, and writing that never raises."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import Final, TextIO

from harness.terminal.streams import Printable

log = logging.getLogger("harness.terminal.screen")

_COLUMNS: Final = 80


class Screen:
    """A stream with its width and colours; writing to it never raises.

    ``living``: lines can be redrawn in place; ``coloured``: they can also have colours.  Neither is true for a file, a
    pipe or ``TERM=dumb``, and there are no colours if NO_COLOR is set.
    """

    # rich measures and cuts text here, but its Live is not robust enough: it hides the cursor, which a killed run could
    # not show again; it ends the process (SystemExit) when the reader goes away; and it raises if a signal handler
    # prints while it draws.

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
        """The current width of the terminal, or COLUMNS, or 80 if both are unknown."""
        with suppress(OSError, ValueError):
            if width := os.get_terminal_size(self._stream.fileno()).columns:
                return width
        named = os.environ.get("COLUMNS", "")
        return int(named) if named.isdecimal() and int(named) else _COLUMNS

    @property
    def room(self) -> int | None:
        """The width for a table, or None for a file or a pipe, where any width will do."""
        return self.columns if self.is_terminal else None

    def cut(self, line: str) -> str:
        """Cut a line to one column less than the width, because a full line would scroll lines that are redrawn."""
        from rich.text import Text  # here, because it takes 30 ms: a verb that draws nothing does not pay for it

        shown = Text(line)
        shown.truncate(self.columns - 1, overflow="ellipsis")
        return shown.plain

    def draw(self, *lines: str) -> None:
        """Draw lines in place of those drawn before.  Only allowed if the screen is ``living``."""
        self._erase()
        self._drawn = len(lines)
        self.write("\n".join(map(self.cut, lines)))

    def clear(self) -> None:
        """Remove the lines that were drawn."""
        self._erase()

    def say(self, text: str) -> None:
        """Write a permanent line, replacing the lines that were drawn."""
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
        """Write and flush without raising: the first failure is logged, and later output is dropped."""
        if self._gone:
            return
        try:
            if codes and isinstance(self._stream, Printable):
                self._stream.write_codes(text)
            else:
                self._stream.write(text)
            self._stream.flush()
        except RuntimeError:  # a signal handler wrote while this thread was writing: only the handler's text is lost
            log.info("not written: %s", text)
        except (OSError, ValueError) as error:
            self._gone = True
            log.warning("output is dropped from now on: %s", error)
