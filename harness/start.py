"""The first module of the command: from here on an interrupt ends it with 130, while all else is still imported.

Python itself would print a traceback.
"""

from __future__ import annotations

import os
import signal

if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # blocked while Python started anew


def main() -> None:
    """Run the command line and exit."""
    _exit_with(255)
    from harness.cli.main import main as run

    try:
        run()
    except SystemExit as ending:
        _exit_with(int(ending.code or 0))
        raise


def _exit_with(code: int) -> None:
    """Let the process end with this code, whatever it asks for: a later call takes the place of earlier ones.

    Libraries end a process as well: OpenBLAS does with 1 when memory is short, and 1 means a violation.  The C library
    calls what was registered last first, and that leaves at once.
    """
    from ctypes import CDLL, c_void_p

    libc = CDLL(None)
    libc["__cxa_atexit"](libc["_exit"], c_void_p(code), None)
