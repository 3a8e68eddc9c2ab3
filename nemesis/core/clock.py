"""A clock that is passed as an argument: it gives the time and can be waited on."""

from __future__ import annotations

import threading
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock."""

    def now(self) -> int:
        """Nanoseconds since some fixed moment."""
        ...

    def wait(self, seconds: float, stop: threading.Event) -> bool:
        """Wait so long, or until ``stop`` is set.  True when it is set."""
        ...
