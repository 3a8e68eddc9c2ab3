"""Make the standard streams safe: readers may vanish, streams may be closed, encodings may be limited.

An hour-long run must not end because ``| head`` closed its pipe.  Nor may a file of a run get the descriptor of a
closed stream, because output of child processes would then end up in that file.
"""

from __future__ import annotations

import codecs
import errno
import io
import locale
import os
import re
import select
import signal
import sys
from typing import Any, Final, TextIO

#: Replacements for characters that a terminal cannot show.  Most replace one character by one, so that columns stay
#: aligned, and none changes the meaning (a verdict's ``✓`` must not become the ``?`` of *unknown*).
_INSTEAD: Final[dict[str, str]] = {
    **dict(zip("✓✕●·•▁▂▃▄▅▆▇█░▒▓▲", "+xo.*__--==##.%#^", strict=True)),
    **dict(zip("─│┄├┤┌┐└┘┼┬┴╌═║", "-|.||+++++++.=|", strict=True)),
    **dict(zip("–—…×“”‘’„\u2009\u00a0", '--~x""\'\'"  ', strict=True)),
    "→": "->",
    "←": "<-",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "µ": "u",
}
_HANDLER: Final = "harness-terminal"
#: ASCII under another name: click assumes that the encoding ASCII is a mistake, and writes UTF-8 to such a stream.
_ASCII: Final = "harness_ascii"


def safe_streams() -> None:
    """Open closed streams, and make both output streams survive vanished readers."""
    codecs.register_error(_HANDLER, _replaced)
    codecs.register(_ascii_on_purpose)
    for number in (0, 1, 2):
        _open_if_closed(number)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = _safe(sys.stdout, sys.__stdout__, 1)
    sys.stderr = _safe(sys.stderr, sys.__stderr__, 2)


def restart_in_utf8() -> None:
    """Restart in Python's UTF-8 mode if the locale is not UTF-8; otherwise return.

    Every file that we write is UTF-8, whatever the terminal shows, even if a library opens it without an encoding.  The
    streams keep the terminal's encoding.
    """
    if codecs.lookup(locale.getpreferredencoding(False)).name == "utf-8" or os.environ.get("PYTHONUTF8") == "1":  # noqa: FBT003
        return
    os.environ["PYTHONUTF8"] = "1"
    os.environ.setdefault("PYTHONIOENCODING", next((s.encoding for s in (sys.stdout, sys.stderr) if s), "ascii"))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until harness.start unblocks it
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606


def _open_if_closed(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)  # gets the lowest free number: going upwards, mostly the right one
        if null != number:
            os.dup2(null, number)
            os.close(null)


def _safe(stream: TextIO | None, own: TextIO | None, number: int) -> TextIO:
    """Return the stream on a safe file.  A stream that was replaced, for example by a test, stays as it is."""
    if stream is not None and stream is not own:
        return stream
    encoding = "utf-8" if stream is None else stream.encoding
    if codecs.lookup(encoding).name == "ascii":
        encoding = _ASCII
    buffered = io.BufferedWriter(_Output(number, heard=number == 1))
    direct = isinstance(stream, io.TextIOWrapper) and stream.write_through
    safe = Printable(
        buffered, encoding, _HANDLER, line_buffering=number == 2 or buffered.isatty(), write_through=direct
    )
    safe.coloured = number == 1
    return safe


#: What could control a terminal or hide text: control characters and marks of text direction.  It also matches the
#: escape sequences of our own colours, which are let through because they only change how text looks.
_COMMANDS: Final = re.compile(
    r"\x1b\[(?:0|1|2|3[1-6])m"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


def commands_terminal(name: str) -> bool:
    """Return whether a name could control a terminal, hide text or look like more than one line."""
    return "\n" in name or "\t" in name or _COMMANDS.search(name) is not None


class Printable(io.TextIOWrapper):
    """A text stream that replaces control characters, because a run may contain untrusted names and texts.

    Only a ``coloured`` stream lets colours through.  Standard error is not: we write no colours there, but it gets
    names and texts that nothing else has cleaned.
    """

    coloured = True

    def write(self, text: str, /) -> int:
        super().write(_COMMANDS.sub(_shown if self.coloured else "\ufffd", text))
        return len(text)

    def write_codes(self, text: str) -> int:
        """Write codes of our own that move the cursor.  Never pass text from elsewhere."""
        return super().write(text)


def _shown(match: re.Match[str]) -> str:
    return match[0] if len(match[0]) > 1 else "\ufffd"


class _Output(io.FileIO):
    """A file that drops all output silently once its reader has vanished.

    If ``heard``, the first other error (such as a full disk) is raised; otherwise it is dropped as well.
    """

    def __init__(self, number: int, *, heard: bool) -> None:
        super().__init__(number, "w", closefd=False)
        self._heard = heard
        self._terminal = self.isatty()

    def write(self, data: Any, /) -> int:
        try:
            while (written := super().write(data)) is None:
                select.select([], [self], [])  # another process that shares the pipe has made it non-blocking
        except OSError as error:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())  # also for child processes, and for the flush at exit
            os.close(null)
            gone = error.errno == errno.EPIPE or (error.errno == errno.EIO and self._terminal)
            if self._heard and not gone:
                raise
            return len(data)
        return written


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Replace characters by similar ones, or else by their escapes, so that different values never look alike."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    marks = error.object[error.start : error.end]
    return "".join(_INSTEAD.get(mark) or mark.encode("unicode_escape").decode() for mark in marks), error.end


def _ascii_on_purpose(name: str) -> codecs.CodecInfo | None:
    if name != _ASCII:
        return None
    own = codecs.lookup("ascii")
    return codecs.CodecInfo(
        own.encode, own.decode, incrementalencoder=own.incrementalencoder,
        incrementaldecoder=own.incrementaldecoder, name=_ASCII,
    )  # fmt: skip
