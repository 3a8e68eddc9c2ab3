"""A clock on which waiting takes no real time."""

from __future__ import annotations

import threading


class FakeClock:
    """A clock that jumps ahead when something waits on it.

    A wait that would go beyond ``stop_at`` (seconds) sets the stop event instead.
    """

    def __init__(self, stop_at: float | None = None) -> None:
        self.time = 5_000_000_000
        self.stop_at = None if stop_at is None else self.time + int(stop_at * 1e9)

    def now(self) -> int:
        return self.time

    def wait(self, seconds: float, stop: threading.Event) -> bool:
        if not stop.is_set():
            self.time += max(0, int(seconds * 1e9))
            if self.stop_at is not None and self.time >= self.stop_at:
                self.time = self.stop_at
                stop.set()
        return stop.is_set()
