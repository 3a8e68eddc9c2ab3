"""The online monitor of a run, which ends the run in an orderly way at the first violation.

The monitor gives a reason to stop, not a verdict.  The check after the run decides.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from checker.monitor import Monitor
    from harness.runstate import RunState
    from history import Event

log = logging.getLogger("harness.execution.monitor")


class Watch:
    """A watch over the events of a run. At the first violation it calls ``stop`` once, with a description."""

    def __init__(self, state: RunState, stop: Callable[[str], None]) -> None:
        from checker.monitor import Monitor  # imports numpy, which reading a plan does not need

        self._state = state
        self._stop = stop
        self._monitor: Monitor | None = Monitor()
        self._left_alone: set[str | int | None] = set()

    def see(self, event: Event) -> None:
        """Check one event.  If the monitor itself fails, watching ends but the run continues."""
        if self._monitor is None:
            return
        try:
            violation = self._monitor.feed(event)
        except Exception as error:
            log.error("the monitor failed", exc_info=error)
            self._state.warn(
                f"--stop-on-violation: the monitor failed ({type(error).__name__}: {error}) and no longer watches"
            )
            self._monitor = None
            return
        for key in set(self._monitor.unwatched) - self._left_alone:
            self._left_alone.add(key)
            self._state.warn(f"--stop-on-violation: {key} is no longer watched: a value was written to it twice")
        if violation is not None:
            text = violation.text
            log.warning("stopped at the first violation: %s", text)
            self._state.stopped = text
            self._monitor = None
            self._stop(text)
