"""Times for operations: a Poisson stream, drawn from the seed, shared by all workers.

An open loop at a fixed rate would pile up a backlog while the system is away and fire it in one burst at its
return; a closed loop would stop asking.  Here the stream waits for a free worker and then goes on from *now*: the rate
is never above what was asked, and an outage is followed by the ordinary load.
"""

from __future__ import annotations

import random


class Pace:
    """Assign due times to operations, in seconds on the caller's clock."""

    def __init__(self, rate: float, rng: random.Random, start: float) -> None:
        """``rate`` is in operations a second, ``start`` the clock's reading at which the stream begins."""
        self._rate = rate
        self._rng = rng
        self._next = start

    def overdue(self, now: float) -> float:
        """For how long (s) the next operation has been due."""
        return max(0.0, now - self._next)

    def take(self, now: float) -> float:
        """The time for the next operation, never before ``now``."""
        due = max(self._next, now)
        self._next = due + self._rng.expovariate(self._rate)
        return due
