"""The first module of the command: from here on an interrupt ends it with 130, while all else is still imported.

Python itself would print a traceback.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress

if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # blocked while Python started anew


def main() -> None:
    """Run the command line and exit."""
    atexit.register(_leave)  # the first that is registered is called last
    _exit_with(255)
    # Nothing here multiplies matrices, and every thread of numpy's library for that takes time to start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from harness.cli.main import main as run
    from history.no_pandas import ArrowFinder

    sys.meta_path.insert(0, ArrowFinder)

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


def _leave() -> None:
    """End the process before Python takes its modules apart: threads of libraries may still use them, and abort."""
    from ctypes import CDLL

    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    CDLL(None).exit(255)  # the code is that of the last _exit_with
