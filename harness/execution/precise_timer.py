"""A timer for an event loop, accurate to microseconds.

The loop's own timers wait in whole milliseconds, as epoll does.  At a thousand operations a second, each would be
issued a millisecond late.  This timer is a kernel file descriptor (timerfd_create(2)) that the loop watches.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import time
from collections.abc import Callable
from typing import Final


class _Time(ctypes.Structure):
    """struct itimerspec: the interval of a repeating timer (here none), and the time until it rings."""

    _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "after_s", "after_ns")]


_LIBC: Final = ctypes.CDLL(None, use_errno=True)


class PreciseTimer:
    """A timer that calls ``ring`` in its event loop once after each :meth:`set`, which replaces any earlier setting."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        """Open the timer and add it to the loop.  Raises OSError."""
        self._loop = loop
        self._ring = ring
        self._fd = _LIBC.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "timerfd_create")
        loop.add_reader(self._fd, self._read)

    def set(self, after_ns: int) -> None:
        """Ring after the given number of nanoseconds, or at once if that is not positive. Raises OSError."""
        seconds, rest = divmod(max(1, after_ns), 1_000_000_000)
        if _LIBC.timerfd_settime(self._fd, 0, ctypes.byref(_Time(0, 0, seconds, rest)), None):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "timerfd_settime")

    def close(self) -> None:
        self._loop.remove_reader(self._fd)
        os.close(self._fd)

    def _read(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:  # the timer was set again in the meantime
            return
        self._ring()
