"""How long the steps of a job took."""

from __future__ import annotations

from collections.abc import Callable


class Stopwatch:
    """Seconds from lap to lap, by the clock it is given."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._since = clock()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """Close the step ``name``."""
        now = self.clock()
        self.laps[name] = round(now - self._since, 4)
        self._since = now
