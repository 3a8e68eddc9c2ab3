"""The interface of a clock that tells the time and that code can wait on."""

from __future__ import annotations

import threading
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock."""

    def now(self) -> int:
        """Return the nanoseconds since some fixed moment."""
        ...

    def wait(self, seconds: float, stop: threading.Event) -> bool:
        """Wait for ``seconds`` or until ``stop`` is set.  Return whether it is set."""
        ...
