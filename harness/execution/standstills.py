"""Detect when this process itself was stalled: stopped by a signal, frozen with its machine, or not scheduled.

During a standstill the system was neither observed nor asked anything, so the time does not count towards any deadline
for the system.  A thread keeps reading the clock; a gap between two readings is a standstill.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from history.metrics.awake_clock import merged

LOOK_EVERY_S: Final = 0.05
#: A gap this long (ns) is a standstill.  A busy machine delays a thread for less.
STANDSTILL_NS: Final = 1_000_000_000


def suspended_ns() -> int:
    """Return how long this machine was suspended since its start (ns), which the monotonic clock does not count."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Standstills:
    """A context that watches for standstills; safe to use from any thread.

    ``clock_ns`` is the clock that deadlines use.  ``suspended_ns`` returns how long the machine has been suspended,
    during which that clock stands still.
    """

    def __init__(
        self,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        suspended_ns: Callable[[], int] = suspended_ns,
    ) -> None:
        self._clock_ns = clock_ns
        self._suspended_ns = suspended_ns
        self._lock = threading.Lock()
        self._last = clock_ns()
        self._suspended = suspended_ns()
        self._spans: list[tuple[int, int]] = []
        self._stood = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="standstills", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end.set()
        self._thread.join()

    def spans(self, origin: int = 0) -> list[tuple[int, int]]:
        """Return the start and end of each standstill, in order, in nanoseconds since ``origin``."""
        with self._lock:
            self._look()
            return [(begin - origin, end - origin) for begin, end in self._spans if end > origin]

    def note(self, begin: int, end: int) -> None:
        """Record a standstill from ``begin`` to ``end`` that was detected elsewhere."""
        with self._lock:
            self._add(begin, end)

    def active_ns(self) -> int:
        """Return the clock in nanoseconds, without the standstills."""
        with self._lock:
            now = self._clock_ns()
            if now - self._last >= STANDSTILL_NS:
                self._look()
            else:  # called at every operation, so leave suspensions, which do not advance this clock, to the thread
                self._last = now
            return self._last - self._stood

    def on_clock(self, active_ns: int) -> int:
        """Convert a time without standstills to the clock's time, given the standstills known so far."""
        with self._lock:
            return active_ns + self._stood

    def active_s(self) -> float:
        """Return the clock in seconds, without the standstills."""
        return self.active_ns() / 1e9

    def deadline(self, seconds: float) -> Callable[[], bool]:
        """Return a function that says whether a number of seconds, not counting standstills, has passed since now."""
        began = self.active_s()
        return lambda: self.active_s() - began >= seconds

    def _watch(self) -> None:
        while not self._end.wait(LOOK_EVERY_S):
            with self._lock:
                self._look()

    def _look(self) -> None:
        # Queries read the clock themselves, because after a standstill they may run before the thread does.
        now, suspended = self._clock_ns(), self._suspended_ns()
        if now - self._last >= STANDSTILL_NS or suspended - self._suspended >= STANDSTILL_NS:
            self._add(self._last, now)
        self._last, self._suspended = now, suspended

    def _add(self, begin: int, end: int) -> None:
        self._spans = merged([*self._spans, (begin, end)])
        self._stood = sum(end - begin for begin, end in self._spans)
