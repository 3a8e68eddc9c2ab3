"""The entry point of the command: from here on, an interrupt ends it with exit code 130, even during imports.

Python itself would print a traceback.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from contextlib import suppress

if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # it was blocked across the re-exec of Python


def main() -> None:
    """Run the command line and exit."""
    atexit.register(_leave)  # registered first, hence called last
    # A history is millions of objects without a cycle.  Looking for cycles each time that 700 more have come takes a
    # fifth of the time to read it.
    gc.set_threshold(100_000)
    _exit_with(255)
    # Nothing here multiplies matrices, and each thread of numpy's BLAS library takes time to start.
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
    """Make the process end with this exit code, whatever code it asks for; a later call overrides earlier ones.

    Libraries may end the process as well: OpenBLAS exits with 1 if memory is short, and 1 means a violation.  The C
    library calls the handler that was registered last first, and ours exits at once.
    """
    from ctypes import CDLL, c_void_p

    libc = CDLL(None)
    libc["__cxa_atexit"](libc["_exit"], c_void_p(code), None)


def _leave() -> None:
    """End the process before Python tears down its modules: library threads may still use them, and abort."""
    from ctypes import CDLL

    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    CDLL(None).exit(255)  # the actual code is that of the last _exit_with
