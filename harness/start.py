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
    from harness.cli.main import main as run

    run()
