"""A clock that is passed as an argument: it gives the time and can be waited on."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock."""

    def now(self) -> int:
        """Nanoseconds since some fixed moment."""
        ...

    def wait(self, seconds: float, stop: threading.Event) -> bool:
        """Wait so long, or until ``stop`` is set.  True when it is set."""
        ...


class MonotonicClock:
    """The real one."""

    def now(self) -> int:
        return time.monotonic_ns()

    def wait(self, seconds: float, stop: threading.Event) -> bool:
        return stop.wait(max(seconds, 0.0))
