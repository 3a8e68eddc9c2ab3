"""A clock that stands still while code is compiled or loaded, so that deadlines count only the work itself."""

from __future__ import annotations

import os
import time
from threading import Lock
from typing import Final


class LoadingClock:
    """Monotonic seconds without those between each outermost ``begin`` and its ``end``.  Safe to use from threads."""

    def __init__(self) -> None:
        self._loading = 0.0
        self.reset()

    def reset(self) -> None:
        """Let the clock run again, even if a stop or a lock is still held."""
        self._lock = Lock()
        self._depth = 0
        self._since = 0.0

    def __call__(self) -> float:
        with self._lock:
            return (self._since if self._depth else time.monotonic()) - self._loading

    def begin(self) -> None:
        """Stop the clock."""
        with self._lock:
            if not self._depth:
                self._since = time.monotonic()
            self._depth += 1

    def __reduce__(self) -> str:
        return "WORKING_TIME"  # options hold it, and may be sent to other processes

    def end(self) -> None:
        """Resume the clock from where it stopped."""
        with self._lock:
            self._depth -= 1
            if not self._depth:
                self._loading += time.monotonic() - self._since


#: The clock of this process.
WORKING_TIME: Final = LoadingClock()
# A fork must not inherit a clock that another thread has stopped or locked.
os.register_at_fork(after_in_child=WORKING_TIME.reset)
